package io.github.optassign.step;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.policy.GreedyPolicy;

/**
 * Offload as a minimum-cost flow from tasks to clients. An excess active costs its seconds, each move its price. Units
 * of tasks that may go to any client pass a pool.
 */
final class OffloadFlow {
    private final OffloadOptions options;
    private final int[] active;
    private final MinCostFlow flow = new MinCostFlow();
    private final int firstClient;
    private final int pool;
    private final int sink;
    /** Per client its arc from the pool. */
    private final int[] fromPool;

    private OffloadFlow(OffloadOptions options, int[] active, int clients) {
        this.options = options;
        this.active = active;
        firstClient = flow.addNodes(clients);
        pool = flow.addNodes(1);
        sink = flow.addNodes(1);
        fromPool = new int[clients];
    }

    /**
     * Chooses the clients.
     *
     * @param active per task its client without offload
     * @param room per client how many more actives it may have; below 0 if it has too many
     * @param price the cost of an excess active
     * @return per task its client
     */
    static int[] choose(OffloadOptions options, int[] active, long[] room, long price) {
        return new OffloadFlow(options, active, room.length).run(room.clone(), price);
    }

    private int[] run(long[] free, long price) {
        int[][] arcs = new int[active.length][];
        int[] toPool = new int[active.length];
        for (int t = 0; t < active.length; t++) {
            arcs[t] = new int[options.clients(t).length];
            if (arcs[t].length > 0 || options.isPooled(t)) {
                free[active[t]]++;
                addTask(t, arcs[t], toPool);
            }
        }
        for (int c = 0; c < free.length; c++) {
            fromPool[c] = flow.addArc(pool, firstClient + c, 0, Integer.MAX_VALUE, 0);
            addRoom(c, free[c], price);
        }
        flow.solve(GreedyPolicy.FLOW_WORK);
        int[] chosen = active.clone();
        int[] taken = new int[free.length];
        int next = 0;
        for (int t = 0; t < active.length; t++) {
            for (int i = 0; i < arcs[t].length; i++) {
                chosen[t] = flow.flow(arcs[t][i]) > 0 ? options.clients(t)[i] : chosen[t];
            }
            if (options.isPooled(t) && flow.flow(toPool[t]) > 0) {
                while (flow.flow(fromPool[next]) == taken[next]) {
                    next++;
                }
                chosen[t] = next;
                taken[next]++;
            }
        }
        return chosen;
    }

    private void addTask(int t, int[] arcs, int[] toPool) {
        int node = flow.addNode(1);
        flow.addSupply(sink, -1);
        for (int i = 0; i < arcs.length; i++) {
            int c = options.clients(t)[i];
            arcs[i] = flow.addArc(node, firstClient + c, 0, 1, options.weigh(t, c));
        }
        if (options.isPooled(t)) {
            toPool[t] = flow.addArc(node, pool, 0, 1, options.weighPool(t));
        }
    }

    /**
     * Adds the room of a client in layers of rising cost, so that clients fill evenly, and excess actives beyond it.
     */
    private void addRoom(int c, long free, long price) {
        long below = 0;
        for (int layer = 0; layer < GreedyPolicy.OFFLOAD_LAYERS && free > 0; layer++) {
            long upTo = free * (layer + 1) / GreedyPolicy.OFFLOAD_LAYERS;
            flow.addArc(firstClient + c, sink, 0, upTo - below, layer);
            below = upTo;
        }
        flow.addArc(firstClient + c, sink, 0, Integer.MAX_VALUE, price);
    }
}
