package io.github.optassign.planner;

import io.github.optassign.measuring.Windows;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Has clients exchange copies of one role where that makes a plan cheaper and takes no count out of its window: along
 * circles of clients, each of which gives a copy and gets another, and along chains whose ends have room.
 *
 * <p>It cancels negative circles of a flow (Klein): nodes are the counts that have windows, and an arc between two
 * clients of a subtopology is the copy that is cheapest to take over. No simple circle comes to a node twice, so each
 * count changes by at most one. The circles that one pass of Bellman and Ford finds have no node in common, and are
 * taken together. Where nothing is negative any more, the copies are where they cost least. Large groups have too many
 * arcs for that: they keep what they have.
 */
abstract class Exchange {
    /** Subtopologies times clients times clients, beyond which nothing is exchanged. */
    private static final long MOST_ARCS = 300_000;
    /** Arcs that are looked at; what has been found by then stays. */
    private static final long MOST_LOOKS = 6_000_000;

    private static final long NEVER = Long.MAX_VALUE / 4;

    private final Snapshot snapshot;
    private final int clients;
    private final int subtopologies;
    private final Counts counts;
    /** By (subtopology, giver, taker) the weight of the cheapest copy, and its task. */
    private final long[] weight;

    private final int[] task;
    private final long[] distance;
    private final int[] cameFrom;
    private long looks;
    private boolean shorter;

    /**
     * The windows, and what is counted in them.
     *
     * @param windows per subtopology, of a client's copies of its tasks
     * @param in per subtopology and client the copies of its tasks
     * @param special per subtopology whether its copies are counted in ofSpecial too
     * @param ofSpecial of a client's copies of such tasks; null: no subtopology is special
     * @param inSpecial per client the copies of such tasks
     * @param ofAll of all of a client's copies
     * @param inAll per client all of its copies
     */
    record Counts(
            Windows[] windows,
            long[][] in,
            boolean[] special,
            Windows ofSpecial,
            long[] inSpecial,
            Windows ofAll,
            long[] inAll) {}

    /** Looks at a plan whose counts are in their windows, or out of them as little as can be. */
    Exchange(Snapshot snapshot, Counts counts) {
        this.snapshot = snapshot;
        this.counts = counts;
        clients = snapshot.clientCount();
        subtopologies = counts.in.length;
        boolean isTooLarge = (long) subtopologies * clients * clients > MOST_ARCS;
        int arcs = isTooLarge ? 0 : subtopologies * clients * clients;
        weight = new long[arcs];
        task = new int[arcs];
        int nodes = isTooLarge ? 0 : (subtopologies + 3) * clients + 1;
        distance = new long[nodes];
        cameFrom = new int[nodes];
    }

    /** The clients that have a copy of the role of a task, which may be given away. */
    abstract int[] givers(int t);

    /** The weight of having a copy of a task on another client instead; {@link #mayTake} says where it may be. */
    abstract long measureChange(int t, int from, int to);

    /** Whether a client may have the copy instead of another. */
    abstract boolean mayTake(int t, int from, int to);

    /** Moves a copy; the counts are brought up to date by this class. */
    abstract void move(int t, int from, int to);

    /** Exchanges copies while that is cheaper. */
    final void run() {
        if (weight.length == 0) {
            return;
        }
        for (int g = 0; g < subtopologies; g++) {
            findArcs(g, -1);
        }
        boolean cheaper = true;
        while (cheaper) {
            Arrays.fill(distance, 0);
            Arrays.fill(cameFrom, -1);
            shorter = true;
            cheaper = false;
            while (shorter && !cheaper && looks < MOST_LOOKS) {
                shorter = false;
                relax();
                cheaper = takeCircles();
            }
        }
    }

    /** Finds the cheapest copies of a subtopology that may be given, by one client or, where that is -1, by each. */
    private void findArcs(int g, int from) {
        int first = (g * clients + Math.max(from, 0)) * clients;
        Arrays.fill(weight, first, from < 0 ? first + clients * clients : first + clients, NEVER);
        for (int t = snapshot.firstTask(g); t < snapshot.firstTask(g + 1); t++) {
            for (int a : givers(t)) {
                if (from >= 0 && a != from) {
                    continue;
                }
                int row = (g * clients + a) * clients;
                for (int b = 0; b < clients; b++) {
                    if (b != a && mayTake(t, a, b)) {
                        long more = measureChange(t, a, b);
                        if (more < weight[row + b]) {
                            weight[row + b] = more;
                            task[row + b] = t;
                        }
                    }
                }
            }
        }
    }

