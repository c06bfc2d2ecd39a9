package io.github.optassign.model;

/**
 * What the time of a follow-up depends on beside the group.
 *
 * @param takenAtMs when the snapshot was taken, milliseconds since 1970; -1: not known
 * @param isByInterval whether the application wants each follow-up after {@code probing.rebalance.interval.ms}
 */
public record Timing(long takenAtMs, boolean isByInterval) {
    /** Times are not known, so follow-ups come after the interval. */
    public static final Timing NONE = new Timing(-1, true);
}
