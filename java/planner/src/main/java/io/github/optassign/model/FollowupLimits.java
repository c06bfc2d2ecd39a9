package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;

/** The least and the greatest delay of a follow-up rebalance. */
public final class FollowupLimits {
    private FollowupLimits() {}

    /** Returns the allowed delay nearest to {@code followupMs}. */
    public static long clamp(long followupMs) {
        return Math.max(FollowupPolicy.REBALANCE_MS, Math.min(followupMs, FollowupPolicy.LONGEST_MS));
    }
}
