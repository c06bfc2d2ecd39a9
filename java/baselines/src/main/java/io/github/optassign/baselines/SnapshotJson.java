package io.github.optassign.baselines;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.deser.DeserializationProblemHandler;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * A snapshot as JSON: format 1 of {@code ApplicationState}. {@code null} means a field's default.
 *
 * <p>Fields that Kafka's classes do not use ({@code options}, {@code remembered}, weights, capacities) are ignored.
 */
public record SnapshotJson(
        @JsonProperty(required = true) int format,
        String application,
        String takenAt,
        @JsonProperty(required = true) Configs configs,
        JsonNode options,
        @JsonProperty(required = true) List<Task> tasks,
        @JsonProperty(required = true) List<Client> clients,
        JsonNode remembered) {
    static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .addHandler(new OwnFieldSkipper())
            .build();

    private static final long NOT_A_LAG = -1;
    private static final long LEAST_LAG = -3;

    public SnapshotJson {
        require(format == 1, "format", format, "1");
        require(configs != null, "configs", "null", "an object");
        require(tasks != null, "tasks", "null", "a list");
        require(clients != null && !clients.isEmpty(), "clients", "none", "at least one");
        requireDistinct("tasks[].id", tasks, Task::id);
        requireDistinct("clients[].process_id", clients, Client::processId);
    }

    /** The {@code AssignmentConfigs}, with Kafka's defaults. Kafka's own class checks the limits. */
    public record Configs(
            Long acceptableRecoveryLag,
            Integer maxWarmupReplicas,
            Integer numStandbyReplicas,
            Long probingRebalanceIntervalMs,
            String rackAwareAssignmentStrategy,
            List<String> rackAwareAssignmentTags,
            Integer rackAwareTrafficCost,
            Integer rackAwareNonOverlapCost) {
        public Configs {
            acceptableRecoveryLag = orElse(acceptableRecoveryLag, 10_000L);
            maxWarmupReplicas = orElse(maxWarmupReplicas, 2);
            numStandbyReplicas = orElse(numStandbyReplicas, 0);
            probingRebalanceIntervalMs = orElse(probingRebalanceIntervalMs, 600_000L);
            rackAwareAssignmentStrategy = orElse(rackAwareAssignmentStrategy, "none");
            rackAwareAssignmentTags = orElse(rackAwareAssignmentTags, List.of());
        }
    }

    /** A task, with the fields of Kafka's {@code TaskInfo}. */
    public record Task(
            @JsonProperty(required = true) String id,
            @JsonProperty(required = true) boolean stateful,
            Boolean logged,
            Long changelogEndOffset,
            Double weight,
            List<Partition> partitions) {
        public Task {
            require(id != null, "id", "null", "a task id");
            logged = orElse(logged, stateful);
            require(stateful || !logged, "logged", "true", "false unless stateful is true");
            require(
                    changelogEndOffset == null || changelogEndOffset >= 0,
                    "changelog_end_offset",
                    changelogEndOffset,
                    ">= 0");
            partitions = orElse(partitions, List.of());
        }
    }

    /** A partition that a task reads or writes, with the fields of Kafka's {@code TaskTopicPartition}. */
    public record Partition(String topic, Integer partition, Boolean source, Boolean changelog, Set<String> racks) {
        public Partition {
            changelog = orElse(changelog, false);
            source = orElse(source, !changelog);
            racks = orElse(racks, Set.of());
        }
    }

    /** A client, with the fields of Kafka's {@code KafkaStreamsState}. */
    public record Client(
            @JsonProperty(required = true) String processId,
            @JsonProperty(required = true) int threads,
            Map<String, List<String>> consumers,
            List<String> previousActive,
            List<String> previousStandby,
            Map<String, Long> lags,
            Map<String, String> tags,
            String rack,
            String host,
            String clientId,
            Double capacity,
            Boolean draining) {
        public Client {
            require(processId != null && !processId.isEmpty(), "process_id", processId, "a text that is not empty");
            require(threads >= 1, "threads", threads, ">= 1");
            consumers = orElse(consumers, Map.of());
            previousActive = orElse(previousActive, List.of());
            previousStandby = orElse(previousStandby, List.of());
            lags = orElse(lags, Map.of());
            lags.forEach((task, lag) -> require(
                    lag != null && lag >= LEAST_LAG && lag != NOT_A_LAG,
                    "lags[\"" + task + "\"]",
                    lag,
                    "-2, -3 or >= 0"));
            tags = orElse(tags, Map.of());
            draining = orElse(draining, false);
        }
    }

    /**
     * Reads a snapshot.
     *
     * @throws IllegalArgumentException if it is invalid; the message names the field, the value and the allowed values
     */
    static SnapshotJson of(JsonNode json) {
        return read(() -> JSON.treeToValue(json, SnapshotJson.class));
    }

    /**
     * Calls Jackson, and converts its exceptions into messages of one line.
     *
     * @throws IllegalArgumentException if the JSON is invalid; the message names the field, the value and the allowed
     *     values
     */
    static <T> T read(Reading<T> call) {
        try {
            return call.run();
        } catch (JsonMappingException e) {
            StringBuilder place = new StringBuilder();
            for (JsonMappingException.Reference reference : e.getPath()) {
                place.append(
                        reference.getIndex() >= 0 ? "[" + reference.getIndex() + "]" : "." + reference.getFieldName());
            }
            Throwable cause = e.getCause() instanceof IllegalArgumentException ? e.getCause() : null;
            String what = cause != null ? cause.getMessage() : e.getOriginalMessage();
            String where = place.length() == 0 ? "" : place.substring(place.charAt(0) == '.' ? 1 : 0) + ": ";
            throw new IllegalArgumentException(where + what, e);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("no JSON: " + e.getOriginalMessage(), e);
        }
    }

    /** A call of Jackson, which may fail. */
    interface Reading<T> {
        T run() throws JsonProcessingException;
    }

    /** A handler that skips fields whose names begin with x_. Jackson refuses all other unknown fields. */
    private static final class OwnFieldSkipper extends DeserializationProblemHandler {
        @Override
        public boolean handleUnknownProperty(
                DeserializationContext context,
                JsonParser parser,
                JsonDeserializer<?> deserializer,
                Object bean,
                String name)
                throws IOException {
            if (!name.startsWith("x_")) {
                return false;
            }
            parser.skipChildren();
            return true;
        }
    }

    private static <T> T orElse(T value, T defaultValue) {
        return value == null ? defaultValue : value;
    }

    private static void require(boolean isValid, String field, Object found, String allowed) {
        if (!isValid) {
            throw new IllegalArgumentException(field + ": found " + found + "; allowed: " + allowed);
        }
    }

    private static <T> void requireDistinct(String place, List<T> all, Function<T, String> id) {
        Set<String> seen = new HashSet<>();
        for (T item : all) {
            require(seen.add(id.apply(item)), place, id.apply(item) + " a second time", "each once");
        }
    }
}
