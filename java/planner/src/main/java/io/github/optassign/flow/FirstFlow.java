package io.github.optassign.flow;

import java.util.Arrays;
import java.util.Comparator;

/**
 * A greedy heuristic for an initial flow. Units follow, at each node, the cheapest arc that has room, from supply to
 * demand. Flow is never taken back, so units without such a path stay at their node.
 */
final class FirstFlow {
    private final int[] target;
    private final long[] capacity;
    private final long[] flow;
    /** The arcs, sorted by source; arcs of one source are sorted by cost. */
    private final int[] order;

    /** The index in {@link #order} of each node's first arc. */
    private final int[] start;
    /** The index in {@link #order} of the arc that each node tries next. */
    private final int[] next;
    /** Whether each node is on the current path, or has no path to a demand. */
    private final boolean[] isClosed;

    private final int[] path;

    /** Creates a heuristic that adds to {@code flow}; at each node, arcs are tried in the given order. */
    FirstFlow(
            int nodes,
            int arcs,
            int[] source,
            int[] target,
            long[] capacity,
            long[] flow,
            Comparator<Integer> cheapestFirst) {
        this.target = target;
        this.capacity = capacity;
        this.flow = flow;
        start = new int[nodes + 1];
        for (int arc = 0; arc < arcs; arc++) {
            start[source[arc] + 1]++;
        }
        for (int node = 0; node < nodes; node++) {
            start[node + 1] += start[node];
        }
        next = Arrays.copyOf(start, nodes);
        order = new int[arcs];
        for (int arc = 0; arc < arcs; arc++) {
            order[next[source[arc]]++] = arc;
        }
        for (int node = 0; node < nodes; node++) {
            next[node] = start[node];
            sort(start[node], start[node + 1], cheapestFirst);
        }
        isClosed = new boolean[nodes];
        path = new int[nodes + 1];
    }

    private void sort(int from, int to, Comparator<Integer> cheapestFirst) {
        boolean isSorted = true;
        for (int i = from + 1; i < to && isSorted; i++) {
            isSorted = cheapestFirst.compare(order[i - 1], order[i]) <= 0;
        }
        if (!isSorted) {
            Integer[] sorted = Arrays.stream(order, from, to).boxed().toArray(Integer[]::new);
            Arrays.sort(sorted, cheapestFirst);
            for (int i = from; i < to; i++) {
                order[i] = sorted[i - from];
            }
        }
    }

    /** Sends supply to demand; {@code missing} is each node's remaining supply (above 0) or demand (below 0). */
    void send(long[] missing) {
        for (int node = 0; node < missing.length; node++) {
            while (missing[node] > 0 && send(node, missing)) {
                // each call augments along one path
            }
        }
    }

    /** Augments the flow along one path from a node. Returns false if the node has no path to a demand. */
    private boolean send(int from, long[] missing) {
        int length = 0;
        int node = from;
        isClosed[from] = true;
        while (missing[node] >= 0) {
            int arc = findArc(node);
            if (arc >= 0) {
                path[length++] = arc;
                node = target[arc];
                isClosed[node] = true;
            } else if (length == 0) {
                return false;
            } else {
                length--;
                node = length == 0 ? from : target[path[length - 1]];
            }
        }
        long units = Math.min(missing[from], -missing[node]);
        for (int i = 0; i < length; i++) {
            units = Math.min(units, capacity[path[i]] - flow[path[i]]);
        }
        missing[from] -= units;
        missing[node] += units;
        isClosed[from] = false;
        for (int i = 0; i < length; i++) {
            flow[path[i]] += units;
            isClosed[target[path[i]]] = false;
        }
        return true;
    }

    private int findArc(int node) {
        for (; next[node] < start[node + 1]; next[node]++) {
            int arc = order[next[node]];
            if (flow[arc] < capacity[arc] && !isClosed[target[arc]]) {
                return arc;
            }
        }
        return -1;
    }
}
