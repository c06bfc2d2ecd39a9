package io.github.optassign.model;

/** How soon and how late a follow-up rebalance may be asked for. */
public final class FollowupLimits {
    /** Sooner, it would be one rebalance without end if whoever asks for it erred; {@link #backOff} does the rest. */
    static final long LEAST_MS = 1_000;

    /** Ten years: a later follow-up is as good as none, and Kafka's arithmetic with instants could overflow. */
    static final long GREATEST_MS = 10L * 365 * 24 * 60 * 60 * 1000;

    /** A follow-up that is put off, since those before it brought nothing, is put off by no more than this. */
    static final long GREATEST_BACKOFF_MS = 6L * 60 * 60 * 1000;

    /** So many follow-ups may bring nothing before the next ones are put off (as R11 waits for a copy). */
    static final int PATIENCE = 3;

    private FollowupLimits() {}

    /** Returns the delay, or the nearest one that is allowed. */
    public static long clamp(long followupMs) {
        return Math.max(LEAST_MS, Math.min(followupMs, GREATEST_MS));
    }

    /**
     * Puts off a follow-up, each time twice as long as the one before.
     *
     * @param withoutProgress how many follow-ups in a row have brought nothing
     */
    public static long backOff(long followupMs, int withoutProgress) {
        if (followupMs < 0 || withoutProgress <= PATIENCE) {
            return followupMs;
        }
        long longest = Math.max(followupMs, GREATEST_BACKOFF_MS);
        int doublings = Math.min(withoutProgress - PATIENCE, 20);
        return followupMs > longest >> doublings ? longest : followupMs << doublings;
    }
}
