package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;

/** How soon and how late a follow-up rebalance may be asked for. */
public final class FollowupLimits {
    private FollowupLimits() {}

    /** Returns the delay, or the nearest one that is allowed. */
    public static long clamp(long followupMs) {
        return Math.max(FollowupPolicy.REBALANCE_MS, Math.min(followupMs, FollowupPolicy.LONGEST_MS));
    }

    /** Returns the delay that a service asks for, or the nearest one that is allowed. */
    public static long clampOfService(long followupMs) {
        return Math.max(FollowupPolicy.LEAST_AFTER_PASS_MS, Math.min(followupMs, FollowupPolicy.LONGEST_MS));
    }

    /**
     * Delays a follow-up the longer, the longer follow-ups have brought no progress. A caller that asks again and again
     * after the same time is left alone for three times; a late follow-up is then late by at most a third of the time
     * that has passed anyway.
     *
     * @param followupMs the delay; less than 0: there is none
     * @param withoutProgressMs for how long follow-ups have brought nothing
     */
    public static long backOff(long followupMs, long withoutProgressMs) {
        long leastMs = Math.min(withoutProgressMs / FollowupPolicy.BACKOFF_PARTS, FollowupPolicy.LONGEST_BACKOFF_MS);
        return followupMs < 0 ? followupMs : Math.max(followupMs, leastMs);
    }
}
