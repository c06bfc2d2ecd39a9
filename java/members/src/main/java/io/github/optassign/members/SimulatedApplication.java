package io.github.optassign.members;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;

/**
 * The common properties of all members of the group, as JSON.
 *
 * @param bootstrap host:port of one broker or more, with commas in between
 * @param group the group's id
 * @param subtopologies the topology
 * @param endOffset the offsets in each changelog at the start
 * @param appendPerSecond by how much each changelog grows
 * @param restorePerSecond what a thread restores, over all its copies together
 * @param acceptableLag offsets; a standby that lags by no more is told to be ready
 * @param reportsOffsets whether members send offsets; those of Kafka 4.3 do not
 * @param tags of every member
 */
record SimulatedApplication(
        String bootstrap,
        String group,
        List<Subtopology> subtopologies,
        @JsonProperty("end_offset") long endOffset,
        @JsonProperty("append_per_s") long appendPerSecond,
        @JsonProperty("restore_per_s") long restorePerSecond,
        @JsonProperty("acceptable_lag") long acceptableLag,
        @JsonProperty("reports_offsets") boolean reportsOffsets,
        Map<String, String> tags) {
    private static final long STARTED = System.nanoTime();

    /**
     * A part of the topology.
     *
     * @param topics its source topics
     * @param logged whether it has a changelog
     */
    record Subtopology(String id, List<String> topics, boolean logged) {}

    boolean isLogged(TaskId task) {
        return subtopologies.stream()
                .anyMatch(each -> each.logged() && each.id().equals(task.subtopologyId()));
    }

    /** The offsets in each changelog now. */
    long endOffsetNow() {
        return endOffset + appendPerSecond * TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - STARTED) / 1000;
    }
}
