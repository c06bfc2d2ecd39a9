package io.github.optassign.metrics;

import io.github.optassign.model.Measures;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * The figures of a rebalance.
 *
 * @param source the assignor that answered
 * @param failed whether the service or the shadow assignor failed
 * @param measures moves, offsets to restore and imbalance of the answer
 * @param state the group's state after the answer
 * @param followupMs the delay of the follow-up rebalance, ms; -1 if none
 * @param targetMs the expected time until the target assignment is reached, ms; -1 if unknown
 */
public record RebalanceFigures(
        Source source, boolean failed, Measures measures, State state, long followupMs, long targetMs) {
    /** The assignor that answered a rebalance. */
    public enum Source {
        /** The service. */
        SERVICE,
        /** The planner, without a service. */
        PLANNER,
        /** The planner, in place of the service or the shadow assignor. */
        FALLBACK,
        /** The assignor that runs the group in shadow mode. */
        SHADOW
    }

    /**
     * The state of a group after an answer.
     *
     * @param tasks the number of tasks
     * @param clients the number of clients
     * @param warmupLag the offsets that warm-ups have to replay
     * @param standbysWanted the number of standbys that all tasks with a changelog should have
     * @param standbysCaughtUp the number of standbys that are caught up
     * @param loadMost the most active tasks per thread and capacity of a client that does not drain
     * @param loadLeast the fewest active tasks per thread and capacity of a client that does not drain
     */
    public record State(
            int tasks,
            int clients,
            long warmupLag,
            long standbysWanted,
            long standbysCaughtUp,
            double loadMost,
            double loadLeast) {
        /** The size of a thread of capacity 1, in the unit of {@link Snapshot#size}. */
        private static final double THREAD = 1_000_000;

        private static State of(Snapshot snapshot, Placement placement) {
            Ranks ranks = snapshot.ranks();
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

    /** Returns the figures of an answer to a snapshot. */
    public static RebalanceFigures of(
            Snapshot snapshot, Placement placement, Source source, boolean failed, long followupMs, long targetMs) {
        return new RebalanceFigures(
                source, failed, Measures.of(snapshot, placement), State.of(snapshot, placement), followupMs, targetMs);
    }
}