    private int common(int c) {
        return (subtopologies + 2) * clients + c;
    }

    private int kind(boolean isSpecial, int c) {
        return (subtopologies + (isSpecial ? 0 : 1)) * clients + c;
    }

    private void relax() {
        for (int g = 0; g < subtopologies; g++) {
            for (int a = 0; a < clients; a++) {
                long at = distance[g * clients + a];
                int row = (g * clients + a) * clients;
                for (int b = 0; b < clients; b++) {
                    if (weight[row + b] < NEVER) {
                        look(g * clients + a, g * clients + b, at + weight[row + b]);
                    }
                }
            }
        }
        looks += weight.length;
        // What a client has got for good, node by node, from its subtopology to all of its copies; and what it gives.
        for (int c = 0; c < clients; c++) {
            for (int g = 0; g < subtopologies; g++) {
                pass(g * clients + c, kind(counts.special[g], c), counts.windows[g], counts.in[g], c);
            }
            if (counts.ofSpecial != null) {
                pass(kind(true, c), common(c), counts.ofSpecial, counts.inSpecial, c);
            }
            look(kind(false, c), common(c), distance[kind(false, c)]);
            look(common(c), kind(false, c), distance[common(c)]);
            pass(common(c), distance.length - 1, counts.ofAll, counts.inAll, c);
        }
    }

    /** Looks whether a count may rise, which leads up, and whether it may fall, which leads down. */
    private void pass(int low, int high, Windows window, long[] count, int c) {
        if (count[c] < window.high()[c]) {
            look(low, high, distance[low]);
        }
        if (count[c] > window.low()[c]) {
            look(high, low, distance[high]);
        }
    }

    private void look(int from, int to, long way) {
        if (way < distance[to]) {
            distance[to] = way;
            cameFrom[to] = from;
            shorter = true;
        }
    }

    /** Takes all circles of the shortest ways; false: there is none yet. */
    private boolean takeCircles() {
        int[] seen = new int[cameFrom.length];
        boolean any = false;
        for (int start = 0; start < seen.length; start++) {
            int node = start;
            while (node >= 0 && seen[node] == 0) {
                seen[node] = start + 1;
                node = cameFrom[node];
            }
            if (node >= 0 && seen[node] == start + 1) {
                any |= takeCircle(node);
            }
        }
        return any;
    }

    private boolean takeCircle(int start) {
        int end = subtopologies * clients;
        List<int[]> taken = new ArrayList<>();
        long sum = 0;
        int node = start;
        do {
            int from = cameFrom[node];
            if (node < end && from < end) {
                int arc = from * clients + node % clients;
                int[] next = {task[arc], from % clients, node % clients};
                // A circle before this one may have changed what is there to be given.
                if (!isStill(next, weight[arc]) || taken.stream().anyMatch(other -> other[0] == next[0])) {
                    return false;
                }
                taken.add(next);
                sum += weight[arc];
            }
            node = from;
        } while (node != start);
        if (sum >= 0) {
            return false;
        }
        for (int[] each : taken) {
            move(each[0], each[1], each[2]);
            count(snapshot.subtopology(each[0]), each[1], -1);
            count(snapshot.subtopology(each[0]), each[2], 1);
        }
        for (int[] each : taken) {
            int g = snapshot.subtopology(each[0]);
            findArcs(g, each[1]);
            for (int c : givers(each[0])) {
                findArcs(g, c);
            }
        }
        return true;
    }

    /** Whether a task may still be handed from one client to another, at the same weight. */
    private boolean isStill(int[] step, long expected) {
        boolean has = false;
        for (int c : givers(step[0])) {
            has |= c == step[1];
        }
        return has && mayTake(step[0], step[1], step[2]) && measureChange(step[0], step[1], step[2]) == expected;
    }

    private void count(int g, int c, int more) {
        counts.in[g][c] += more;
        counts.inAll[c] += more;
        if (counts.ofSpecial != null && counts.special[g]) {
            counts.inSpecial[c] += more;
        }
    }
}
