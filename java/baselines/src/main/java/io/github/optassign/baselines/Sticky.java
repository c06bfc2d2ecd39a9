package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.DefaultKafkaStreamsState;

/**
 * The public StickyTaskAssignor (KIP-924), called as StreamsPartitionAssignor calls it.
 *
 * <p>It places standbys in the order of a hash set of tasks. Kafka's own TaskInfo does not override hashCode, so its
 * order, and the answer, differ between runs. Here a task's hash code is its index among the tasks that get standbys.
 * The order is then that of task ids, which is one of the possible orders and reproducible.
 */
final class Sticky implements Baseline {
    @Override
    public Rebalance prepare(BaselineApplication application) {
        Map<TaskId, TaskInfo> tasks = new HashMap<>();
        List<TaskId> logged = List.copyOf(application.logged());
        for (TaskId id : orderLikeKafka(application.tasks().keySet())) {
            SnapshotJson.Task task = application.tasks().get(id);
            int index = Math.max(0, Collections.binarySearch(logged, id)); // 0 for tasks without standbys
            tasks.put(id, new Task(id, index, task, toPartitions(id, task)));
        }
        Map<ProcessId, KafkaStreamsState> clients = new HashMap<>();
        application.clients().forEach((id, client) -> clients.put(id, toState(application, id, client)));
        State state = new State(application.configs(), tasks, clients);
        return new Rebalance() {
            private Collection<KafkaStreamsAssignment> assigned = List.of();

            @Override
            public void assign() {
                TaskAssignment answer = new StickyTaskAssignor().assign(state);
                assigned = answer.assignment();
            }

            @Override
            public BaselineAnswer answer() {
                List<BaselineAnswer.Assigned> answered = new ArrayList<>();
                boolean followup = false;
                for (KafkaStreamsAssignment client : assigned) {
                    followup |= client.followupRebalanceDeadline().isPresent();
                    answered.add(BaselineAnswer.Assigned.of(
                            application.clients().get(client.processId()),
                            selectTasks(client, AssignedTask.Type.ACTIVE),
                            selectTasks(client, AssignedTask.Type.STANDBY),
                            List.of()));
                }
                return new BaselineAnswer(answered, followup);
            }
        };
    }

    @Override
    public List<String> notes(BaselineApplication application) {
        List<String> notes = new ArrayList<>();
        notes.add("lags are not used; standbys are placed in the order of task ids, where Kafka's order is arbitrary");
        if (!"none".equals(application.configs().rackAwareAssignmentStrategy())) {
            RackAware.findMissing(application)
                    .or(() -> findMissing(application))
                    .ifPresent(missing -> notes.add("racks were not taken into account: " + missing));
        }
        return notes;
    }

    /**
     * Returns task ids in the order in which StreamsPartitionAssignor puts them into its map: the order of a hash set
     * filled by subtopology. Ids in one bucket of the map keep this order, which decides which client keeps a task.
     */
    private static Set<TaskId> orderLikeKafka(Collection<TaskId> sorted) {
        Map<Subtopology, List<TaskId>> bySubtopology = new LinkedHashMap<>();
        for (TaskId id : sorted) {
            bySubtopology
                    .computeIfAbsent(new Subtopology(id.subtopology(), id.topologyName()), key -> new ArrayList<>())
                    .add(id);
        }
        Map<Subtopology, List<TaskId>> topicGroups = new HashMap<>();
        topicGroups.putAll(bySubtopology);
        Map<Subtopology, List<TaskId>> sourceTopics = new HashMap<>();
        topicGroups.forEach(sourceTopics::put);
        Set<TaskId> partitioned = new HashSet<>();
        sourceTopics.values().forEach(partitioned::addAll);
        return partitioned;
    }

    /**
     * Returns why racks cannot be used although {@link RackAware} finds nothing missing, or empty if they can. This
     * class needs both costs, and racks of changelogs even without standbys.
     */
    private static Optional<String> findMissing(BaselineApplication application) {
        AssignmentConfigs configs = application.configs();
        if (configs.rackAwareTrafficCost().isEmpty()
                || configs.rackAwareNonOverlapCost().isEmpty()) {
            return Optional.of("this class needs both rack_aware_traffic_cost and rack_aware_non_overlap_cost");
        }
        return application.tasks().entrySet().stream()
                .filter(task -> toPartitions(task.getKey(), task.getValue()).stream()
                        .anyMatch(p -> p.rackIds().isEmpty()))
                .map(task -> "no racks are given for the changelog of task " + task.getKey())
                .findFirst();
    }

    private static KafkaStreamsState toState(
            BaselineApplication application, ProcessId id, SnapshotJson.Client client) {
        SortedMap<String, Set<TaskId>> consumers = new TreeMap<>();
        client.consumers().forEach((consumer, tasks) -> consumers.put(consumer, application.selectExisting(tasks)));
        return new DefaultKafkaStreamsState(
                id,
                client.threads(),
                client.tags(),
                application.selectExisting(client.previousActive()),
                application.selectExisting(client.previousStandby()),
                consumers,
                Optional.empty(),
                Optional.of(Map.of()), // lags, which this class does not use
                Optional.ofNullable(client.rack()));
    }

    /**
     * Returns the partitions of a task. A logged task gets a changelog even if the snapshot names none, since only
     * tasks with a changelog get standbys.
     */
    private static Set<TaskTopicPartition> toPartitions(TaskId id, SnapshotJson.Task task) {
        Set<TaskTopicPartition> partitions = new HashSet<>();
        boolean hasChangelog = !task.logged();
        for (int i = 0; i < task.partitions().size(); i++) {
            SnapshotJson.Partition partition = task.partitions().get(i);
            boolean changelog = task.logged() && partition.changelog();
            hasChangelog |= changelog;
            Optional<Set<String>> racks =
                    partition.racks().isEmpty() ? Optional.empty() : Optional.of(partition.racks());
            partitions.add(
                    new Partition(RackAware.toTopicPartition(id, i, partition), partition.source(), changelog, racks));
        }
        if (!hasChangelog) {
            SnapshotJson.Partition unnamed = new SnapshotJson.Partition(null, null, false, true, null);
            TopicPartition name =
                    RackAware.toTopicPartition(id, task.partitions().size(), unnamed);
            partitions.add(new Partition(name, false, true, Optional.empty()));
        }
        return partitions;
    }

    private static List<TaskId> selectTasks(KafkaStreamsAssignment client, AssignedTask.Type type) {
        return client.tasks().values().stream()
                .filter(task -> task.type() == type)
                .map(AssignedTask::id)
                .toList();
    }

    private record State(
            AssignmentConfigs assignmentConfigs,
            Map<TaskId, TaskInfo> allTasks,
            Map<ProcessId, KafkaStreamsState> clients)
            implements ApplicationState {
        @Override
        public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
            return clients;
        }
    }

    private record Partition(
            TopicPartition topicPartition, boolean isSource, boolean isChangelog, Optional<Set<String>> rackIds)
            implements TaskTopicPartition {}

    private record Task(TaskId id, int index, SnapshotJson.Task task, Set<TaskTopicPartition> topicPartitions)
            implements TaskInfo {
        @Override
        public boolean isStateful() {
            return task.stateful();
        }

        @Override
        public Set<String> stateStoreNames() {
            return task.stateful() ? Set.of("store") : Set.of();
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return index;
        }
    }
}
