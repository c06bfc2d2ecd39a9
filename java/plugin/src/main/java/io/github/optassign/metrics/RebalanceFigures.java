package io.github.optassign.metrics;

import io.github.optassign.measuring.Measures;
import io.github.optassign.measuring.Ranks;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Snapshot;

/**
 * One rebalance in numbers.
 *
 * @param source who answered
 * @param failed whether somebody else should have answered
 * @param migrations active tasks that had an owner and get another one
 * @param restoreOffsets offsets that actives, standbys and warm-ups have to replay
 * @param warmups how many warm-ups there are
 * @param warmupLag offsets that these have to replay
 * @param imbalance active tasks of clients beyond their shares
 * @param followupMs delay of the follow-up rebalance, ms; -1: none
 * @param targetMs how long it is likely to be until the target assignment is reached, ms; -1: not known
 */
public record RebalanceFigures(
        Source source,
        boolean failed,
        int migrations,
        long restoreOffsets,
        int warmups,
        long warmupLag,
        long imbalance,
        long followupMs,
        long targetMs) {
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

    /** Measures an answer to a snapshot. */
    public static RebalanceFigures of(
            Snapshot snapshot, CheckedAnswer answer, Source source, boolean failed, long targetMs) {
        Measures measures = Measures.of(snapshot, answer.placement());
        Ranks ranks = new Ranks(snapshot);
        long lag = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : answer.placement().warmup()[t]) {
                lag += ranks.cost(t, c);
            }
        }
        return new RebalanceFigures(
                source,
                failed,
                measures.activeMoved(),
                measures.restoreOffsets() + lag,
                measures.warmups(),
                lag,
                measures.activeImbalance(),
                answer.firstFollowupMs(),
                targetMs);
    }
}
