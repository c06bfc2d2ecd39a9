package io.github.optassign.streams;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.config.ServiceOptions;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.SnapshotDetails;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;

/**
 * Kafka Streams' data on a group in addition to its snapshot, and the application's options for the service.
 *
 * <p>Partitions are sent only if racks are used, since Kafka asks the broker for racks ({@link Racks}).
 */
public final class StreamsDetails implements SnapshotDetails {
    /** The consumer id of a static member: group.instance.id, the number of the thread, and the broker's UUID. */
    private static final Pattern STATIC_MEMBER =
            Pattern.compile("(.+)-\\d+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", Pattern.CASE_INSENSITIVE);

    private final StreamsGroup group;
    private final ServiceOptions options;
    private final Snapshot snapshot;
    private final List<List<Racks.Partition>> partitions;
    private final long[] sourceEnds;

    /**
     * Creates the details of a group.
     *
     * @param partitions per task its partitions; empty if racks are not used
     * @param sourceEnds per task the sum of the end offsets of its source partitions; null if not asked for or not
     *     known
     */
    public StreamsDetails(
            StreamsGroup group, ServiceOptions options, List<List<Racks.Partition>> partitions, long[] sourceEnds) {
        this.group = group;
        this.options = options;
        this.partitions = partitions;
        this.sourceEnds = sourceEnds;
        snapshot = group.snapshot();
    }

    @Override
    public void writeConfigs(JsonGenerator json) throws IOException {
        json.writeFieldName("configs");
        writeConfigs(json, group.configs());
        if (options.isAnyOptionSet()) {
            json.writeFieldName("options");
            writeOptions(json);
        }
    }

    private static void writeConfigs(JsonGenerator json, AssignmentConfigs configs) throws IOException {
        json.writeStartObject();
        json.writeNumberField("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        json.writeNumberField("max_warmup_replicas", configs.maxWarmupReplicas());
        json.writeNumberField("num_standby_replicas", configs.numStandbyReplicas());
        json.writeNumberField("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
        json.writeStringField("rack_aware_assignment_strategy", configs.rackAwareAssignmentStrategy());
        SnapshotDetails.writeTexts(
                json, "rack_aware_assignment_tags", new LinkedHashSet<>(configs.rackAwareAssignmentTags()));
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
            SnapshotDetails.writeTexts(json, "goals", options.goals());
        }
        if (options.balanceFactor() != null) {
            json.writeNumberField("balance_factor", options.balanceFactor());
        }
        for (Map.Entry<String, Double> option : options.loadOptions().entrySet()) {
            json.writeNumberField(option.getKey(), option.getValue());
        }
        if (options.followup() != null) {
            json.writeStringField("followup", options.followup());
        }
        if (options.idleFollowupMs() != null) {
            json.writeNumberField("idle_followup_ms", options.idleFollowupMs());
        }
        writeNumbers(json, "relief", options.offload());
        writeNumbers(json, "weights", options.optionWeights());
        if (options.weighBy() != null) {
            json.writeStringField("weigh_by", options.weighBy());
            writeNumbers(json, "task_weights", options.taskWeights()); // these override measured weights
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

    @Override
    public void writeTask(JsonGenerator json, int t) throws IOException {
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
    }

    private static void writePartition(JsonGenerator json, Racks.Partition partition) throws IOException {
        json.writeStartObject();
        json.writeStringField("topic", partition.topic());
        json.writeNumberField("partition", partition.number());
        json.writeBooleanField("source", partition.source());
        json.writeBooleanField("changelog", partition.changelog());
        SnapshotDetails.writeTexts(json, "racks", partition.racks());
        json.writeEndObject();
    }

    @Override
    public void writeClient(JsonGenerator json, int c) throws IOException {
        KafkaStreamsState client = group.state(c);
        ClientTraits traits = group.traits(c);
        SnapshotDetails.writeTraits(json, client.clientTags(), traits.capacityUnits(), traits.draining());
        if (client.rackId().isPresent()) {
            json.writeStringField("rack", client.rackId().get());
        }
        if (client.hostInfo().isPresent()) {
            json.writeStringField(
                    "host",
                    client.hostInfo().get().host() + ":"
                            + client.hostInfo().get().port());
        }
        String clientId = findClientId(client.consumerClientIds(), snapshot.clientName(c));
        if (clientId != null) {
            json.writeStringField("client_id", clientId);
        }
    }

    /**
     * Returns the configured name of a process: its {@code client.id}, which precedes the number of the thread in the
     * ids of its consumers, or {@code group.instance.id} for static members.
     *
     * @return null if the application sets neither, so that Kafka generates an id from application.id and process id
     */
    static String findClientId(SortedSet<String> consumers, String processId) {
        String first = consumers.isEmpty() ? "" : consumers.first();
        int end = first.lastIndexOf("-StreamThread-");
        if (end >= 0) {
            return end == 0 || first.substring(0, end).endsWith("-" + processId) ? null : first.substring(0, end);
        }
        Matcher member = STATIC_MEMBER.matcher(first);
        return member.matches() ? member.group(1) : null;
    }
}
