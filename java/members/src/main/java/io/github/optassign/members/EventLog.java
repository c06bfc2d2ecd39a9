package io.github.optassign.members;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;

/** A log of events on standard output, one JSON object per line, with the milliseconds since the start. */
final class EventLog {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long STARTED = System.nanoTime();

    private EventLog() {}

    /** Writes an event. Thread-safe, with lines in the order of their times. */
    static void write(String event, Map<String, ?> fields) {
        synchronized (EventLog.class) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("event", event);
            line.put("at_ms", (System.nanoTime() - STARTED) / 1_000_000);
            line.putAll(fields);
            try {
                System.out.println(JSON.writeValueAsString(line));
            } catch (JsonProcessingException e) {
                throw new IllegalArgumentException("no JSON for " + line, e);
            }
            System.out.flush();
        }
    }
}
