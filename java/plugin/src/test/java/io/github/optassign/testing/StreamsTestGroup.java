package io.github.optassign.testing;

import io.github.optassign.learn.ChangelogEnds;
import io.github.optassign.model.Snapshot;
import io.github.optassign.streams.StreamsGroup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.DefaultKafkaStreamsState;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskInfo;
import org.apache.kafka.streams.state.HostInfo;

/** A test group with its state in Kafka's own classes. */
public final class StreamsTestGroup extends TestGroup {
    /** A client with the data that only Kafka Streams has. */
    public static final class Client extends TestGroup.Client {
        public Optional<String> rack = Optional.empty();
        public Optional<HostInfo> host = Optional.empty();
        public SortedMap<String, Set<TaskId>> consumers = new TreeMap<>();

        public Client(int number) {
            super(number);
        }

        public ProcessId id() {
            return new ProcessId(UUID.fromString(name()));
        }
    }

    public String rackStrategy = "none";
    public final Map<String, Set<TaskTopicPartition>> partitions = new HashMap<>();

    public static StreamsTestGroup of(int clients) {
        StreamsTestGroup group = new StreamsTestGroup();
        group.join(clients);
        return group;
    }

    /** Returns a group of two clients at rest, with two logged tasks and a stateful task without a changelog. */
    public static StreamsTestGroup ofThreeTasks() {
        StreamsTestGroup group = of(2).tasks(0, 2, Kind.LOGGED, 100).tasks(1, 1, Kind.UNLOGGED, 0);
        return group.runs(0, "0_0").runs(1, "0_1", "1_0");
    }

    /** Returns a group of random size, topology, limits and history. */
    public static StreamsTestGroup random(Random random) {
        StreamsTestGroup group = new StreamsTestGroup();
        group.fill(random);
        return group;
    }

    @Override
    protected Client newClient(int number) {
        return new Client(number);
    }

    @Override
    public StreamsTestGroup tasks(int subtopology, int partitionCount, Kind kind, long end) {
        super.tasks(subtopology, partitionCount, kind, end);
        return this;
    }

    @Override
    public StreamsTestGroup runs(int index, String... ids) {
        super.runs(index, ids);
        return this;
    }

    @Override
    public StreamsTestGroup holds(int index, String id, long lag) {
        super.holds(index, id, lag);
        return this;
    }

    @Override
    public Client client(int index) {
        return (Client) super.client(index);
    }

    /** Returns the clients with Kafka Streams' data. */
    public List<Client> processes() {
        return clients.stream().map(Client.class::cast).toList();
    }

    /** Returns task ids in Kafka's class. */
    public static Set<TaskId> ids(Collection<String> tasks) {
        return tasks.stream().map(TaskId::parse).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns the lags that Kafka computes, by Kafka's task ids. */
    public Map<TaskId, Long> lags(Client client) {
        Map<TaskId, Long> lags = new TreeMap<>();
        kafkaLags(client).forEach((task, lag) -> lags.put(TaskId.parse(task), lag));
        return lags;
    }

    public ApplicationState state() {
        return state(new Random(0));
    }

    /** Returns the group's state, with maps in a random order. */
    public ApplicationState state(Random order) {
        AssignmentConfigs configs = new AssignmentConfigs(
                acceptableLag,
                warmups,
                standbys,
                probingMs,
                rackTags,
                OptionalInt.empty(),
                OptionalInt.empty(),
                rackStrategy);
        Map<TaskId, TaskInfo> infos = new LinkedHashMap<>();
        for (TaskId task : shuffled(ids(tasks.keySet()), order)) {
            Kind kind = tasks.get(task.toString());
            infos.put(
                    task,
                    new DefaultTaskInfo(
                            task,
                            kind != Kind.STATELESS,
                            kind == Kind.STATELESS ? Set.of() : Set.of("store"),
                            partitions.getOrDefault(task.toString(), Set.of())));
        }
        Map<Boolean, Map<ProcessId, KafkaStreamsState>> states = new HashMap<>();
        for (boolean withLags : new boolean[] {false, true}) {
            Map<ProcessId, KafkaStreamsState> byId = new LinkedHashMap<>();
            for (Client client : shuffled(processes(), order)) {
                byId.put(
                        client.id(),
                        new DefaultKafkaStreamsState(
                                client.id(),
                                client.threads,
                                client.tags,
                                new TreeSet<>(ids(client.active)),
                                new TreeSet<>(ids(client.standby)),
                                client.consumers,
                                client.host,
                                withLags ? Optional.of(lags(client)) : Optional.empty(),
                                client.rack));
            }
            states.put(withLags, byId);
        }
        return new ApplicationState() {
            @Override
            public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
                return states.get(computeTaskLags);
            }

            @Override
            public AssignmentConfigs assignmentConfigs() {
                return configs;
            }

            @Override
            public Map<TaskId, TaskInfo> allTasks() {
                return infos;
            }
        };
    }

    private static <T> List<T> shuffled(Iterable<T> items, Random order) {
        List<T> list = new ArrayList<>();
        items.forEach(list::add);
        Collections.shuffle(list, order);
        return list;
    }

    /** Returns the group as read by the plug-in. */
    public StreamsGroup read() {
        return StreamsGroup.read(state(), new ChangelogEnds(), looseBalance);
    }

    /** Returns the plug-in's snapshot of the group. */
    @Override
    public Snapshot snapshot() {
        return read().snapshot();
    }
}
