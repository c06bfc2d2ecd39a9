package io.github.optassign.step;

import io.github.optassign.learn.Rates;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.policy.FollowupPolicy;

/**
 * The expected time until the plan is reached, by which offload is judged (docs/reference/rules.md, "Temporary
 * offload").
 */
public final class TimeToBalance {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Placement plan;
    private final Placement answer;
    /** Per client whether it restores copies that the follow-up waits for. */
    private final boolean[] matters;
    /** The number of planned copies that wait for a slot or restore in one. */
    private int inLine;

    private boolean waits;

    private TimeToBalance(Snapshot snapshot, Ranks ranks, Placement plan, Placement answer) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.plan = plan;
        this.answer = answer;
        matters = new boolean[snapshot.clientCount()];
        forEachWaiting((t, c, isHeld) -> {
            waits = true;
            boolean isInLine = !isHeld && ranks.rank(t, c) > 0;
            inLine += isInLine ? 1 : 0;
            matters[c] |= isInLine || answer.hasWarmup(t, c) || (isHeld && plan.active()[t] == c);
        });
    }

    private interface Waiting {
        void take(int t, int c, boolean isHeld);
    }

    /** Visits planned copies that the answer lacks, or has on clients that are not caught up. */
    private void forEachWaiting(Waiting waiting) {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.isLogged(t)) {
                take(t, plan.active()[t], waiting);
                for (int c : plan.standby()[t]) {
                    take(t, c, waiting);
                }
            }
        }
    }

    private void take(int t, int c, Waiting waiting) {
        boolean isHeld = answer.hasCopy(t, c);
        if (!isHeld || ranks.rank(t, c) > 0) {
            waiting.take(t, c, isHeld);
        }
    }

    /**
     * Estimates the time until the plan is reached: what disks and slots take, and what each batch costs.
     *
     * @return milliseconds, or -1 if times are not known or the plan is reached
     */
    public static long estimate(
            Snapshot snapshot, Ranks ranks, Placement plan, Placement answer, Timing timing, Rates rates) {
        if (timing.takenAtMs() < 0) {
            return -1;
        }
        TimeToBalance time = new TimeToBalance(snapshot, ranks, plan, answer);
        return time.waits ? time.estimate(timing, rates.perSecond()) : -1;
    }

    private long estimate(Timing timing, double[] perSecond) {
        int slots = snapshot.configs().maxWarmupReplicas();
        long batches = Math.max(1, (inLine + slots - 1L) / slots);
        if (timing.isByInterval()) {
            return batches * FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        }
        if (perSecond == null) {
            return batches * FollowupPolicy.BATCH_MS;
        }
        double[] onDisk = new double[matters.length];
        double[] inSlots = new double[matters.length];
        forEachWaiting((t, c, isHeld) -> {
            onDisk[c] += matters[c] ? ranks.offsets(t, c) : 0;
            inSlots[c] += !isHeld && ranks.rank(t, c) > 0 ? ranks.offsets(t, c) : 0;
        });
        double longest = batches * FollowupPolicy.REBALANCE_MS;
        double together = 0;
        for (int c = 0; c < matters.length; c++) {
            longest = Math.max(longest, onDisk[c] * 1_000.0 / perSecond[c]);
            together += inSlots[c] * 1_000.0 / perSecond[c];
        }
        longest = Math.max(longest, together / slots);
        return (long) Math.min(Long.MAX_VALUE, longest + batches * FollowupPolicy.BATCH_MS);
    }
}
