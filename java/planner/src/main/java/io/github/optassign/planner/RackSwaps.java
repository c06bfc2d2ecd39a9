package io.github.optassign.planner;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;

/**
 * Has clients swap planned actives of one subtopology where that reads less across racks. Only tasks without an owner
 * are swapped, and only if it costs no restoring: racks are no reason to move a task here.
 */
final class RackSwaps {

    private RackSwaps() {}

    /**
     * Swaps actives.
     *
     * @param active per task its planned client; changed
     */
    static void swap(Snapshot snapshot, Ranks ranks, RackTraffic traffic, int[] active) {
        long pairs = 0;
        for (int t = 0; t < active.length && traffic.matters(); t++) {
            if (snapshot.owners(t).length > 0) {
                continue;
            }
            int end = snapshot.firstTask(snapshot.subtopology(t) + 1);
            for (int u = snapshot.firstTask(snapshot.subtopology(t)); u < end; u++) {
                pairs++;
                if (pairs > GreedyPolicy.RACK_PAIRS || traffic.crossingsOfActive(t, active[t]) == 0) {
                    break;
                }
                if (u != t && snapshot.owners(u).length == 0 && isBetter(ranks, traffic, active, t, u)) {
                    int other = active[u];
                    active[u] = active[t];
                    active[t] = other;
                }
            }
        }
    }

    private static boolean isBetter(Ranks ranks, RackTraffic traffic, int[] active, int t, int u) {
        int a = active[t];
        int b = active[u];
        boolean isFree = ranks.cost(t, b) <= ranks.cost(t, a)
                && ranks.cost(u, a) <= ranks.cost(u, b)
                && ranks.rank(t, b) <= ranks.rank(t, a)
                && ranks.rank(u, a) <= ranks.rank(u, b);
        int now = traffic.crossingsOfActive(t, a) + traffic.crossingsOfActive(u, b);
        return isFree && traffic.crossingsOfActive(t, b) + traffic.crossingsOfActive(u, a) < now;
    }
}
