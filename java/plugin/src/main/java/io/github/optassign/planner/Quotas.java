package io.github.optassign.planner;

import io.github.optassign.measuring.Windows;
import io.github.optassign.model.Snapshot;
import java.util.function.IntPredicate;

/**
 * How many actives of each subtopology each client should have: the numbers nearest to those that are there which are
 * balanced per client and subtopology, in stateful actives per client and in all actives per client.
 *
 * <p>Such numbers always exist. The exact shares, which may be fractions, are in all windows at once; the windows are
 * bounds of a flow from subtopologies through clients, and a flow within whole bounds can be made of whole numbers.
 */
final class Quotas {
    private Quotas() {}

    /**
     * Finds the quotas.
     *
     * @param count per subtopology and client the number of actives that are there
     * @return per subtopology and client the number of actives that should be there
     */
    static long[][] find(Snapshot snapshot, long[][] count) {
        int clients = snapshot.clientCount();
        boolean[] stateful = new boolean[count.length];
        long[] size = new long[count.length];
        long statefulTasks = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            stateful[snapshot.subtopology(t)] = snapshot.isStateful(t);
            size[snapshot.subtopology(t)]++;
            statefulTasks += snapshot.isStateful(t) ? 1 : 0;
        }
        // Nodes: subtopologies, then per client its stateful, its stateless and all its tasks, then a common end.
        int statefulNode = count.length;
        int statelessNode = statefulNode + clients;
        int allNode = statelessNode + clients;
        Circulation flow = new Circulation(allNode + clients + 1);
        int[][] arcs = new int[count.length][clients];
        for (int g = 0; g < count.length; g++) {
            Windows windows = Windows.of(size[g], 1, snapshot);
            for (int c = 0; c < clients; c++) {
                int to = (stateful[g] ? statefulNode : statelessNode) + c;
                arcs[g][c] = flow.addArc(g, to, windows.low()[c], windows.high()[c], count[g][c]);
            }
        }
        Windows statefulWindows = Windows.of(statefulTasks, 1, snapshot);
        Windows allWindows = Windows.of(snapshot.taskCount(), 1, snapshot);
        for (int c = 0; c < clients; c++) {
            long statefulCount = sum(count, c, g -> stateful[g]);
            long statelessCount = sum(count, c, g -> !stateful[g]);
            int all = allNode + c;
            flow.addSum(
                    statefulNode + c,
                    all,
                    statefulWindows.low()[c],
                    statefulWindows.high()[c],
                    statefulCount);
            flow.addSum(statelessNode + c, all, 0, Long.MAX_VALUE, statelessCount);
            flow.addSum(
                    all, allNode + clients, allWindows.low()[c], allWindows.high()[c], statefulCount + statelessCount);
        }
        if (!flow.repair()) {
            throw new IllegalStateException("no balanced assignment of actives; one always exists");
        }
        long[][] quotas = new long[count.length][clients];
        for (int g = 0; g < count.length; g++) {
            for (int c = 0; c < clients; c++) {
                quotas[g][c] = flow.flow(arcs[g][c]);
            }
        }
        return quotas;
    }

    private static long sum(long[][] count, int c, IntPredicate isWanted) {
        long sum = 0;
        for (int g = 0; g < count.length; g++) {
            sum += isWanted.test(g) ? count[g][c] : 0;
        }
        return sum;
    }
}
