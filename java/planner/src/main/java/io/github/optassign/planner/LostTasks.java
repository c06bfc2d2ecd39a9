package io.github.optassign.planner;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Spreads the planned actives of tasks of which nobody has any state (docs/rules.md, "Lost tasks"): each is down until
 * it is restored, and copies on one disk share its rate. So they exchange places with other planned actives of their
 * subtopology that are not there yet either, but run elsewhere meanwhile. Every count and every cost stays as it is.
 */
final class LostTasks {
    /** Turns over all lost tasks; the first does nearly all. */
    private static final int ROUNDS = 4;
    /** As a share of the time that it was: sums of fractions are not exact. */
    private static final double LEAST_GAIN = 1e-6;
    /** Pairs of tasks that are looked at; what has been found by then stays. */
    private static final long MOST_PAIRS = 5_000_000;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final double[] perSecond;
    /** Those whose planned active begins with nothing, as all others would, and that nobody has more of. */
    private final int[] lost;
    /** Per subtopology the others whose planned active begins with nothing. */
    private final int[][] elsewhere;

    private long pairs;

    private LostTasks(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, double[] perSecond) {
        this.snapshot = snapshot;
        this.previous = previous;
        this.ranks = ranks;
        this.plan = plan;
        this.perSecond = perSecond;
        lost = IntStream.range(0, snapshot.taskCount())
                .filter(t -> isCold(t) && isLost(t))
                .boxed()
                .sorted(Comparator.comparingLong((Integer t) -> -measureChangelog(t)))
                .mapToInt(t -> t)
                .toArray();
        elsewhere = new int[snapshot.subtopologyCount()][];
        for (int g = 0; g < elsewhere.length && lost.length > 0; g++) {
            elsewhere[g] = IntStream.range(snapshot.firstTask(g), snapshot.firstTask(g + 1))
                    .filter(t -> isCold(t) && !isLost(t))
                    .toArray();
        }
    }

    /**
     * Has lost tasks of a plan exchange places while they are down for less time then, all taken together.
     *
     * @param plan changed
     * @param perSecond per client the offsets that it restores; null: not known, they are taken to be alike
     */
    static void spread(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, double[] perSecond) {
        LostTasks tasks = new LostTasks(snapshot, ranks, previous, plan, perSecond);
        boolean moved = tasks.lost.length > 0;
        for (int round = 0; round < ROUNDS && moved; round++) {
            moved = false;
            for (int t : tasks.lost) {
                moved |= tasks.exchange(t);
            }
        }
    }

    private boolean isCold(int t) {
        int other = snapshot.poolClient(t);
        return snapshot.isLogged(t) && other >= 0 && ranks.rank(t, other) > 0 && isInPool(t, plan.active()[t]);
    }

    private boolean isInPool(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0;
    }

    private boolean isLost(int t) {
        return previous.owner(t) < 0 && ranks.leastRank(t) == ranks.rank(t, snapshot.poolClient(t));
    }

    private long measureChangelog(int t) {
        return ranks.offsets(t, snapshot.poolClient(t));
    }

    private boolean exchange(int t) {
        int here = plan.active()[t];
        double[] seconds = null;
        int best = -1;
        for (int other : elsewhere[snapshot.subtopology(t)]) {
            int there = plan.active()[other];
            if (++pairs > MOST_PAIRS || there == here || !mayHave(t, there) || !mayHave(other, here)) {
                continue;
            }
            seconds = seconds == null ? measureSeconds(t) : seconds;
            best = best < 0 || seconds[there] < seconds[plan.active()[best]] ? other : best;
        }
        if (best < 0 || seconds[plan.active()[best]] >= seconds[here] * (1 - LEAST_GAIN)) {
            return false;
        }
        plan.active()[t] = plan.active()[best];
        plan.active()[best] = here;
        return true;
    }

    /** Whether it would begin with nothing there as well, and no standby is in the way. */
    private boolean mayHave(int t, int c) {
        return isInPool(t, c) && !plan.hasStandby(t, c);
    }

    /**
     * Per client how long all lost tasks together are down for a task's sake if it is planned there: copies that
     * restore at equal shares keep each other waiting by the lesser of both, twice, once each.
     */
    private double[] measureSeconds(int t) {
        long own = measureChangelog(t);
        double[] seconds = new double[snapshot.clientCount()];
        Arrays.fill(seconds, own);
        for (int other : lost) {
            if (other != t) {
                seconds[plan.active()[other]] += 2.0 * Math.min(measureChangelog(other), own);
            }
        }
        for (int c = 0; c < seconds.length && perSecond != null; c++) {
            seconds[c] /= perSecond[c];
        }
        pairs += lost.length;
        return seconds;
    }
}
