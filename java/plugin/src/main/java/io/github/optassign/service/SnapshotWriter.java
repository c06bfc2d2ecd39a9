package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import io.github.optassign.config.ServiceOptions;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.streams.ClientTraits;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;

/**
 * Writes a {@link Snapshot} as the JSON that the service reads: an ApplicationState of format 1, in UTF-8.
 *
 * <p>Lags are sparse: what all clients without state show is sent once, as the task's {@code changelog_end_offset}.
 * Partitions are sent only where racks matter, since asking Kafka for racks costs a call to the broker ({@link Racks}).
 */
public final class SnapshotWriter {
    private final StreamsGroup group;
    private final ServiceOptions options;
    private final Snapshot snapshot;
    private final List<List<Racks.Partition>> partitions;
    private final long[] sourceEnds;
    private final SerializableString[] names;

    private SnapshotWriter(
            StreamsGroup group, ServiceOptions options, List<List<Racks.Partition>> partitions, long[] sourceEnds) {
        this.sourceEnds = sourceEnds;
        this.options = options;
        this.group = group;
        snapshot = group.snapshot();
        this.partitions = partitions;
        names = new SerializableString[snapshot.taskCount()];
        for (int t = 0; t < names.length; t++) {
            names[t] = new SerializedString(snapshot.taskName(t));
        }
    }

    /**
     * Writes a snapshot.
     *
     * @param options what is sent beside what Kafka knows
     * @param remembered the last applied TaskAssignment as the JSON that it came in; null: none
     * @param partitions per task its partitions; an empty list: racks do not matter
     * @param sourceEnds per task the end offsets of its source partitions, summed; null: not asked for, or not known
     * @throws IOException never in practice: the JSON is written to memory
     */
    public static byte[] write(
            StreamsGroup group,
            ServiceOptions options,
            String application,
            Instant takenAt,
            String remembered,
            List<List<Racks.Partition>> partitions,
            long[] sourceEnds)
            throws IOException {
        try (ByteArrayBuilder bytes = new ByteArrayBuilder(64 * 1024)) {
            try (JsonGenerator json = Json.FACTORY.createGenerator(bytes)) {
                new SnapshotWriter(group, options, partitions, sourceEnds)
                        .writeAll(json, application, takenAt, remembered);
            }
            return bytes.toByteArray();
        }
    }

