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

    private final Snapshot snapshot;
    private final Exchange exchange;
    private final int clients;
    /** Per kind its clients. */
    private final int[][] clientsOf;
    /** Per subtopology and giver the tasks that it has a copy of, and how many these are. */
    private final int[][] tasks;

    private final int[] taskCount;
    /**
     * Per subtopology and giver what it may hand over one by one, in pairs that are read together: a task (above) and
     * the client that may take it (below), and the weight.
     */
    private final long[][] rows;

    private final int[] rowLength;
    /** By subtopology, giver and kind the cheapest task that any of the kind may take, and its weight. */
    private final int[] pooled;

    private final long[] pooledWeight;
    /** By task and giver what has turned out not to go through a pool, though it was the cheapest. */
    private final Set<Long> banned = new HashSet<>();

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
        tasks = new int[count][];
        taskCount = new int[count];
        rows = new long[count][];
        rowLength = new int[count];
        pooled = new int[count * clientsOf.length];
        pooledWeight = new long[count * clientsOf.length];
        Arrays.fill(pooledWeight, NEVER);
    }

    /** The clients of a kind, sorted. */
    int[] clientsOf(int kind) {
        return clientsOf[kind];
    }

    int kindCount() {
        return clientsOf.length;
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
        if (tasks[at] == null) {
            tasks[at] = new int[4];
            rows[at] = new long[8];
        } else if (taskCount[at] == tasks[at].length) {
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
        if (rows[at] == null) {
            return; // it has never had any
        }
        rowLength[at] = 0;
        for (int i = 0; i < taskCount[at]; i++) {
            int t = tasks[at][i];
            banned.remove(key(t, giver));
            for (int c : exchange.columns(t)) {
                if (c != giver && exchange.mayTake(t, giver, c)) {
                    addToRow(at, t, c, exchange.measureChange(t, giver, c));
                }
            }
        }
        findPooled(at, giver);
    }

    private void addToRow(int at, int t, int c, long weight) {
        int length = rowLength[at];
        if (length == rows[at].length) {
            rows[at] = Arrays.copyOf(rows[at], 2 * length);
        }
        rows[at][length] = (long) t << Integer.SIZE | c;
        rows[at][length + 1] = weight;
        rowLength[at] += 2;
    }

    private void findPooled(int at, int giver) {
        int kinds = clientsOf.length;
        Arrays.fill(pooledWeight, at * kinds, (at + 1) * kinds, NEVER);
        for (int i = 0; i < taskCount[at]; i++) {
            int t = tasks[at][i];
            if (!banned.isEmpty() && banned.contains(key(t, giver))) {
                continue;
            }
            for (int kind = 0; kind < kinds; kind++) {
                int place = at * kinds + kind;
                int c = findTaker(t, giver, kind);
                long weight = c < 0 ? NEVER : exchange.measureChange(t, giver, c);
                boolean isCheaper = weight < pooledWeight[place]
                        || (weight < NEVER && weight == pooledWeight[place] && t < pooled[place]);
                if (isCheaper) {
                    pooledWeight[place] = weight;
                    pooled[place] = t;
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

    /**
     * Examines what a client may hand over of a subtopology, at the node of both.
     *
     * @param first the node of the first client
     * @param pool the pool of the first kind
     */
    void look(int node, int first, int pool, ExchangeLabels labels) {
        if (taskCount[node] == 0) {
            return; // most have none: this array alone is read of them
        }
        long[] row = rows[node];
        for (int i = 0; i < rowLength[node]; i += 2) {
            labels.look(node, first + (int) row[i], 0, row[i + 1], (int) (row[i] >>> Integer.SIZE));
        }
        for (int kind = 0, at = node * clientsOf.length; kind < clientsOf.length; kind++, at++) {
            if (pooledWeight[at] < NEVER) {
                labels.look(node, pool + kind, 0, pooledWeight[at], pooled[at]);
            }
        }
    }

    /** Whether a client has copies of a subtopology, at the node of both, that it may hand over. */
    boolean hasAny(int node) {
        return taskCount[node] > 0;
    }

    /** How many copies a client that has any may hand over one by one. */
    int count(int node) {
        return rowLength[node] / 2;
    }

    /** The task of one of them. */
    int task(int node, int place) {
        return (int) (rows[node][2 * place] >>> Integer.SIZE);
    }

    /** The client that may have it. */
    int taker(int node, int place) {
        return (int) rows[node][2 * place];
    }

    /** The cheapest task that any client of a kind may take; -1: there is none. */
    int taskForKind(int node, int kind) {
        int at = node * clientsOf.length + kind;
        return pooledWeight[at] < NEVER ? pooled[at] : -1;
    }
}
