package io.github.optassign.model;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A builder of a {@link Snapshot}, for callers without Kafka Streams' state. Tasks and clients may be added in any
 * order.
 *
 * <p>A client without a given lag of a logged task has to replay the whole changelog. The end offset is the length of
 * the changelog; without an end offset the changelog counts as longer than any given lag.
 */
public final class SnapshotBuilder {
    /** By topology name, then by number; subtopologies that are no numbers follow, by their text. */
    private static final Comparator<String> SUBTOPOLOGY_ORDER = Comparator.comparing(SnapshotBuilder::topology)
            .thenComparingInt(SnapshotBuilder::number)
            .thenComparing(Comparator.naturalOrder());

    private static final Comparator<Task> TASK_ORDER =
            Comparator.comparing(Task::subtopology, SUBTOPOLOGY_ORDER).thenComparingInt(Task::partition);

    private final GroupConfigs configs;
    private final List<String> tagKeys;
    private final TreeMap<String, Task> tasks = new TreeMap<>();
    private final TreeMap<String, Client> clients = new TreeMap<>();

    private record Task(
            String name, String subtopology, int partition, boolean stateful, boolean logged, long endOffset) {}

    /**
     * Creates a builder of a group in which the copies of a task should differ in the values of these tags, the first
     * above all.
     */
    public SnapshotBuilder(GroupConfigs configs, List<String> tagKeys) {
        this.configs = configs;
        this.tagKeys = tagKeys.stream().distinct().toList();
    }

    /**
     * Adds a task with the name {@code subtopology_partition}.
     *
     * @param subtopology a number or, of a named topology, {@code name__number}
     * @param stateful whether the task has a store
     * @param logged whether the task has a changelog, and so lags, standbys and warm-ups
     * @param endOffset the number of offsets in its changelogs, or -1 if unknown
     * @return the name of the task
     * @throws IllegalArgumentException if the task has been added before
     */
    public String addTask(String subtopology, int partition, boolean stateful, boolean logged, long endOffset) {
        String name = subtopology + "_" + partition;
        Task task = new Task(name, subtopology, partition, stateful || logged, logged, logged ? endOffset : -1);
        if (tasks.putIfAbsent(name, task) != null) {
            throw new IllegalArgumentException("task " + name + ": found twice; allowed: once");
        }
        return name;
    }

    /** Adds a client without tasks, and returns it so that tasks, lags and tags can be added. */
    public Client addClient(String name, int threads) {
        Client client = new Client(threads);
        if (clients.putIfAbsent(name, client) != null) {
            throw new IllegalArgumentException("client " + name + ": found twice; allowed: once");
        }
        return client;
    }

    /** A client under construction. {@link #build} ignores tasks that the group does not have. */
    public static final class Client {
        private final int threads;
        private long capacityUnits = Traits.UNITS;
        private boolean draining;
        private final TreeSet<String> active = new TreeSet<>();
        private final TreeSet<String> held = new TreeSet<>();
        private final Map<String, Long> lags = new HashMap<>();
        private final Map<String, String> tags = new HashMap<>();

        private Client(int threads) {
            this.threads = Math.max(1, threads);
        }

        /** Adds a previously active task that the client runs, with all of its state. */
        public Client runs(String task) {
            lags.put(task, Snapshot.RUNNING);
            return owns(task);
        }

        /** Adds a previously active task that the client may not have restored yet; {@link #lags} sets its lag. */
        public Client owns(String task) {
            active.add(task);
            return this;
        }

        /** Adds a task with a directory on the client: a standby, a warm-up, or what is left of a dropped copy. */
        public Client holds(String task) {
            held.add(task);
            return this;
        }

        /** Sets the offsets of a task that the client has yet to replay; any negative number stands for unknown. */
        public Client lags(String task, long offsets) {
            lags.put(task, offsets < 0 ? Snapshot.UNKNOWN : offsets);
            return this;
        }

        /** Sets the client's value of a tag. */
        public Client tag(String key, String value) {
            tags.put(key, value);
            return this;
        }

