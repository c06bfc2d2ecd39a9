package io.github.optassign.testing;

import io.github.optassign.memory.AppliedAnswer;
import io.github.optassign.memory.ChangelogEnds;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.streams.StreamsGroup;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
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
import java.util.function.Predicate;
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

/** A group of clients that a test sets up, changes and asks for its state in Kafka's own classes. */
public final class TestGroup {
    /** The three kinds of tasks: without a store, with stores but no changelog, with a changelog. */
    public enum Kind {
        STATELESS,
        UNLOGGED,
        LOGGED
    }

    /** One client: what it lists, and the lags of tasks it has state of (others show the whole changelog). */
    public static final class Client {
        public final ProcessId id;
        public int threads = 1;
        public final Set<TaskId> active = new TreeSet<>();
        public final Set<TaskId> standby = new TreeSet<>();
        public final Map<TaskId, Long> lags = new TreeMap<>();
        public Map<String, String> tags = Map.of();
        public Optional<String> rack = Optional.empty();
        public Optional<HostInfo> host = Optional.empty();
        public SortedMap<String, Set<TaskId>> consumers = new TreeMap<>();

        public Client(int number) {
            id = new ProcessId(new UUID(0, number));
        }

        public boolean lists(TaskId task) {
            return active.contains(task) || standby.contains(task);
        }

        public String name() {
            return id.toString();
        }
    }

    public long acceptableLag = 10_000;
    public int warmups = 2;
    public int standbys;
    private long probingMs = 600_000;
    public String rackStrategy = "none";
    public List<String> rackTags = List.of();
    /** Whether the application has options by which plans may be uneven. */
    public boolean looseBalance;

    public final Map<TaskId, Kind> tasks = new TreeMap<>();
    public final Map<TaskId, Long> ends = new TreeMap<>();
    public final Map<TaskId, Set<TaskTopicPartition>> partitions = new HashMap<>();
    public final List<Client> clients = new ArrayList<>();

    public static TestGroup of(int clients) {
        TestGroup group = new TestGroup();
        for (int i = 1; i <= clients; i++) {
            group.clients.add(new Client(i));
        }
        return group;
    }

    /** A group of two clients at rest: two logged tasks, and a third one that is stateful and has no changelog. */
    public static TestGroup ofThreeTasks() {
        TestGroup group = of(2).tasks(0, 2, Kind.LOGGED, 100).tasks(1, 1, Kind.UNLOGGED, 0);
        return group.runs(0, "0_0").runs(1, "0_1", "1_0");
    }

    /** Adds a subtopology. */
    public TestGroup tasks(int subtopology, int partitionCount, Kind kind, long end) {
        for (int partition = 0; partition < partitionCount; partition++) {
            TaskId task = new TaskId(subtopology, partition);
            tasks.put(task, kind);
            if (kind == Kind.LOGGED) {
                ends.put(task, end);
            }
        }
        return this;
    }

    public Client client(int index) {
        return clients.get(index);
    }

    public static TaskId task(String id) {
        return TaskId.parse(id);
    }

    /** Makes a client run tasks. */
    public TestGroup runs(int index, String... ids) {
        for (String id : ids) {
            client(index).active.add(task(id));
            if (tasks.get(task(id)) == Kind.LOGGED) {
                client(index).lags.put(task(id), -2L);
            }
        }
        return this;
    }

    /** Gives a client a directory of a task, with this lag. */
    public TestGroup holds(int index, String id, long lag) {
        client(index).standby.add(task(id));
        client(index).lags.put(task(id), lag);
        return this;
    }

    /** What Kafka computes: for every logged task a lag, the whole changelog where there is no state. */
    public Map<TaskId, Long> kafkaLags(Client client) {
        Map<TaskId, Long> lags = new TreeMap<>();
        ends.forEach((task, end) -> lags.put(task, client.lags.getOrDefault(task, end)));
        return lags;
    }

    public ApplicationState state() {
        return state(new Random(0));
    }