    private void writeAll(JsonGenerator json, String application, Instant takenAt, String remembered)
            throws IOException {
        json.writeStartObject();
        json.writeNumberField("format", 1);
        json.writeStringField("application", application);
        json.writeStringField("taken_at", takenAt.truncatedTo(ChronoUnit.MILLIS).toString());
        json.writeFieldName("configs");
        writeConfigs(json, group.configs());
        if (options.isAnyOptionSet()) {
            json.writeFieldName("options");
            writeOptions(json);
        }
        json.writeArrayFieldStart("tasks");
        for (int t = 0; t < snapshot.taskCount(); t++) {
            writeTask(json, t);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("clients");
        for (int c = 0; c < snapshot.clientCount(); c++) {
            writeClient(json, c);
        }
        json.writeEndArray();
        if (remembered != null) {
            json.writeFieldName("remembered");
            json.writeRawValue(new SerializedString(remembered));
        }
        json.writeEndObject();
    }

    private static void writeConfigs(JsonGenerator json, AssignmentConfigs configs) throws IOException {
        json.writeStartObject();
        json.writeNumberField("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        json.writeNumberField("max_warmup_replicas", configs.maxWarmupReplicas());
        json.writeNumberField("num_standby_replicas", configs.numStandbyReplicas());
        json.writeNumberField("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
        json.writeStringField("rack_aware_assignment_strategy", configs.rackAwareAssignmentStrategy());
        json.writeArrayFieldStart("rack_aware_assignment_tags");
        for (String tag : new LinkedHashSet<>(configs.rackAwareAssignmentTags())) {
            json.writeString(tag);
        }
        json.writeEndArray();
        writeOptional(json, "rack_aware_traffic_cost", configs.rackAwareTrafficCost());
        writeOptional(json, "rack_aware_non_overlap_cost", configs.rackAwareNonOverlapCost());
        json.writeEndObject();
    }

    private void writeOptions(JsonGenerator json) throws IOException {
        json.writeStartObject();
        if (options.preset() != null) {
            json.writeStringField("preset", options.preset());
        }
        if (!options.goals().isEmpty()) {
            json.writeArrayFieldStart("goals");
            for (String goal : options.goals()) {
                json.writeString(goal);
            }
            json.writeEndArray();
        }
        if (options.balanceFactor() != null) {
            json.writeNumberField("balance_factor", options.balanceFactor());
        }
        if (options.followup() != null) {
            json.writeStringField("followup", options.followup());
        }
        writeNumbers(json, "relief", options.relief());
        writeNumbers(json, "weights", options.optionWeights());
        if (options.weighBy() != null) {
            json.writeStringField("weigh_by", options.weighBy());
            writeNumbers(json, "task_weights", options.taskWeights()); // which go before those that are found
        }
        json.writeEndObject();
    }

    private static void writeNumbers(JsonGenerator json, String name, Map<String, ? extends Number> numbers)
            throws IOException {
        if (!numbers.isEmpty()) {
            json.writeObjectFieldStart(name);
            for (Map.Entry<String, ? extends Number> number : new TreeMap<>(numbers).entrySet()) {
                json.writeFieldName(number.getKey());
                if (number.getValue() instanceof Long whole) {
                    json.writeNumber(whole);
                } else {
                    json.writeNumber(number.getValue().doubleValue());
                }
            }
            json.writeEndObject();
        }
    }

    private static void writeOptional(JsonGenerator json, String name, OptionalInt value) throws IOException {
        if (value.isPresent()) {
            json.writeNumberField(name, value.getAsInt());
        }
    }

    private void writeTask(JsonGenerator json, int t) throws IOException {
        json.writeStartObject();
        json.writeFieldName("id");
        json.writeString(names[t]);
        json.writeBooleanField("stateful", snapshot.isStateful(t));
        json.writeBooleanField("logged", snapshot.isLogged(t));
        if (snapshot.endOffset(t) >= 0) {
            json.writeNumberField("changelog_end_offset", snapshot.endOffset(t));
        }
        if (sourceEnds != null) {
            json.writeNumberField("source_end_offset", sourceEnds[t]);
        }
        Double weight = options.weight(snapshot.taskName(t));
        if (weight != null && options.weighBy() == null) {
            json.writeNumberField("weight", weight);
        }
        if (!partitions.isEmpty()) {
            json.writeArrayFieldStart("partitions");
            for (Racks.Partition partition : partitions.get(t)) {
                writePartition(json, partition);
            }
            json.writeEndArray();
        }
        json.writeEndObject();
    }

    private static void writePartition(JsonGenerator json, Racks.Partition partition) throws IOException {
        json.writeStartObject();
        json.writeStringField("topic", partition.topic());
        json.writeNumberField("partition", partition.number());
        json.writeBooleanField("source", partition.source());
        json.writeBooleanField("changelog", partition.changelog());
        json.writeArrayFieldStart("racks");
        for (String rack : partition.racks()) {
            json.writeString(rack);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void writeClient(JsonGenerator json, int c) throws IOException {
        KafkaStreamsState client = group.state(c);
        json.writeStartObject();
        json.writeStringField("process_id", snapshot.clientName(c));
        json.writeNumberField("threads", snapshot.threads(c));
        writeTasks(json, "previous_active", snapshot.previousActive(c));
        writeTasks(json, "previous_standby", snapshot.previousStandby(c));
        json.writeObjectFieldStart("lags");
        for (int t = 0; t < names.length; t++) {
            long lag = snapshot.lag(t, c);
            if (lag != Snapshot.NONE && (lag != snapshot.endOffset(t) || snapshot.isHolder(t, c))) {
                json.writeFieldName(names[t]);
                json.writeNumber(lag);
            }
        }
        json.writeEndObject();
        if (!client.clientTags().isEmpty()) {
            json.writeObjectFieldStart("tags");
            for (Map.Entry<String, String> tag : new TreeMap<>(client.clientTags()).entrySet()) {
                json.writeStringField(tag.getKey(), tag.getValue());
            }
            json.writeEndObject();
        }
        if (client.rackId().isPresent()) {
            json.writeStringField("rack", client.rackId().get());
        }
        if (client.hostInfo().isPresent()) {
            json.writeStringField(
                    "host",
                    client.hostInfo().get().host() + ":"
                            + client.hostInfo().get().port());
        }
        ClientTraits traits = group.traits(c);
        if (traits.capacityUnits() != Traits.UNITS) {
            json.writeNumberField("capacity", traits.capacityUnits() / (double) Traits.UNITS);
        }
        if (traits.draining()) {
            json.writeBooleanField("draining", true);
        }
        String clientId = findClientId(client.consumerClientIds(), snapshot.clientName(c));
        if (clientId != null) {
            json.writeStringField("client_id", clientId);
        }
        json.writeEndObject();
    }

    /**
     * The process's client.id: Kafka Streams puts it before the number of the thread in the ids of its consumers.
     *
     * @return null where the application sets none, so that Kafka makes one of application.id and process id
     */
    static String findClientId(SortedSet<String> consumers, String processId) {
        String first = consumers.isEmpty() ? "" : consumers.first();
        int end = first.lastIndexOf("-StreamThread-");
        return end <= 0 || first.substring(0, end).endsWith("-" + processId) ? null : first.substring(0, end);
    }

    private void writeTasks(JsonGenerator json, String name, BitSet tasks) throws IOException {
        json.writeArrayFieldStart(name);
        for (int t = tasks.nextSetBit(0); t >= 0; t = tasks.nextSetBit(t + 1)) {
            json.writeString(names[t]);
        }
        json.writeEndArray();
    }
}
