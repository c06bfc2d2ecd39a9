package io.github.optassign.model;

import io.github.optassign.policy.OffloadPolicy;

/**
 * Times in addition to the group: when a follow-up is due, and the price of a move until then.
 *
 * @param takenAtMs when the snapshot was taken, milliseconds since 1970, or -1 if not known
 * @param isByInterval whether the application wants each follow-up after {@code probing.rebalance.interval.ms}
 * @param prices of moves for offload
 */
public record Timing(long takenAtMs, boolean isByInterval, Prices prices) {
    /** Times are not known, so follow-ups come after the interval. */
    public static final Timing NONE = new Timing(-1, true, Prices.NO_OFFLOAD);

    /** With the prices of an application that says nothing of them. */
    public Timing(long takenAtMs, boolean isByInterval) {
        this(takenAtMs, isByInterval, Prices.DEFAULT);
    }

    /**
     * How many seconds of one active task too many a move has to save that the plan does not need
     * (docs/reference/rules.md, "Temporary offload").
     *
     * @param stateless of a task without a store
     * @param logged of a task with a changelog
     */
    public record Prices(long stateless, long logged) {
        /** At this price no task is offloaded. */
        public static final Prices DEFAULT = new Prices(OffloadPolicy.STATELESS_S, OffloadPolicy.LOGGED_S);

        public static final Prices NO_OFFLOAD = new Prices(OffloadPolicy.OFF_S, OffloadPolicy.OFF_S);
    }
}
