package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;

/** How soon and how late a follow-up rebalance may be asked for. */
public final class FollowupLimits {
    private FollowupLimits() {}

    /** Returns the delay, or the nearest one that is allowed. */
    public static long clamp(long followupMs) {
        return Math.max(FollowupPolicy.REBALANCE_MS, Math.min(followupMs, FollowupPolicy.LONGEST_MS));
    }
}
