package io.github.optassign.reports;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.github.optassign.service.Json;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The service's response to a report: the applied answer, and its own one, each by a few numbers.
 *
 * @param applied field to its value
 * @param beside the same of the service's own answer
 */
record Comparison(Map<String, String> applied, Map<String, String> beside) {

    /** Reads a reply; empty: there is nothing to compare, or it cannot be read. */
    static Optional<Comparison> read(String reply) {
        Map<String, String> applied = Map.of();
        Map<String, String> beside = Map.of();
        try (JsonParser json = Json.FACTORY.createParser(reply)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return Optional.empty();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                boolean isObject = json.nextToken() == JsonToken.START_OBJECT;
                if (isObject && name.equals("applied")) {
                    applied = readFields(json);
                } else if (isObject && name.equals("beside")) {
                    beside = readFields(json);
                } else {
                    json.skipChildren();
                }
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return applied.isEmpty() || beside.isEmpty() ? Optional.empty() : Optional.of(new Comparison(applied, beside));
    }

    private static Map<String, String> readFields(JsonParser json) throws IOException {
        Map<String, String> fields = new HashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (json.nextToken().isScalarValue()) {
                fields.put(name, json.getText());
            } else {
                json.skipChildren();
            }
        }
        return fields;
    }

    @Override
    public String toString() {
        String late = "false".equals(beside.get("in_time")) ? ", not in time" : "";
        return "applied (" + applied.get("assignor") + "): " + describe(applied) + "; would have been ("
                + beside.get("assignor") + late + "): " + describe(beside);
    }

    private static String describe(Map<String, String> fields) {
        return "active_moved=" + fields.get("moved_active") + " restored=" + fields.get("restored") + " warmups="
                + fields.get("warmups") + " balanced=" + fields.get("balanced");
    }
}
