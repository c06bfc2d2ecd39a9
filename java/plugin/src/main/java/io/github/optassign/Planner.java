package io.github.optassign;

import java.util.function.IntPredicate;
import java.util.stream.LongStream;

/**
 * Where the fallback wants every copy in the end: actives balanced per client and subtopology, in proportion to
 * threads, by few moves of little state; standbys as evenly as they can be without moving what is in place.
 *
 * <p>A remembered plan that still fits the group is kept (R11): the service's in any case, since it knows goals this
 * class does not, our own unless what is assigned is as good (R7).
 */
final class Planner {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final int[] active;
    private final long[][] count;
    private final long[] total;

    private Planner(Snapshot snapshot, Ranks ranks, Previous previous) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        active = new int[snapshot.taskCount()];
        count = new long[snapshot.subtopologyCount()][snapshot.clientCount()];
        total = new long[snapshot.clientCount()];
    }

    /** The plan for a snapshot with at least one client. */
    static Placement plan(Snapshot snapshot, Ranks ranks, Previous previous) {
        if (previous.plan() != null && !previous.planIsFallbacks()) {
            return previous.plan();
        }
        Placement rest = Rest.placement(snapshot, ranks, previous);
        if (rest != null) {
            return rest;
        }
        if (previous.plan() != null) {
            return previous.plan();
        }
        Planner planner = new Planner(snapshot, ranks, previous);
        planner.startFromOwners();
        planner.takeWhatIsRestored();
        planner.balance();
        return StandbyPlanner.plan(snapshot, ranks, previous, planner.active);
    }

    private void startFromOwners() {
        for (int t = 0; t < active.length; t++) {
            active[t] = -1;
            int owner = previous.owner(t);
            if (owner >= 0 && ranks.of(t, owner) == ranks.least(t)) {
                put(t, owner);
            }
        }
        for (int t = 0; t < active.length; t++) {
            if (active[t] < 0) {
                put(t, leastLoaded(t));
            }
        }
    }

    private void put(int t, int c) {
        active[t] = c;
        count[snapshot.subtopology(t)][c]++;
        total[c]++;
    }

    /**
     * Copies that are restored and waiting where they would mend the balance take over. Without memory this is what
     * makes the next plan agree with the last one; otherwise the group could warm up now this copy, now that one.
     */
    private void takeWhatIsRestored() {
        int[] threads = snapshot.threads();
        Windows all = Windows.of(active.length, 1, threads);
        Windows[] ofSubtopology = new Windows[count.length];
        for (int g = 0; g < count.length; g++) {
            ofSubtopology[g] = Windows.of(LongStream.of(count[g]).sum(), 1, threads);
        }
        for (int t = 0; t < active.length; t++) {
            int g = snapshot.subtopology(t);
            for (int c = 0; c < snapshot.clientCount() && snapshot.logged(t); c++) {
                boolean restored = c != active[t] && snapshot.previousStandby(c).get(t) && ranks.of(t, c) == 0;
                if (restored && ofSubtopology[g].gain(count[g], active[t], c) + all.gain(total, active[t], c) > 0) {
                    move(t, c);
                }
            }
        }
    }

    /** Of the most caught up the one with the fewest tasks of the subtopology per thread, then the fewest tasks. */
    private int leastLoaded(int t) {
        long[] ofSubtopology = count[snapshot.subtopology(t)];
        int best = -1;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (ranks.of(t, c) != ranks.least(t)) {
                continue;
            }
            int order = best < 0 ? -1 : compareLoad(ofSubtopology, c, best);
            if (order < 0 || (order == 0 && compareLoad(total, c, best) < 0)) {
                best = c;
            }
        }
        return best;
    }

    /** Compares loads per thread as they would be with one more task. */
    private int compareLoad(long[] load, int a, int b) {
        return Long.compare((load[a] + 1) * snapshot.threads(b), (load[b] + 1) * snapshot.threads(a));
    }

    /** Moves as few actives as it takes to bring all counts into their windows. */
    private void balance() {
        long[][] quota = quotas();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            for (int g = 0; g < count.length; g++) {
                while (count[g][c] < quota[g][c]) {
                    move(cheapest(g, c, quota[g]), c);
                }
            }
        }
    }

    private void move(int t, int c) {
        int from = active[t];
        count[snapshot.subtopology(t)][from]--;
        total[from]--;
        put(t, c);
    }

    /**
     * Of the tasks that clients over their quota have to give, the cheapest for the taker; of equals the greatest id.
     */
    private int cheapest(int g, int taker, long[] quota) {
        int best = -1;
        for (int t = 0; t < active.length; t++) {
            boolean offered = snapshot.subtopology(t) == g && count[g][active[t]] > quota[active[t]];
            if (offered && (best < 0 || ranks.cost(t, taker) <= ranks.cost(best, taker))) {
                best = t;
            }
        }
        return best;
    }

    /**
     * Per subtopology and client the number of actives nearest to what is there that is balanced per client and
     * subtopology, in stateful and in all actives per client. The shares themselves keep these bounds, so whole numbers
     * do too (integral flow).
     */
    private long[][] quotas() {
        int clients = snapshot.clientCount();
        int[] threads = snapshot.threads();
        boolean[] stateful = new boolean[count.length];
        long[] size = new long[count.length];
        long statefulTasks = 0;
        for (int t = 0; t < active.length; t++) {
            stateful[snapshot.subtopology(t)] = snapshot.stateful(t);
            size[snapshot.subtopology(t)]++;
            statefulTasks += snapshot.stateful(t) ? 1 : 0;
        }
        // Nodes: subtopologies, then per client its stateful, its stateless and all its tasks, then a common end.
        int statefulNode = count.length;
        int statelessNode = statefulNode + clients;
        int allNode = statelessNode + clients;
        Circulation flow = new Circulation(allNode + clients + 1);
        int[][] arcs = new int[count.length][clients];
        for (int g = 0; g < count.length; g++) {
            Windows windows = Windows.of(size[g], 1, threads);
            for (int c = 0; c < clients; c++) {
                int to = (stateful[g] ? statefulNode : statelessNode) + c;
                arcs[g][c] = flow.add(g, to, windows.low()[c], windows.high()[c], count[g][c]);
            }
        }
        Windows statefulWindows = Windows.of(statefulTasks, 1, threads);
        Windows allWindows = Windows.of(active.length, 1, threads);
        for (int c = 0; c < clients; c++) {
            long ofStateful = sum(c, g -> stateful[g]);
            flow.add(
                    statefulNode + c,
                    allNode + c,
                    statefulWindows.low()[c],
                    statefulWindows.high()[c],
                    ofStateful);
            flow.add(statelessNode + c, allNode + c, 0, Long.MAX_VALUE, total[c] - ofStateful);
            flow.add(
                    allNode + c,
                    allNode + clients,
                    allWindows.low()[c],
                    allWindows.high()[c],
                    total[c]);
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

    private long sum(int c, IntPredicate wanted) {
        long sum = 0;
        for (int g = 0; g < count.length; g++) {
            sum += wanted.test(g) ? count[g][c] : 0;
        }
        return sum;
    }
}
