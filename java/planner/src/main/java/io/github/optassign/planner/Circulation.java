package io.github.optassign.planner;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Brings a flow inside its bounds by few changes, as the out-of-kilter method does. The inflow of a node, less its
 * outflow, stays as it is at the start.
 *
 * <p>While an arc is out of its bounds, one unit is sent round a cycle that contains it and takes no arc further out of
 * its bounds. If any flow keeps all bounds, such a cycle exists, so this ends with all of them kept. Among such cycles
 * it takes one that changes the fewest arcs within their bounds: repairing another arc on the way costs nothing, nor
 * does changing a sum. Ties are broken by the order of arcs.
 */
final class Circulation {
    private final List<List<Integer>> arcsAt = new ArrayList<>();
    private final List<long[]> arcs = new ArrayList<>();
    private static final int FROM = 0;
    private static final int TO = 1;
    private static final int LOW = 2;
    private static final int HIGH = 3;
    private static final int FLOW = 4;
    private static final int COST = 5;

    Circulation(int nodes) {
        for (int node = 0; node < nodes; node++) {
            arcsAt.add(new ArrayList<>());
        }
    }

    /** Adds an arc with its bounds, both included, and the flow that it has at the start; returns its number. */
    int addArc(int from, int to, long low, long high, long flow) {
        return addArc(from, to, low, high, flow, 1);
    }

    /** Adds an arc that may be changed for nothing: it only sums up others. */
    int addSum(int from, int to, long low, long high, long flow) {
        return addArc(from, to, low, high, flow, 0);
    }

    private int addArc(int from, int to, long low, long high, long flow, int cost) {
        int arc = arcs.size();
        arcs.add(new long[] {from, to, low, high, flow, cost});
        arcsAt.get(from).add(arc);
        arcsAt.get(to).add(arc);
        return arc;
    }

    long flow(int arc) {
        return arcs.get(arc)[FLOW];
    }

    /** Brings the flow inside all bounds; returns false if no flow keeps them all. */
    boolean repair() {
        for (int arc = 0; arc < arcs.size(); arc++) {
            long[] at = arcs.get(arc);
            while (at[FLOW] > at[HIGH]) {
                if (!send(arc, (int) at[FROM], (int) at[TO])) {
                    return false;
                }
                at[FLOW]--;
            }
            while (at[FLOW] < at[LOW]) {
                if (!send(arc, (int) at[TO], (int) at[FROM])) {
                    return false;
                }
                at[FLOW]++;
            }
        }
        return true;
    }

    /** Sends one more unit from one node to another on the cheapest way without a certain arc; false: there is none. */
    private boolean send(int avoided, int from, int to) {
        int[] cost = new int[arcsAt.size()];
        int[] cameBy = new int[arcsAt.size()];
        boolean[] done = new boolean[arcsAt.size()];
        Arrays.fill(cost, Integer.MAX_VALUE);
        cost[from] = 0;
        ArrayDeque<Integer> reached =
                new ArrayDeque<>(List.of(from)); // what costs nothing goes to its front, what costs 1 to its end
        while (!reached.isEmpty() && !done[to]) {
            int node = reached.poll();
            if (done[node]) {
                continue;
            }
            done[node] = true;
            for (int arc : arcsAt.get(node)) {
                long[] at = arcs.get(arc);
                boolean forward = at[FROM] == node;
                int next = (int) (forward ? at[TO] : at[FROM]);
                boolean room = forward ? at[FLOW] < at[HIGH] : at[FLOW] > at[LOW];
                boolean mends = forward ? at[FLOW] < at[LOW] : at[FLOW] > at[HIGH];
                int more = mends ? 0 : (int) at[COST];
                if (arc != avoided && room && cost[node] + more < cost[next]) {
                    cost[next] = cost[node] + more;
                    cameBy[next] = arc;
                    if (more == 0) {
                        reached.addFirst(next);
                    } else {
                        reached.addLast(next);
                    }
                }
            }
        }
        if (!done[to]) {
            return false;
        }
        for (int node = to; node != from; ) {
            long[] at = arcs.get(cameBy[node]);
            boolean forward = at[TO] == node;
            at[FLOW] += forward ? 1 : -1;
            node = (int) (forward ? at[FROM] : at[TO]);
        }
        return true;
    }
}
