package io.github.optassign.broker;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.slf4j.LoggerFactory;

/** What the assignor logs while this is open. */
final class LogLines implements AutoCloseable {
    private final Logger logger = (Logger) LoggerFactory.getLogger(OptassignGroupAssignor.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    LogLines() {
        lines.start();
        logger.addAppender(lines);
    }

    /** How many lines have this in them. */
    long count(String part) {
        return lines.list.stream()
                .filter(line -> line.getFormattedMessage().contains(part))
                .count();
    }

    @Override
    public void close() {
        logger.detachAppender(lines);
    }
}
