package io.github.optassign.reports;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.github.optassign.service.Json;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The service's response to a report: a few measures of the applied answer and of the service's own.
 *
 * @param applied the measures of the applied answer, by field
 * @param proposed the measures of the service's own answer, by field
 */
record Comparison(Map<String, String> applied, Map<String, String> proposed) {

    /**
     * Reads a reply.
     *
     * @return empty if the reply has nothing to compare or is invalid
     */
    static Optional<Comparison> read(String reply) {
        Map<String, String> applied = Map.of();
        Map<String, String> proposed = Map.of();
        try (JsonParser json = Json.FACTORY.createParser(reply)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return Optional.empty();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                boolean isObject = json.nextToken() == JsonToken.START_OBJECT;
                if (isObject && name.equals("applied")) {
                    applied = readFields(json);
                } else if (isObject && name.equals("not_applied")) {
                    proposed = readFields(json);
                } else {
                    json.skipChildren();
                }
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return applied.isEmpty() || proposed.isEmpty()
                ? Optional.empty()
                : Optional.of(new Comparison(applied, proposed));
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
        String late = "false".equals(proposed.get("in_time")) ? ", not in time" : "";
        return "applied (" + applied.get("assignor") + "): " + describe(applied) + "; would have been ("
                + proposed.get("assignor") + late + "): " + describe(proposed);
    }

    private static String describe(Map<String, String> fields) {
        return "active_moved=" + fields.get("moved_active") + " restored=" + fields.get("restored") + " warmups="
                + fields.get("warmups") + " balanced=" + fields.get("balanced");
    }
}
