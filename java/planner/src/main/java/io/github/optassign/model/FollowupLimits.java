package io.github.optassign.model;

/** How soon and how late a follow-up rebalance may be asked for. */
public final class FollowupLimits {
    /** Sooner, it would be one rebalance without end if whoever asks for it erred; {@link #backOff} does the rest. */
    public static final long LEAST_MS = 1_000;

    /** A service may ask so soon after a second pass, which has taken its own time. */
    public static final long LEAST_OF_SERVICE_MS = 100;

    /**
     * A group at rest may be asked so often whether its operator wants anything, and is not put off: the least that
     * Kafka allows for {@code probing.rebalance.interval.ms}.
     */
    public static final long LEAST_AT_REST_MS = 60_000;

    /** Ten years: a later follow-up is as good as none, and Kafka's arithmetic with instants could overflow. */
    static final long GREATEST_MS = 10L * 365 * 24 * 60 * 60 * 1000;

    /** A follow-up that is put off, since those before it brought nothing, is put off by no more than this. */
    static final long GREATEST_BACKOFF_MS = 6L * 60 * 60 * 1000;

    /** While nothing comes of follow-ups, the next one waits for at least this part of the time that has passed so. */
    static final int PATIENCE = 3;

    private FollowupLimits() {}

    /** Returns the delay, or the nearest one that is allowed. */
    public static long clamp(long followupMs) {
        return Math.max(LEAST_MS, Math.min(followupMs, GREATEST_MS));
    }

    /** Returns the delay that a service asks for, or the nearest one that is allowed. */
    public static long clampOfService(long followupMs) {
        return Math.max(LEAST_OF_SERVICE_MS, Math.min(followupMs, GREATEST_MS));
    }

    /**
     * Puts off a follow-up where those before it have brought nothing: the longer that lasts, the longer it waits. Who
     * asks again and again after the same time is left alone for three times, and what comes too late then comes too
     * late by at most a third of the time that has passed anyway.
     *
     * @param followupMs the delay; less than 0: there is none
     * @param withoutProgressMs for how long follow-ups have brought nothing
     */
    public static long backOff(long followupMs, long withoutProgressMs) {
        long leastMs = Math.min(withoutProgressMs / PATIENCE, GREATEST_BACKOFF_MS);
        return followupMs < 0 ? followupMs : Math.max(followupMs, leastMs);
    }
}
