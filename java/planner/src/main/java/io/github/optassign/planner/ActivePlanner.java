package io.github.optassign.planner;

import io.github.optassign.exchange.ActiveExchange;
import io.github.optassign.measuring.Ranks;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;

/**
 * Plans the actives, balanced per client and subtopology in proportion to threads, by few moves of little state.
 *
 * <p>Its passes:
 *
 * <ol>
 *   <li>{@link #keepOwners} leaves tasks with owners that are among the most caught up clients.
 *   <li>{@link #assignOthers} gives the other tasks to the least loaded of their most caught up clients.
 *   <li>{@link #balance} moves as few tasks as it takes to reach the {@link Quotas}, the cheapest first.
 *   <li>{@link ActiveExchange} has clients exchange tasks where less is restored then, or fewer move.
 * </ol>
 */
final class ActivePlanner {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    /** Per task its client so far; -1: none. */
    private final int[] active;
    /** Per subtopology and client the number of actives so far. */
    private final long[][] count;
    /** Per client the number of actives so far. */
    private final long[] total;

    private ActivePlanner(Snapshot snapshot, Ranks ranks, Previous previous) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        active = new int[snapshot.taskCount()];
        Arrays.fill(active, -1);
        count = new long[snapshot.subtopologyCount()][snapshot.clientCount()];
        total = new long[snapshot.clientCount()];
    }

    /**
     * Plans the actives of a snapshot with at least one client.
     *
     * @return per task its client
     */
    static int[] plan(Snapshot snapshot, Ranks ranks, Previous previous) {
        ActivePlanner planner = new ActivePlanner(snapshot, ranks, previous);
        planner.keepOwners();
        planner.assignOthers();
        planner.balance();
        new ActiveExchange(snapshot, ranks, previous, planner.active).run();
        return planner.active;
    }

    private void keepOwners() {
        for (int t = 0; t < active.length; t++) {
            int owner = previous.owner(t);
            if (owner >= 0 && ranks.rank(t, owner) == ranks.leastRank(t)) {
                assign(t, owner);
            }
        }
    }

    private void assignOthers() {
        for (int t = 0; t < active.length; t++) {
            if (active[t] < 0) {
                assign(t, findLeastLoaded(t));
            }
        }
    }

    private void assign(int t, int c) {
        active[t] = c;
        count[snapshot.subtopology(t)][c]++;
        total[c]++;
    }

    private void move(int t, int c) {
        int from = active[t];
        count[snapshot.subtopology(t)][from]--;
        total[from]--;
        assign(t, c);
    }

    /**
     * The most caught up client with the fewest tasks of the subtopology per thread, then the fewest tasks per thread.
     */
    private int findLeastLoaded(int t) {
        int[] known = snapshot.columns(t);
        int other = snapshot.poolClient(t);
        long[] ofSubtopology = count[snapshot.subtopology(t)];
        int best = -1;
        for (int c : known) {
            if (ranks.rank(t, c) == ranks.leastRank(t)) {
                best = findLessLoaded(ofSubtopology, best, c);
            }
        }
        if (other >= 0 && ranks.rank(t, other) == ranks.leastRank(t)) {
            for (int c : snapshot.firstOthers(known, snapshot.clientCount())) {
                best = findLessLoaded(ofSubtopology, best, c);
            }
        }
        return best;
    }

    /** The less loaded of two clients, of equals the first; -1 as one: there is none yet. */
    private int findLessLoaded(long[] ofSubtopology, int a, int b) {
        int order = a < 0 ? 1 : snapshot.compareLoad(ofSubtopology[a], a, ofSubtopology[b], b);
        order = order != 0 ? order : snapshot.compareLoad(total[a], a, total[b], b);
        return order < 0 || (order == 0 && a < b) ? a : b;
    }

    private void balance() {
        long[][] quotas = Quotas.find(snapshot, count);
        for (int c = 0; c < snapshot.clientCount(); c++) {
            for (int g = 0; g < count.length; g++) {
                while (count[g][c] < quotas[g][c]) {
                    move(findCheapest(g, c, quotas[g]), c);
                }
            }
        }
    }

    /**
     * The cheapest task for the taker among those of clients over their quota; of equals the one of the greatest id.
     */
    private int findCheapest(int g, int taker, long[] quota) {
        int best = -1;
        for (int t = snapshot.firstTask(g); t < snapshot.firstTask(g + 1); t++) {
            boolean offered = count[g][active[t]] > quota[active[t]];
            if (offered && (best < 0 || ranks.cost(t, taker) <= ranks.cost(best, taker))) {
                best = t;
            }
        }
        return best;
    }
}
