package io.github.optassign;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** What the plug-in logs while this is open. */
final class LogLines implements AutoCloseable {
    private final Logger logger = (Logger) LoggerFactory.getLogger(OptassignTaskAssignor.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    LogLines() {
        lines.start();
        logger.addAppender(lines);
    }

    List<String> of(Level level) {
        return lines.list.stream()
                .filter(line -> line.getLevel() == level)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    List<String> warnings() {
        return of(Level.WARN);
    }

    List<String> infos() {
        return of(Level.INFO);
    }

    List<String> all() {
        return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
        logger.detachAppender(lines);
    }
}