        /** Sets the relative capacity of one thread, in millionths. */
        public Client capacity(long units) {
            capacityUnits = units;
            return this;
        }

        /** Marks the client as about to leave. */
        public Client drains() {
            draining = true;
            return this;
        }
    }

    /** Returns the snapshot of the tasks and clients added so far. */
    public Snapshot build() {
        List<Task> sorted = tasks.values().stream().sorted(TASK_ORDER).toList();
        Map<String, Integer> index = new HashMap<>(sorted.size() * 2);
        int[] subtopologies = new int[sorted.size()];
        boolean[] stateful = new boolean[sorted.size()];
        boolean[] logged = new boolean[sorted.size()];
        for (int t = 0; t < subtopologies.length; t++) {
            Task task = sorted.get(t);
            index.put(task.name, t);
            boolean isNext = t > 0 && !task.subtopology.equals(sorted.get(t - 1).subtopology);
            subtopologies[t] = t == 0 ? 0 : subtopologies[t - 1] + (isNext ? 1 : 0);
            stateful[t] = task.stateful;
            logged[t] = task.logged;
        }
        String[] names = sorted.stream().map(Task::name).toArray(String[]::new);
        long[] ends = sorted.stream().mapToLong(Task::endOffset).toArray();
        Snapshot.Tasks taskArrays = new Snapshot.Tasks(names, subtopologies, stateful, logged);
        return new Snapshot(configs, taskArrays, toClients(index, logged, ends), toTraits(), ends);
    }

    private Snapshot.Clients toClients(Map<String, Integer> index, boolean[] logged, long[] ends) {
        List<Client> inOrder = List.copyOf(clients.values());
        BitSet[] active = new BitSet[inOrder.size()];
        BitSet[] held = new BitSet[active.length];
        TaskLags lags = new TaskLags(
                Arrays.stream(ends).map(end -> end >= 0 ? end : Snapshot.NONE).toArray(), active.length);
        for (int c = 0; c < active.length; c++) {
            active[c] = toIndices(index, inOrder.get(c).active);
            held[c] = toIndices(index, inOrder.get(c).held);
            held[c].andNot(active[c]);
            for (Map.Entry<String, Long> lag : inOrder.get(c).lags.entrySet()) {
                Integer t = index.get(lag.getKey());
                if (t != null && logged[t]) {
                    lags.set(t, c, lag.getValue());
                }
            }
        }
        int[] threads = inOrder.stream().mapToInt(client -> client.threads).toArray();
        return new Snapshot.Clients(clients.keySet().toArray(new String[0]), threads, active, held, lags);
    }

    private Traits toTraits() {
        long[] sizes = new long[clients.size()];
        boolean[] draining = new boolean[sizes.length];
        int[][] tags = new int[sizes.length][tagKeys.size()];
        List<Map<String, Integer>> values = new ArrayList<>();
        tagKeys.forEach(key -> values.add(new HashMap<>()));
        int c = 0;
        for (Client client : clients.values()) {
            sizes[c] = client.threads * client.capacityUnits;
            draining[c] = client.draining;
            for (int k = 0; k < tags[c].length; k++) {
                String value = client.tags.get(tagKeys.get(k));
                Map<String, Integer> known = values.get(k);
                tags[c][k] = value == null ? -1 : known.computeIfAbsent(value, text -> known.size());
            }
            c++;
        }
        return new Traits(sizes, draining, tags);
    }

    private static BitSet toIndices(Map<String, Integer> index, Collection<String> names) {
        BitSet found = new BitSet(index.size());
        names.stream().map(index::get).filter(Objects::nonNull).forEach(found::set);
        return found;
    }

    private static String topology(String subtopology) {
        int end = subtopology.lastIndexOf("__");
        return end < 0 ? "" : subtopology.substring(0, end);
    }

    private static int number(String subtopology) {
        int end = subtopology.lastIndexOf("__");
        String text = end < 0 ? subtopology : subtopology.substring(end + 2);
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return Integer.MAX_VALUE;
        }
    }
}
