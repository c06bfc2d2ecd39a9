package io.github.optassign.members;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;

/**
 * The common properties of all members of the group, as JSON.
 *
 * @param bootstrap the addresses of brokers as host:port, separated by commas
 * @param group the group's id
 * @param subtopologies the topology
 * @param endOffset the offsets in the smallest changelogs at the start
 * @param sizes the number of distinct sizes of changelogs: the changelog of partition p starts with {@code endOffset} ×
 *     (1 + p mod {@code sizes}) offsets
 * @param appendPerSecond the growth of each changelog, offsets per second
 * @param restorePerSecond the restore rate of a thread over all its copies, offsets per second
 * @param acceptableLag the lag up to which a standby is reported as ready, offsets
 * @param reportsOffsets whether members send offsets; members of Kafka 4.3 do not
 * @param tags the client tags of every member
 */
record SimulatedApplication(
        String bootstrap,
        String group,
        List<Subtopology> subtopologies,
        @JsonProperty("end_offset") long endOffset,
        int sizes,
        @JsonProperty("append_per_s") long appendPerSecond,
        @JsonProperty("restore_per_s") long restorePerSecond,
        @JsonProperty("acceptable_lag") long acceptableLag,
        @JsonProperty("reports_offsets") boolean reportsOffsets,
        Map<String, String> tags) {
    private static final long STARTED = System.nanoTime();

    /**
     * A subtopology.
     *
     * @param topics the source topics
     * @param logged whether the subtopology has a changelog
     */
    record Subtopology(String id, List<String> topics, boolean logged) {}

    boolean isLogged(TaskId task) {
        return subtopologies.stream()
                .anyMatch(each -> each.logged() && each.id().equals(task.subtopologyId()));
    }

    /** Returns the end offset of a task's changelog at a time of {@link System#nanoTime}. */
    long endOffsetAt(long nanoTime, TaskId task) {
        long atStart = endOffset * (1 + task.partitionId() % sizes);
        return atStart + appendPerSecond * TimeUnit.NANOSECONDS.toMillis(nanoTime - STARTED) / 1000;
    }
}
