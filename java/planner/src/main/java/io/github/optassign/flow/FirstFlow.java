package io.github.optassign.flow;

import java.util.Arrays;
import java.util.Comparator;

/**
 * A heuristic for an initial flow, by augmenting paths from supply to demand. Units first follow, at each node, the
 * cheapest arc that has room. Later paths also take flow back, so that in the end all supply that has a route is sent
 * (Ahuja, Magnanti, Orlin, Network Flows, ch. 6). Which flow is taken back does not depend on costs.
 */
final class FirstFlow {
    private final int[] source;
    private final int[] target;
    private final long[] capacity;
    private final long[] flow;
    /** For each node its outgoing arcs, sorted by cost, then the complement {@code ~arc} of its incoming arcs. */
    private final int[] order;

    /** The index in {@link #order} of each node's first outgoing arc. */
    private final int[] start;
    /** The index in {@link #order} of each node's first incoming arc. */
    private final int[] startOfIncoming;
    /** The index in {@link #order} of the arc that each node tries next. */
    private int[] next;
    /** Whether each node is on the current path, or has no path to a demand. */
    private boolean[] isClosed;

    /** The arcs, or complements of arcs, of the current path. */
    private final int[] path;
    /** The number of arcs examined so far. */
    private long work;

    /** Creates a heuristic that adds to the flow of a network; at each node, the cheapest arcs are tried first. */
    FirstFlow(MinCostFlow network) {
        int nodes = network.nodes;
        int arcs = network.arcs;
        source = network.source;
        target = network.target;
        capacity = network.capacity;
        flow = network.flow;
        start = new int[nodes + 1];
        for (int arc = 0; arc < arcs; arc++) {
            start[source[arc] + 1]++;
            start[target[arc] + 1]++;
        }
        for (int node = 0; node < nodes; node++) {
            start[node + 1] += start[node];
        }
        order = new int[2 * arcs];
        int[] end = Arrays.copyOf(start, nodes);
        for (int arc = 0; arc < arcs; arc++) {
            order[end[source[arc]]++] = arc;
        }
        startOfIncoming = end.clone();
        for (int arc = 0; arc < arcs; arc++) {
            order[end[target[arc]]++] = ~arc;
        }
        for (int node = 0; node < nodes; node++) {
            sort(start[node], startOfIncoming[node], network::compare);
        }
        path = new int[nodes + 1];
    }

    /** Sorts the arcs in {@link #order} from index {@code from}, inclusive, to {@code to}, exclusive. */
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

    /**
     * Sends supply to demand, until no supply has a route.
     *
     * @param missing each node's remaining supply (above 0) or demand (below 0)
     * @param mostWork the greatest number of arcs to examine; beyond it, supply with a route may remain
     * @return the number of examined arcs
     */
    long send(long[] missing, long mostWork) {
        boolean isOpen = sendInOneRound(missing, false, mostWork);
        while (isOpen) {
            isOpen = sendInOneRound(missing, true, mostWork);
        }
        return work;
    }

    /**
     * Returns a forest in which each node can send a unit to the root of its tree, by arcs with room or by taking flow
     * back. No node can reach a tree whose root has a greater number than its own root.
     */
    Tree makeTree() {
        int nodes = start.length - 1;
        Tree tree = new Tree(nodes);
        boolean[] isReached = new boolean[nodes];
        int[] queue = new int[nodes];
        for (int root = nodes - 1; root >= 0; root--) {
            int length = 0;
            if (!isReached[root]) {
                isReached[root] = true;
                queue[length++] = root;
            }
            for (int i = 0; i < length; i++) {
                int node = queue[i];
                for (int j = start[node]; j < start[node + 1]; j++) {
                    int child = head(order[j]);
                    if (!isReached[child] && room(~order[j]) > 0) {
                        isReached[child] = true;
                        tree.attach(child, node, order[j] < 0 ? ~order[j] : order[j]);
                        queue[length++] = child;
                    }
                }
            }
        }
        return tree;
    }

    /**
     * Augments along paths, giving up each arc at most once. Returns whether another round may send supply: some was
     * sent, some is left, and so is work.
     */
    private boolean sendInOneRound(long[] missing, boolean mayTakeBack, long mostWork) {
        next = Arrays.copyOf(start, missing.length);
        isClosed = new boolean[missing.length];
        boolean isSent = false;
        boolean isLeft = false;
        work += order.length;
        for (int node = 0; node < missing.length && work < mostWork; node++) {
            while (missing[node] > 0 && work < mostWork && augment(node, missing, mayTakeBack)) {
                isSent = true;
            }
            isLeft |= missing[node] > 0;
        }
        return isSent && isLeft && work < mostWork;
    }

    /** Augments the flow along one path from a node. Returns false if the node has no path to a demand. */
    private boolean augment(int from, long[] missing, boolean mayTakeBack) {
        int length = 0;
        int node = from;
        isClosed[from] = true;
        while (missing[node] >= 0) {
            int i = findNext(node, mayTakeBack);
            if (i >= 0) {
                path[length++] = order[i];
                node = head(order[i]);
                isClosed[node] = true;
            } else if (length == 0) {
                return false;
            } else {
                length--;
                node = length == 0 ? from : head(path[length - 1]);
            }
        }
        work += length;
        long units = Math.min(missing[from], -missing[node]);
        for (int i = 0; i < length; i++) {
            units = Math.min(units, room(path[i]));
        }
        missing[from] -= units;
        missing[node] += units;
        isClosed[from] = false;
        for (int i = 0; i < length; i++) {
            flow[path[i] < 0 ? ~path[i] : path[i]] += path[i] < 0 ? -units : units;
            isClosed[head(path[i])] = false;
        }
        return true;
    }

    /** Returns the index of a node's next arc that has room and leads to a node that is not closed; -1 if none does. */
    private int findNext(int node, boolean mayTakeBack) {
        int end = mayTakeBack ? start[node + 1] : startOfIncoming[node];
        for (; next[node] < end; next[node]++) {
            int arc = order[next[node]];
            if (room(arc) > 0 && !isClosed[head(arc)]) {
                return next[node];
            }
        }
        return -1;
    }

    /** Returns the node that an arc, or the complement of an arc, leads to. */
    private int head(int arc) {
        return arc < 0 ? source[~arc] : target[arc];
    }

    /** Returns the flow that an arc can still take; for the complement of an arc, the flow that can be taken back. */
    private long room(int arc) {
        return arc < 0 ? flow[~arc] : capacity[arc] - flow[arc];
    }
}
