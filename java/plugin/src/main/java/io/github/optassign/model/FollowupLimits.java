package io.github.optassign.model;

/** How soon and how late a follow-up rebalance may be asked for. */
public final class FollowupLimits {
    /** A follow-up without delay would make the group rebalance for ever if whoever asks for it erred. */
    static final long LEAST_MS = 1_000;

    /** Ten years: a later follow-up is as good as none, and Kafka's arithmetic with instants could overflow. */
    static final long GREATEST_MS = 10L * 365 * 24 * 60 * 60 * 1000;

    private FollowupLimits() {}

    /** Returns the delay, or the nearest one that is allowed. */
    public static long clamp(long followupMs) {
        return Math.max(LEAST_MS, Math.min(followupMs, GREATEST_MS));
    }
}
