package io.github.optassign.testapp;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;

/** Events on standard output, one JSON object per line, so that the parent process can wait for them. */
final class Events {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Events() {}

    /** Prints an event. Thread-safe. */
    static void print(String name, Map<String, ?> fields) {
        var event = JSON.createObjectNode().put("event", name);
        fields.forEach((key, value) -> event.set(key, JSON.valueToTree(value)));
        try {
            String line = JSON.writeValueAsString(event);
            synchronized (System.out) {
                System.out.println(line);
                System.out.flush();
            }
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("no JSON for " + name + " " + fields, e);
        }
    }
}
