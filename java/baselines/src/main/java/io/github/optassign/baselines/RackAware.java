package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * Creates Kafka's RackAwareTaskAssignor with the racks of the snapshot in place of a broker's answers: those of source
 * topics come as cluster metadata, those of changelogs as a description of topics, each rack as one broker.
 */
final class RackAware {
    private static final String NONE = StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE;

    private RackAware() {}

    /**
     * Finds out why racks cannot be taken into account though a strategy is configured; empty: they can, or need not
     * be.
     */
    static Optional<String> findMissing(Application application) {
        if (NONE.equals(application.configs().rackAwareAssignmentStrategy())) {
            return Optional.empty();
        }
        for (Snapshot.Client client : application.clients().values()) {
            if (client.rack() == null) {
                return Optional.of("client " + client.processId() + " has no rack");
            }
        }
        boolean standbys = application.configs().numStandbyReplicas() > 0;
        for (Snapshot.Task task : application.tasks().values()) {
            if (!haveRacks(task, Snapshot.Partition::source)) {
                return Optional.of("no racks are given for the source partitions of task " + task.id());
            }
            if (standbys && task.logged() && !haveRacks(task, Snapshot.Partition::changelog)) {
                return Optional.of("no racks are given for the changelog of task " + task.id());
            }
        }
        return Optional.empty();
    }

    /**
     * Creates what HighAvailabilityTaskAssignor is given; it does nothing where racks are not configured or are
     * missing.
     */
    static RackAwareTaskAssignor createAssignor(Application application) {
        boolean enabled = !NONE.equals(application.configs().rackAwareAssignmentStrategy())
                && findMissing(application).isEmpty();
        Partitions sources = new Partitions();
        Partitions changelogs = new Partitions();
        Map<Subtopology, Set<TaskId>> tasksOfSubtopology = new HashMap<>();
        Map<ProcessId, Map<String, Optional<String>>> racks = new HashMap<>();
        if (enabled) {
            application.tasks().forEach((id, task) -> {
                sources.add(id, task, Snapshot.Partition::source);
                changelogs.add(id, task, partition -> task.logged() && partition.changelog());
                Subtopology subtopology = new Subtopology(id.subtopology(), id.topologyName());
                tasksOfSubtopology
                        .computeIfAbsent(subtopology, none -> new HashSet<>())
                        .add(id);
            });
            application
                    .clients()
                    .forEach((id, client) -> racks.put(id, Map.of("consumer", Optional.of(client.rack()))));
        }
        return new RackAwareTaskAssignor(
                sources.toCluster(),
                sources.ofTask,
                changelogs.ofTask,
                tasksOfSubtopology,
                enabled ? racks : null, // without them Kafka's class never enables itself
                enabled ? new TopicManager(changelogs) : null,
                application.configs(),
                Time.SYSTEM);
    }

    /** Names a task's partition by topic and number, which are made up where the snapshot does not say them. */
    static TopicPartition toTopicPartition(TaskId task, int index, Snapshot.Partition partition) {
        String subtopology = (task.topologyName() == null ? "" : task.topologyName() + "-") + task.subtopology();
        return new TopicPartition(
                partition.topic() == null ? "subtopology-" + subtopology + "-topic-" + index : partition.topic(),
                partition.partition() == null ? task.partition() : partition.partition());
    }

    private static boolean haveRacks(Snapshot.Task task, Predicate<Snapshot.Partition> kind) {
        List<Snapshot.Partition> partitions =
                task.partitions().stream().filter(kind).toList();
        return !partitions.isEmpty()
                && partitions.stream().noneMatch(partition -> partition.racks().isEmpty());
    }

    /** Partitions of one kind, by task, with a broker for each rack of their replicas. */
    private static final class Partitions {
        private final Map<TaskId, Set<TopicPartition>> ofTask = new HashMap<>();
        private final Map<TopicPartition, Node[]> replicas = new HashMap<>();
        private final Map<String, Node> brokers = new TreeMap<>();

        void add(TaskId id, Snapshot.Task task, Predicate<Snapshot.Partition> kind) {
            Set<TopicPartition> partitions = new HashSet<>();
            for (int i = 0; i < task.partitions().size(); i++) {
                Snapshot.Partition partition = task.partitions().get(i);
                if (kind.test(partition)) {
                    TopicPartition name = toTopicPartition(id, i, partition);
                    partitions.add(name);
                    replicas.put(
                            name,
                            partition.racks().stream()
                                    .sorted()
                                    .map(this::findBroker)
                                    .toArray(Node[]::new));
                }
            }
            ofTask.put(id, partitions);
        }

        Cluster toCluster() {
            List<PartitionInfo> partitions = new ArrayList<>();
            replicas.forEach((name, nodes) ->
                    partitions.add(new PartitionInfo(name.topic(), name.partition(), nodes[0], nodes, nodes)));
            return new Cluster("snapshot", brokers.values(), partitions, Set.of(), Set.of());
        }

        private Node findBroker(String rack) {
            return brokers.computeIfAbsent(rack, name -> new Node(brokers.size(), name, 9092, name));
        }
    }

    /** Answers from the snapshot what a broker would be asked. */
    private static final class TopicManager extends InternalTopicManager {
        private final Partitions partitions;

        TopicManager(Partitions partitions) {
            super(
                    Time.SYSTEM,
                    null,
                    new StreamsConfig(Map.of(
                            StreamsConfig.APPLICATION_ID_CONFIG, "snapshot",
                            StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:9092")));
            this.partitions = partitions;
        }

        @Override
        public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(Set<String> topics) {
            Map<String, List<TopicPartitionInfo>> found = new HashMap<>();
            partitions.replicas.forEach((name, nodes) -> {
                if (topics.contains(name.topic())) {
                    found.computeIfAbsent(name.topic(), none -> new ArrayList<>())
                            .add(new TopicPartitionInfo(name.partition(), nodes[0], List.of(nodes), List.of(nodes)));
                }
            });
            return found;
        }
    }
}
