package io.github.optassign.testing;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Traits;
import io.github.optassign.planner.RebalancePlanner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Predicate;

/** A group of clients that tests create and change. Tasks are named by their ids. */
public class TestGroup {
    /** The three kinds of tasks: without a store, with stores but no changelog, with a changelog. */
    public enum Kind {
        STATELESS,
        UNLOGGED,
        LOGGED
    }

    /**
     * A client: its previous tasks, and the lags of tasks of which it has state; other lags are the whole changelog.
     */
    public static class Client {
        private final String name;
        public int threads = 1;
        public final Set<String> active = new TreeSet<>();
        public final Set<String> standby = new TreeSet<>();
        public final Map<String, Long> lags = new TreeMap<>();
        public Map<String, String> tags = Map.of();

        /**
         * Creates a client.
         *
         * @param number its number from 1; its name is a UUID, as in Kafka Streams
         */
        public Client(int number) {
            name = new UUID(0, number).toString();
        }

        public boolean lists(String task) {
            return active.contains(task) || standby.contains(task);
        }

        public String name() {
            return name;
        }
    }

    public long acceptableLag = 10_000;
    public int warmups = 2;
    public int standbys;
    public long probingMs = 600_000;
    public List<String> rackTags = List.of();
    /** Whether the application's options allow unbalanced plans. */
    public boolean looseBalance;
    /** Whether planners see target assignments, as in a broker. */
    public boolean movesInOnePass;

    public final Map<String, Kind> tasks = new TreeMap<>();
    public final Map<String, Long> ends = new TreeMap<>();
    public final List<Client> clients = new ArrayList<>();

    public static TestGroup of(int clients) {
        TestGroup group = new TestGroup();
        group.join(clients);
        return group;
    }

    /** Adds clients, numbered from 1. */
    protected final void join(int count) {
        for (int i = 1; i <= count; i++) {
            clients.add(newClient(i));
        }
    }

    protected Client newClient(int number) {
        return new Client(number);
    }

