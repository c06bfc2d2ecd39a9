package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.OffloadPolicy;

/**
 * The time of a snapshot, and the settings for follow-ups and temporary offload.
 *
 * @param takenAtMs the time of the snapshot, milliseconds since 1970, or -1 if unknown
 * @param isByInterval whether each follow-up comes after {@code probing.rebalance.interval.ms}
 * @param prices the prices of moves for offload
 */
public record Timing(long takenAtMs, boolean isByInterval, Prices prices) {
    /** An unknown time: follow-ups come after the probing interval, and no task is offloaded. */
    public static final Timing NONE = new Timing(-1, true, Prices.NO_OFFLOAD);

    /** Creates timing with the default prices. */
    public Timing(long takenAtMs, boolean isByInterval) {
        this(takenAtMs, isByInterval, Prices.DEFAULT);
    }

    /** Returns whether follow-ups come after the probing interval: as configured, or because the time is unknown. */
    public boolean waitsForInterval() {
        return isByInterval || takenAtMs < 0;
    }

    /** Returns the allowed delay of a follow-up, ms, that is nearest to {@code delayMs}. */
    public static long clampFollowupMs(long delayMs) {
        return Math.max(FollowupPolicy.REBALANCE_MS, Math.min(delayMs, FollowupPolicy.LONGEST_MS));
    }

    /**
     * The prices of extra moves, which the plan does not need, in seconds of one excess active
     * (docs/reference/rules.md, "Temporary offload").
     *
     * @param stateless the price for a task without a store
     * @param logged the price for a task with a changelog
     */
    public record Prices(long stateless, long logged) {
        public static final Prices DEFAULT = new Prices(OffloadPolicy.STATELESS_S, OffloadPolicy.LOGGED_S);

        /** The prices at which no task is offloaded. */
        public static final Prices NO_OFFLOAD = new Prices(OffloadPolicy.OFF_S, OffloadPolicy.OFF_S);
    }
}
