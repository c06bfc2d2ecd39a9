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
 * offload"): what disks and slots take, and what each batch costs.
 */
public final class TimeToBalance {
    private TimeToBalance() {}

    /**
     * Estimates the time.
     *
     * @return milliseconds, or -1 if times are not known or the plan is reached
     */
    public static long estimate(
            Snapshot snapshot, Ranks ranks, Placement plan, Placement answer, Timing timing, Rates rates) {
        double[] onDisk = new double[snapshot.clientCount()];
        double[] inSlots = new double[onDisk.length];
        boolean[] isAwaited = new boolean[onDisk.length];
        int inLine = 0;
        boolean waits = false;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : snapshot.isLogged(t) ? Snapshot.and(plan.standby()[t], plan.active()[t]) : new int[0]) {
                boolean isHeld = answer.hasCopy(t, c);
                boolean isInLine = !isHeld && ranks.rank(t, c) > 0;
                if (!isHeld || ranks.rank(t, c) > 0) {
                    waits = true;
                    inLine += isInLine ? 1 : 0;
                    isAwaited[c] |= isInLine || answer.hasWarmup(t, c) || (isHeld && plan.active()[t] == c);
                    onDisk[c] += ranks.offsets(t, c);
                    inSlots[c] += isInLine ? ranks.offsets(t, c) : 0;
                }
            }
        }
        if (timing.takenAtMs() < 0 || !waits) {
            return -1;
        }
        int slots = snapshot.configs().maxWarmupReplicas();
        long batches = Math.max(1, (inLine + slots - 1L) / slots);
        if (timing.isByInterval()) {
            return batches * FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        }
        double[] perSecond = rates.perSecond();
        if (perSecond == null) {
            return batches * FollowupPolicy.BATCH_MS;
        }
        double longest = batches * FollowupPolicy.REBALANCE_MS;
        double together = 0;
        for (int c = 0; c < onDisk.length; c++) {
            longest = Math.max(longest, isAwaited[c] ? onDisk[c] * 1_000.0 / perSecond[c] : 0);
            together += inSlots[c] * 1_000.0 / perSecond[c];
        }
        longest = Math.max(longest, together / slots);
        return (long) Math.min(Long.MAX_VALUE, longest + batches * FollowupPolicy.BATCH_MS);
    }
}