    /** Adds a subtopology. */
    public TestGroup tasks(int subtopology, int partitionCount, Kind kind, long end) {
        for (int partition = 0; partition < partitionCount; partition++) {
            String task = subtopology + "_" + partition;
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

    /** Makes a client run tasks. */
    public TestGroup runs(int index, String... ids) {
        for (String id : ids) {
            client(index).active.add(id);
            if (tasks.get(id) == Kind.LOGGED) {
                client(index).lags.put(id, -2L);
            }
        }
        return this;
    }

    /** Makes a client stop running a task, whose state stays on the disk. */
    public TestGroup stops(int index, String id) {
        client(index).active.remove(id);
        return tasks.get(id) == Kind.LOGGED ? holds(index, id, 0) : this;
    }

    /** Gives a client a directory of a task, with this lag. */
    public TestGroup holds(int index, String id, long lag) {
        client(index).standby.add(id);
        client(index).lags.put(id, lag);
        return this;
    }

    /** Returns the lags that Kafka computes for every logged task; without state, the whole changelog. */
    public Map<String, Long> kafkaLags(Client client) {
        Map<String, Long> lags = new TreeMap<>();
        ends.forEach((task, end) -> lags.put(task, client.lags.getOrDefault(task, end)));
        return lags;
    }

    /** Returns the planners' snapshot of the group. */
    public Snapshot snapshot() {
        GroupConfigs configs =
                new GroupConfigs(acceptableLag, warmups, standbys, probingMs, looseBalance, movesInOnePass);
        SnapshotBuilder builder = new SnapshotBuilder(configs, rackTags);
        tasks.forEach((task, kind) -> {
            int cut = task.indexOf('_');
            builder.addTask(
                    task.substring(0, cut),
                    Integer.parseInt(task.substring(cut + 1)),
                    kind != Kind.STATELESS,
                    ends.containsKey(task),
                    knownEnd(task));
        });
        for (Client client : clients) {
            tell(client, builder.addClient(client.name(), client.threads));
        }
        return builder.build();
    }

    /** Returns the end offset, which is the greatest lag of clients without state of the task, or -1 if unknown. */
    private long knownEnd(String task) {
        long greatest = clients.stream()
                .filter(client -> !client.lists(task))
                .mapToLong(client -> client.lags.getOrDefault(task, ends.getOrDefault(task, -1L)))
                .max()
                .orElse(-1);
        return Math.max(-1, greatest);
    }

    private void tell(Client client, SnapshotBuilder.Client described) {
        client.active.forEach(described::owns);
        client.standby.forEach(described::holds);
        ends.forEach((task, end) -> {
            long lag = client.lags.getOrDefault(task, end);
            if (lag != Snapshot.RUNNING && (client.lists(task) || client.lags.containsKey(task))) {
                described.lags(task, lag);
            } else if (lag == Snapshot.RUNNING && client.active.contains(task)) {
                described.runs(task);
            } else if (lag == Snapshot.RUNNING) {
                throw new IllegalStateException(client.name() + " has all of " + task + ", and does not run it");
            }
        });
        client.tags.forEach(described::tag);
        double capacity = Double.parseDouble(client.tags.getOrDefault("optassign.capacity", "1"));
        described.capacity(Math.round(capacity * Traits.UNITS));
        if (Traits.drains(client.tags)) {
            described.drains();
        }
    }

    /** Returns the record of an applied answer of the planner. */
    public AppliedAnswer remembered(RebalancePlanner.Result result) {
        return remembered(RebalancePlanner.toAnswer(snapshot(), result));
    }

    /** Returns the record of an applied answer. */
    public AppliedAnswer remembered(Answer answer) {
        return AppliedAnswer.of("{}", 1, answer, snapshot());
    }

    private Client find(Answer.Client given) {
        return clients.stream()
                .filter(client -> client.name().equals(given.processId()))
                .findFirst()
                .orElseThrow();
    }

    /** Applies an answer and restores everything: actives run, other copies lag 0, other state is deleted or kept. */
    public void settle(Answer answer, boolean keepState) {
        for (Answer.Client given : answer.clients()) {
            Client client = find(given);
            Set<String> dropped = new HashSet<>(client.lags.keySet());
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
                    holds(clients.indexOf(client), task, Math.min(ends.get(task), old + 100));
                });
            }
        }
    }

    /**
     * Applies an answer and restores at most this number of offsets of every copy. Other state stays on the disk with
     * its lags.
     */
    public void restore(Answer answer, long offsets) {
        for (Answer.Client given : answer.clients()) {
            Client client = find(given);
            // Unknown lags turn out to be the whole changelog.
            client.lags.values().removeIf(lag -> lag == -3);
            Map<String, Long> before = kafkaLags(client);
            client.standby.addAll(client.active);
            client.active.clear();
            client.standby.removeIf(task -> tasks.get(task) != Kind.LOGGED);
            // A revoked task stops running, with all of its state on the disk.
            client.lags.replaceAll((task, lag) -> lag == -2 ? 0 : lag);
            for (List<String> copies : List.of(given.active(), given.standby(), given.warmup())) {
                for (String task : copies) {
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
     * Makes every changelog grow by up to this share of its length. Restoring copies and state without a copy fall
     * behind by that growth; caught-up copies keep up.
     */
    public void grow(Answer answer, double share, Random random) {
        for (Map.Entry<String, Long> end : ends.entrySet()) {
            String task = end.getKey();
            long more = (long) (end.getValue() * share * random.nextDouble());
            end.setValue(end.getValue() + more);
            for (Client client : clients) {
                Long lag = client.lags.get(task);
                boolean keepsUp = lag != null && lag == 0 && hasCopy(answer, client, task);
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

    /** Applies the first pass of an answer: moving tasks have no owner. */
    public void firstPass(Answer answer) {
        firstPass(answer, client -> true);
    }

    /** Applies the first pass of an answer that reached only some clients before the next rebalance. */
    public void firstPass(Answer answer, Predicate<Client> reached) {
        Map<String, String> owners = new HashMap<>();
        answer.clients().forEach(given -> given.active().forEach(id -> owners.put(id, given.processId())));
        for (Client client : clients) {
            if (!reached.test(client)) {
                continue;
            }
            for (String task : new ArrayList<>(client.active)) {
                if (!client.name().equals(owners.get(task))) {
                    client.active.remove(task);
                    if (tasks.get(task) == Kind.LOGGED) {
                        // A client that ran the task has all of its state; a client that was restoring it lags as
                        // before.
                        long lag = client.lags.getOrDefault(task, ends.get(task));
                        holds(clients.indexOf(client), task, lag == -2 ? 0 : lag);
                    }
                }
            }
        }
    }

    /** Returns a group of random size, topology, limits and history. */
    public static TestGroup random(Random random) {
        TestGroup group = new TestGroup();
        group.fill(random);
        return group;
    }

    /** Fills this empty group at random. */
    protected final void fill(Random random) {
        join(1 + random.nextInt(7));
        standbys = random.nextInt(3);
        warmups = 1 + random.nextInt(4);
        acceptableLag = new long[] {0, 10, 10_000, Long.MAX_VALUE}[random.nextInt(4)];
        boolean sameSize = random.nextBoolean();
        for (Client client : clients) {
            client.threads = sameSize ? 2 : 1 + random.nextInt(4);
        }
        int subtopologies = 1 + random.nextInt(4);
        for (int g = 0; g < subtopologies; g++) {
            Kind kind = Kind.values()[Math.min(2, random.nextInt(5))];
            tasks(g, 1 + random.nextInt(9), kind, new long[] {0, 8, 500, 1_000_000}[random.nextInt(4)]);
        }
        boolean empty = random.nextInt(6) == 0;
        boolean unknown = random.nextInt(6) == 0;
        for (String task : tasks.keySet()) {
            int owner = empty || random.nextInt(8) == 0 ? -1 : random.nextInt(1 + random.nextInt(clients.size()));
            for (int c = 0; c < clients.size() && !empty; c++) {
                boolean logged = tasks.get(task) == Kind.LOGGED;
                if (c == owner) {
                    runs(c, task);
                    if (logged && random.nextInt(6) == 0) {
                        client(c).lags.put(task, (long) random.nextInt(20_000)); // restoring, as after a restart
                    }
                } else if (logged && random.nextInt(3) == 0) {
                    long lag = random.nextInt(3) == 0 ? 0 : (long) (random.nextDouble() * ends.get(task));
                    holds(c, task, lag);
                }
                if (logged && unknown && client(c).lags.getOrDefault(task, 0L) != -2) {
                    client(c).lags.put(task, -3L);
                }
            }
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("acceptable %d, warm-ups %d, standbys %d\ntasks %s\nends %s"
                .formatted(acceptableLag, warmups, standbys, tasks, ends));
        for (Client client : clients) {
            text.append("\n%s x%d active %s standby %s lags %s"
                    .formatted(client.name(), client.threads, client.active, client.standby, client.lags));
        }
        return text.toString();
    }
}
