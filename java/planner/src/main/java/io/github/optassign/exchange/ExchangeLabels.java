package io.github.optassign.exchange;

/**
 * The shortest ways that an {@link Exchange} has found so far, by their last nodes, and the nodes whose ways onwards
 * are to be looked at.
 */
final class ExchangeLabels {
    private static final int IMBALANCE = 0;
    private static final int WEIGHT = 1;
    private static final int CAME = 2;
    private static final int FIELDS = 3;

    /**
     * Per node, next to each other since they are read together: what the way to it adds to the imbalance, what the
     * copies weigh that it hands over, and by what it was reached: a node and a task, each plus one, 0: none.
     */
    private final long[] fields;

    /** Nodes whose ways onwards are to be looked at, in this round and in the next. */
    private int[] round;

    private int[] next;
    private int nextSize;
    private final boolean[] isNext;
    private long looks;

    ExchangeLabels(int nodes) {
        fields = new long[FIELDS * nodes];
        round = new int[nodes];
        next = new int[nodes];
        isNext = new boolean[nodes];
    }

    int nodeCount() {
        return isNext.length;
    }

    /** How many arcs have been examined. */
    long looks() {
        return looks;
    }

    /** The node before a node on the way to it; -1: none. */
    int cameFrom(int node) {
        return (int) (fields[FIELDS * node + CAME] >>> Integer.SIZE) - 1;
    }

    /** The task of the arc by which a node was reached; -1: it hands no task over. */
    int cameWith(int node) {
        return (int) fields[FIELDS * node + CAME] - 1;
    }

    /** Whether a way shorter than none has come to a node. */
    boolean isReached(int node) {
        return fields[FIELDS * node + IMBALANCE] != 0 || fields[FIELDS * node + WEIGHT] != 0;
    }

    void forgetWay(int node) {
        fields[FIELDS * node + CAME] = 0;
    }

    void forgetWays() {
        for (int at = CAME; at < fields.length; at += FIELDS) {
            fields[at] = 0;
        }
    }

    /** Begins a round; returns its nodes, of which there are as many as {@link #nextSize} said before. */
    int[] beginRound() {
        int[] now = next;
        next = round;
        round = now;
        for (int i = 0; i < nextSize; i++) {
            isNext[now[i]] = false;
        }
        nextSize = 0;
        return now;
    }

    /** How many nodes the next round has. */
    int nextSize() {
        return nextSize;
    }

    /** A node of the next round. */
    int next(int place) {
        return next[place];
    }

    /** Takes a node into the next round. */
    void note(int node) {
        if (!isNext[node]) {
            isNext[node] = true;
            next[nextSize++] = node;
        }
    }

    /**
     * Examines an arc.
     *
     * @param rise what it adds to the imbalance
     * @param weight what the copy weighs that it hands over
     * @param task that copy's; -1: none
     */
    void look(int from, int to, long rise, long weight, int task) {
        looks++;
        int at = FIELDS * to;
        long far = fields[FIELDS * from + IMBALANCE] + rise;
        if (far > fields[at + IMBALANCE]) {
            return;
        }
        long way = fields[FIELDS * from + WEIGHT] + weight;
        if (far < fields[at + IMBALANCE] || way < fields[at + WEIGHT]) {
            fields[at + IMBALANCE] = far;
            fields[at + WEIGHT] = way;
            fields[at + CAME] = (from + 1L) << Integer.SIZE | (task + 1L);
            note(to);
        }
    }
}