    /** The group as Kafka hands it over, its maps in an order that depends on the random numbers. */
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
        for (TaskId task : shuffled(tasks.keySet(), order)) {
            infos.put(
                    task,
                    new DefaultTaskInfo(
                            task,
                            tasks.get(task) != Kind.STATELESS,
                            tasks.get(task) == Kind.STATELESS ? Set.of() : Set.of("store"),
                            partitions.getOrDefault(task, Set.of())));
        }
        Map<Boolean, Map<ProcessId, KafkaStreamsState>> states = new HashMap<>();
        for (boolean withLags : new boolean[] {false, true}) {
            Map<ProcessId, KafkaStreamsState> byId = new LinkedHashMap<>();
            for (Client client : shuffled(clients, order)) {
                byId.put(
                        client.id,
                        new DefaultKafkaStreamsState(
                                client.id,
                                client.threads,
                                client.tags,
                                new TreeSet<>(client.active),
                                new TreeSet<>(client.standby),
                                client.consumers,
                                client.host,
                                withLags ? Optional.of(kafkaLags(client)) : Optional.empty(),
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

    /** What the plug-in makes of the group. */
    public StreamsGroup read() {
        return StreamsGroup.read(state(), new ChangelogEnds(), looseBalance);
    }

    public Snapshot snapshot() {
        return read().snapshot();
    }

    /** What is remembered of an answer of the fallback once it is applied. */
    public AppliedAnswer remembered(RebalancePlanner.Result result) {
        return remembered(RebalancePlanner.toAnswer(snapshot(), result));
    }

    /** What is remembered of an answer once it is applied. */
    public AppliedAnswer remembered(Answer answer) {
        return AppliedAnswer.of("{}", 1, answer, snapshot());
    }

    /** Applies an answer and restores everything: actives run, other copies lag 0, other state is deleted or kept. */
    public void settle(Answer answer, boolean keepState) {
        for (Answer.Client given : answer.clients()) {
            Client client = clients.stream()
                    .filter(c -> c.name().equals(given.processId()))
                    .findFirst()
                    .orElseThrow();
            Set<TaskId> dropped = new HashSet<>(client.lags.keySet());
            client.active.clear();
            client.standby.clear();
            if (!keepState) {
                client.lags.clear();
            }
            given.active().forEach(id -> runs(clients.indexOf(client), id));
            List<String> passive = new ArrayList<>(given.standby());
            passive.addAll(given.warmup());
            passive.forEach(id -> holds(clients.indexOf(client), id, 0));
            dropped.removeIf(client::lists);
            if (keepState) {
                dropped.forEach(task -> {
                    long old = Math.max(0, client.lags.get(task));
                    holds(clients.indexOf(client), task.toString(), Math.min(ends.get(task), old + 100));
                });
            }
        }
    }

    /**
     * Applies an answer and restores at most so many offsets of every copy. Other state stays on the disk, and so do
     * its lags.
     */
    public void restore(Answer answer, long offsets) {
        for (Answer.Client given : answer.clients()) {
            Client client = clients.stream()
                    .filter(c -> c.name().equals(given.processId()))
                    .findFirst()
                    .orElseThrow();
            // What was not known turns out to be the whole changelog.
            client.lags.values().removeIf(lag -> lag == -3);
            Map<TaskId, Long> before = kafkaLags(client);
            client.standby.addAll(client.active);
            client.active.clear();
            client.standby.removeIf(task -> tasks.get(task) != Kind.LOGGED);
            // A task that is given away stops running, with all of its state on the disk.
            client.lags.replaceAll((task, lag) -> lag == -2 ? 0 : lag);
            for (List<String> copies : List.of(given.active(), given.standby(), given.warmup())) {
                for (String id : copies) {
                    TaskId task = task(id);
                    boolean isActive = copies == given.active();
                    (isActive ? client.standby : client.active).remove(task);
                    (isActive ? client.active : client.standby).add(task);
                    if (tasks.get(task) == Kind.LOGGED) {
                        long lag = Math.max(0, before.get(task));
                        long left = Math.max(0, lag - offsets);
                        client.lags.put(task, isActive && left == 0 ? -2 : left);
                    }
                }
            }
        }
    }

    /**
     * Lets every changelog grow by up to this share of it. Who is restoring, or has state that is no copy, falls behind
     * by that much; copies that have caught up keep up.
     */
    public void grow(Answer answer, double share, Random random) {
        for (Map.Entry<TaskId, Long> end : ends.entrySet()) {
            TaskId task = end.getKey();
            long more = (long) (end.getValue() * share * random.nextDouble());
            end.setValue(end.getValue() + more);
            for (Client client : clients) {
                Long lag = client.lags.get(task);
                boolean keepsUp = lag != null && lag == 0 && hasCopy(answer, client, task.toString());
                if (lag != null && lag >= 0 && !keepsUp) {
                    client.lags.put(task, lag + more);
                }
            }
        }
    }

    private static boolean hasCopy(Answer answer, Client client, String task) {
        return answer.clients().stream()
                .filter(given -> given.processId().equals(client.name()))
                .anyMatch(given -> given.active().contains(task)
                        || given.standby().contains(task)
                        || given.warmup().contains(task));
    }

    /** Brings the group between the two passes of an answer: tasks that change hands are active nowhere. */
    public void firstPass(Answer answer) {
        firstPass(answer, client -> true);
    }

    /** Does the same where the answer reached only some clients before the next rebalance began. */
    public void firstPass(Answer answer, Predicate<Client> reached) {
        Map<String, String> owners = new HashMap<>();
        answer.clients().forEach(given -> given.active().forEach(id -> owners.put(id, given.processId())));
        for (Client client : clients) {
            if (!reached.test(client)) {
                continue;
            }
            for (TaskId task : new ArrayList<>(client.active)) {
                if (!client.name().equals(owners.get(task.toString()))) {
                    client.active.remove(task);
                    if (tasks.get(task) == Kind.LOGGED) {
                        // Who ran it has all of its state; who was still restoring it lags as before.
                        long lag = client.lags.getOrDefault(task, ends.get(task));
                        holds(clients.indexOf(client), task.toString(), lag == -2 ? 0 : lag);
                    }
                }
            }
        }
    }

    /** Makes a group of random size, topology, limits and history. */
    public static TestGroup random(Random random) {
        TestGroup group = of(1 + random.nextInt(7));
        group.standbys = random.nextInt(3);
        group.warmups = 1 + random.nextInt(4);
        group.acceptableLag = new long[] {0, 10, 10_000, Long.MAX_VALUE}[random.nextInt(4)];
        boolean sameSize = random.nextBoolean();
        for (Client client : group.clients) {
            client.threads = sameSize ? 2 : 1 + random.nextInt(4);
        }
        int subtopologies = 1 + random.nextInt(4);
        for (int g = 0; g < subtopologies; g++) {
            Kind kind = Kind.values()[Math.min(2, random.nextInt(5))];
            group.tasks(g, 1 + random.nextInt(9), kind, new long[] {0, 8, 500, 1_000_000}[random.nextInt(4)]);
        }
        boolean empty = random.nextInt(6) == 0;
        boolean unknown = random.nextInt(6) == 0;
        for (TaskId task : group.tasks.keySet()) {
            int owner = empty || random.nextInt(8) == 0 ? -1 : random.nextInt(1 + random.nextInt(group.clients.size()));
            for (int c = 0; c < group.clients.size() && !empty; c++) {
                boolean logged = group.tasks.get(task) == Kind.LOGGED;
                if (c == owner) {
                    group.runs(c, task.toString());
                    if (logged && random.nextInt(6) == 0) {
                        group.client(c).lags.put(task, (long) random.nextInt(20_000)); // restoring, as after a restart
                    }
                } else if (logged && random.nextInt(3) == 0) {
                    long lag = random.nextInt(3) == 0 ? 0 : (long) (random.nextDouble() * group.ends.get(task));
                    group.holds(c, task.toString(), lag);
                }
                if (logged && unknown && group.client(c).lags.getOrDefault(task, 0L) != -2) {
                    group.client(c).lags.put(task, -3L);
                }
            }
        }
        return group;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append("acceptable ")
                .append(acceptableLag)
                .append(", warm-ups ")
                .append(warmups)
                .append(", standbys ")
                .append(standbys)
                .append("\ntasks ")
                .append(tasks)
                .append("\nends ")
                .append(ends);
        for (Client client : clients) {
            text.append('\n')
                    .append(client.name())
                    .append(" x")
                    .append(client.threads)
                    .append(" active ")
                    .append(client.active)
                    .append(" standby ")
                    .append(client.standby)
                    .append(" lags ")
                    .append(client.lags);
        }
        return text.toString();
    }
}
