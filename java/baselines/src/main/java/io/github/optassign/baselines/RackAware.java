package io.github.optassign.baselines;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;

/** A check of whether a snapshot's racks suffice for Kafka's classes, and names for its partitions. */
final class RackAware {
    private static final String NONE = StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE;

    private RackAware() {}

    /**
     * Returns why configured racks cannot be used.
     *
     * @return empty if racks can be used or are not configured
     */
    static Optional<String> findMissing(BaselineApplication application) {
        if (NONE.equals(application.configs().rackAwareAssignmentStrategy())) {
            return Optional.empty();
        }
        for (SnapshotJson.Client client : application.clients().values()) {
            if (client.rack() == null) {
                return Optional.of("client " + client.processId() + " has no rack");
            }
        }
        boolean standbys = application.configs().numStandbyReplicas() > 0;
        for (SnapshotJson.Task task : application.tasks().values()) {
            if (!haveRacks(task, SnapshotJson.Partition::source)) {
                return Optional.of("no racks are given for the source partitions of task " + task.id());
            }
            if (standbys && task.logged() && !haveRacks(task, SnapshotJson.Partition::changelog)) {
                return Optional.of("no racks are given for the changelog of task " + task.id());
            }
        }
        return Optional.empty();
    }

    /** Returns the topic and number of a task's partition, generated if the snapshot does not have them. */
    static TopicPartition toTopicPartition(TaskId task, int index, SnapshotJson.Partition partition) {
        String subtopology = (task.topologyName() == null ? "" : task.topologyName() + "-") + task.subtopology();
        return new TopicPartition(
                partition.topic() == null ? "subtopology-" + subtopology + "-topic-" + index : partition.topic(),
                partition.partition() == null ? task.partition() : partition.partition());
    }

    private static boolean haveRacks(SnapshotJson.Task task, Predicate<SnapshotJson.Partition> kind) {
        List<SnapshotJson.Partition> partitions =
                task.partitions().stream().filter(kind).toList();
        return !partitions.isEmpty()
                && partitions.stream().noneMatch(partition -> partition.racks().isEmpty());
    }
}
