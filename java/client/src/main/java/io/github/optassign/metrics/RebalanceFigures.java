package io.github.optassign.metrics;

import io.github.optassign.model.Measures;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * One rebalance in numbers.
 *
 * @param source who answered
 * @param failed whether the service or the shadow assignor should have answered
 * @param measures what moves, what has to be restored, how far actives are from balance
 * @param state how the answer leaves the group
 * @param followupMs delay of the follow-up rebalance, ms; -1: none
 * @param targetMs how long it is likely to be until the target assignment is reached, ms; -1: not known
 */
public record RebalanceFigures(
        Source source, boolean failed, Measures measures, State state, long followupMs, long targetMs) {
    /** Who can answer. */
    public enum Source {
        /** The service. */
        SERVICE,
        /** The planner, as there is no service. */
        PLANNER,
        /** The planner, in place of the service. */
        FALLBACK,
        /** The assignor that runs the group in shadow mode. */
        SHADOW
    }

    /**
     * How an answer leaves the group.
     *
     * @param tasks how many tasks there are
     * @param clients how many clients there are
     * @param warmupLag offsets that warm-ups have to replay
     * @param standbysWanted standbys of all tasks with a changelog
     * @param standbysCaughtUp of these, standbys that are caught up
     * @param loadMost the most active tasks per thread and capacity, of the clients that stay
     * @param loadLeast the fewest, likewise
     */
    public record State(
            int tasks,
            int clients,
            long warmupLag,
            long standbysWanted,
            long standbysCaughtUp,
            double loadMost,
            double loadLeast) {
        /** A thread of normal capacity, in the unit of {@link Snapshot#size}. */
        private static final double THREAD = 1_000_000;

        private static State of(Snapshot snapshot, Placement placement) {
            Ranks ranks = new Ranks(snapshot);
            long lag = 0;
            long wanted = 0;
            long caughtUp = 0;
            long[] actives = new long[snapshot.clientCount()];
            for (int t = 0; t < snapshot.taskCount(); t++) {
                actives[placement.active()[t]]++;
                for (int c : placement.warmup()[t]) {
                    lag += ranks.cost(t, c);
                }
                if (snapshot.isLogged(t)) {
                    wanted += snapshot.standbysPerTask();
                    for (int c : placement.standby()[t]) {
                        caughtUp += ranks.rank(t, c) == 0 ? 1 : 0;
                    }
                }
            }
            double most = 0;
            double least = Double.POSITIVE_INFINITY;
            for (int c = 0; c < actives.length; c++) {
                if (!snapshot.isDraining(c)) {
                    double load = actives[c] * THREAD / snapshot.size(c);
                    most = Math.max(most, load);
                    least = Math.min(least, load);
                }
            }
            return new State(snapshot.taskCount(), actives.length, lag, wanted, caughtUp, most, Math.min(least, most));
        }
    }

    /** Measures an answer to a snapshot. */
    public static RebalanceFigures of(
            Snapshot snapshot, Placement placement, Source source, boolean failed, long followupMs, long targetMs) {
        return new RebalanceFigures(
                source, failed, Measures.of(snapshot, placement), State.of(snapshot, placement), followupMs, targetMs);
    }
}
