package io.github.optassign.exchange;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The copies that clients may hand over to one another, by giver: one by one to the clients that something is known of,
 * and to each kind of the others the cheapest one. So there are as many as there is knowledge, and not as there are
 * pairs of clients.
 */
final class ExchangeArcs {
    private static final long NEVER = Long.MAX_VALUE / 4;

    /** Takes one: its task, and a client or a kind of clients. */
    interface Taking {
        void take(int t, int to, long weight);
    }

    private final Snapshot snapshot;
    private final Exchange exchange;
    private final int clients;
    /** Per kind its clients. */
    private final int[][] clientsOf;
    /** Per subtopology and giver the tasks that it has a copy of, and how many these are. */
    private final int[][] tasks;

    private final int[] taskCount;
    /** Per subtopology and giver what it may hand over one by one. */
    private final Row[] rows;
    /** Per subtopology, giver and kind the cheapest task that any of the kind may take, and its weight. */
    private final int[][] pooled;

    private final long[][] pooledWeight;
    /** By task and giver what has turned out not to go through a pool, though it was the cheapest. */
    private final Set<Long> banned = new HashSet<>();

    /** Tasks, clients, weights. */
    private static final class Row {
        private int[] task = new int[8];
        private int[] to = new int[8];
        private long[] weight = new long[8];
        private int size;

        void add(int t, int c, long more) {
            if (size == task.length) {
                task = Arrays.copyOf(task, 2 * size);
                to = Arrays.copyOf(to, 2 * size);
                weight = Arrays.copyOf(weight, 2 * size);
            }
            task[size] = t;
            to[size] = c;
            weight[size++] = more;
        }
    }

    ExchangeArcs(Snapshot snapshot, Exchange exchange, int[] kinds) {
        this.snapshot = snapshot;
        this.exchange = exchange;
        clients = snapshot.clientCount();
        clientsOf = new int[Arrays.stream(kinds).max().orElse(-1) + 1][];
        Arrays.setAll(
                clientsOf,
                kind -> IntStream.range(0, clients)
                        .filter(c -> kinds[c] == kind)
                        .toArray());
        int count = snapshot.subtopologyCount() * clients;
        tasks = new int[count][4];
        taskCount = new int[count];
        rows = new Row[count];
        Arrays.setAll(rows, i -> new Row());
        pooled = new int[count][clientsOf.length];
        pooledWeight = new long[count][clientsOf.length];
    }

    /** The clients of a kind, sorted. */
    int[] clientsOf(int kind) {
        return clientsOf[kind];
    }

    /** Finds all that may be handed over. */
    void findAll() {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : exchange.givers(t)) {
                add(t, c);
            }
        }
        for (int g = 0; g < snapshot.subtopologyCount(); g++) {
            for (int c = 0; c < clients; c++) {
                find(g, c);
            }
        }
    }

    private void add(int t, int c) {
        int at = snapshot.subtopology(t) * clients + c;
        if (taskCount[at] == tasks[at].length) {
            tasks[at] = Arrays.copyOf(tasks[at], 2 * taskCount[at]);
        }
        tasks[at][taskCount[at]++] = t;
    }

    /** Takes down that a copy has moved. */
    void move(int t, int from, int to) {
        int at = snapshot.subtopology(t) * clients + from;
        int place = 0;
        while (tasks[at][place] != t) {
            place++;
        }
        tasks[at][place] = tasks[at][--taskCount[at]];
        add(t, to);
    }

    /** Finds anew what a client may hand over of a subtopology. */
    void find(int g, int giver) {
        int at = g * clients + giver;
        Row row = rows[at];
        row.size = 0;
        for (int i = 0; i < taskCount[at]; i++) {
            int t = tasks[at][i];
            banned.remove(key(t, giver));
            for (int c : exchange.columns(t)) {
                if (c != giver && exchange.mayTake(t, giver, c)) {
                    row.add(t, c, exchange.measureChange(t, giver, c));
                }
            }
        }
        findPooled(at, giver);
    }

    private void findPooled(int at, int giver) {
        Arrays.fill(pooledWeight[at], NEVER);
        for (int i = 0; i < taskCount[at]; i++) {
            int t = tasks[at][i];
            if (!banned.isEmpty() && banned.contains(key(t, giver))) {
                continue;
            }
            for (int kind = 0; kind < clientsOf.length; kind++) {
                int c = findTaker(t, giver, kind);
                long weight = c < 0 ? NEVER : exchange.measureChange(t, giver, c);
                boolean isCheaper = weight < pooledWeight[at][kind]
                        || (weight < NEVER && weight == pooledWeight[at][kind] && t < pooled[at][kind]);
                if (isCheaper) {
                    pooledWeight[at][kind] = weight;
                    pooled[at][kind] = t;
                }
            }
        }
    }

    /** A client of a kind that nothing is known of, of this task, and that may take it; -1: hardly any. */
    private int findTaker(int t, int giver, int kind) {
        int[] columns = exchange.columns(t);
        int tries = 0;
        for (int c : clientsOf[kind]) {
            if (c == giver || Arrays.binarySearch(columns, c) >= 0) {
                continue;
            }
            if (exchange.mayTake(t, giver, c)) {
                return c;
            }
            if (++tries == GreedyPolicy.TRIES) {
                break;
            }
        }
        return -1;
    }

    /** Takes a task out of what a client hands over through pools, until it has other tasks. */
    void ban(int t, int giver) {
        banned.add(key(t, giver));
        findPooled(snapshot.subtopology(t) * clients + giver, giver);
    }

    private long key(int t, int c) {
        return (long) t * clients + c;
    }

    /** Hands over what a client may hand over of a subtopology. */
    void forEach(int g, int giver, Taking toClient, Taking toKind) {
        int at = g * clients + giver;
        Row row = rows[at];
        for (int i = 0; i < row.size; i++) {
            toClient.take(row.task[i], row.to[i], row.weight[i]);
        }
        for (int kind = 0; kind < clientsOf.length; kind++) {
            if (pooledWeight[at][kind] < NEVER) {
                toKind.take(pooled[at][kind], kind, pooledWeight[at][kind]);
            }
        }
    }
}
