package io.github.optassign.testing;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** The log lines of a class, collected until closed. */
public final class LogLines implements AutoCloseable {
    private final Logger logger;
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    private final String part;

    public LogLines(Class<?> logging) {
        this(logging, "");
    }

    /** Collects only lines with this text, for classes that also log for other tests. */
    public LogLines(Class<?> logging, String part) {
        this.part = part;
        logger = (Logger) LoggerFactory.getLogger(logging);
        lines.list = new CopyOnWriteArrayList<>(); // other threads log too
        lines.start();
        logger.addAppender(lines);
    }

    public List<String> of(Level level) {
        return lines.list.stream()
                .filter(line -> line.getLevel() == level)
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.contains(part))
                .toList();
    }

    public List<String> warnings() {
        return of(Level.WARN);
    }

    public List<String> infos() {
        return of(Level.INFO);
    }

    /** Returns the lines of rebalances, one each. */
    public List<String> rebalances() {
        return infos().stream().filter(line -> line.contains("answered_by=")).toList();
    }

    public List<String> all() {
        return lines.list.stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.contains(part))
                .toList();
    }

    /** Returns the number of lines with this text. */
    public long count(String text) {
        return all().stream().filter(line -> line.contains(text)).count();
    }

    @Override
    public void close() {
        logger.detachAppender(lines);
    }
}
