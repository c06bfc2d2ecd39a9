package io.github.optassign.kafka;

import java.util.ArrayList;
import java.util.Collection;
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
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.ClientUtils.QuietStreamsConfig;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * Kafka's RackAwareTaskAssignor with known racks instead of a broker's answers. Racks of source topics are given as
 * cluster metadata and racks of changelogs as descriptions of topics, with one broker per rack.
 */
final class RackAwareness {
    private RackAwareness() {}

    /** Creates Kafka's assignor. It is disabled if racks are not configured or not all known. */
    static RackAwareTaskAssignor createAssignor(
            AssignmentConfigs configs,
            Map<ProcessId, DefaultAssignor.Client> clients,
            Map<TaskId, ? extends Collection<DefaultAssignor.Partition>> tasks,
            Set<TaskId> logged) {
        boolean enabled =
                !StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE.equals(configs.rackAwareAssignmentStrategy())
                        && isComplete(configs, clients, tasks, logged);
        Partitions sources = new Partitions();
        Partitions changelogs = new Partitions();
        Map<Subtopology, Set<TaskId>> tasksOfSubtopology = new HashMap<>();
        Map<ProcessId, Map<String, Optional<String>>> racks = new HashMap<>();
        if (enabled) {
            tasks.forEach((id, partitions) -> {
                sources.add(id, partitions, DefaultAssignor.Partition::source);
                changelogs.add(id, partitions, partition -> logged.contains(id) && partition.changelog());
                Subtopology subtopology = new Subtopology(id.subtopology(), id.topologyName());
                tasksOfSubtopology
                        .computeIfAbsent(subtopology, none -> new HashSet<>())
                        .add(id);
            });
            clients.forEach((id, client) -> racks.put(id, Map.of("consumer", client.rack())));
        }
        return new RackAwareTaskAssignor(
                sources.toCluster(),
                sources.byTask,
                changelogs.byTask,
                tasksOfSubtopology,
                enabled ? racks : null, // null disables Kafka's class
                enabled ? new TopicManager(changelogs) : null,
                configs,
                Time.SYSTEM);
    }

    private static boolean isComplete(
            AssignmentConfigs configs,
            Map<ProcessId, DefaultAssignor.Client> clients,
            Map<TaskId, ? extends Collection<DefaultAssignor.Partition>> tasks,
            Set<TaskId> logged) {
        boolean standbys = configs.numStandbyReplicas() > 0;
        return clients.values().stream().allMatch(client -> client.rack().isPresent())
                && tasks.entrySet().stream()
                        .allMatch(task -> haveRacks(task.getValue(), DefaultAssignor.Partition::source)
                                && (!standbys
                                        || !logged.contains(task.getKey())
                                        || haveRacks(task.getValue(), DefaultAssignor.Partition::changelog)));
    }

    private static boolean haveRacks(
            Collection<DefaultAssignor.Partition> partitions, Predicate<DefaultAssignor.Partition> kind) {
        return partitions.stream().anyMatch(kind)
                && partitions.stream()
                        .filter(kind)
                        .noneMatch(partition -> partition.racks().isEmpty());
    }

    /** The source or changelog partitions of tasks, with a broker for each rack of their replicas. */
    private static final class Partitions {
        private final Map<TaskId, Set<TopicPartition>> byTask = new HashMap<>();
        private final Map<TopicPartition, Node[]> replicas = new HashMap<>();
        private final Map<String, Node> brokers = new TreeMap<>();

        void add(
                TaskId id,
                Collection<DefaultAssignor.Partition> partitions,
                Predicate<DefaultAssignor.Partition> kind) {
            Set<TopicPartition> names = new HashSet<>();
            partitions.stream().filter(kind).forEach(partition -> {
                names.add(partition.name());
                replicas.put(
                        partition.name(),
                        partition.racks().stream()
                                .sorted()
                                .map(this::findBroker)
                                .toArray(Node[]::new));
            });
            byTask.put(id, names);
        }

        Cluster toCluster() {
            List<PartitionInfo> partitions = new ArrayList<>();
            replicas.forEach((name, nodes) ->
                    partitions.add(new PartitionInfo(name.topic(), name.partition(), nodes[0], nodes, nodes)));
            return new Cluster("known", brokers.values(), partitions, Set.of(), Set.of());
        }

        private Node findBroker(String rack) {
            return brokers.computeIfAbsent(rack, name -> new Node(brokers.size(), name, 9092, name));
        }
    }

    /** A topic manager that answers from known partitions instead of asking a broker. */
    private static final class TopicManager extends InternalTopicManager {
        private final Partitions partitions;

        TopicManager(Partitions partitions) {
            super(
                    Time.SYSTEM,
                    null,
                    new QuietStreamsConfig(Map.of(
                            StreamsConfig.APPLICATION_ID_CONFIG, "known",
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
