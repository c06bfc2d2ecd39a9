package io.github.optassign.policy;

/**
 * When a follow-up is due, and what the time between two snapshots teaches (docs/reference/rules.md, "The follow-up").
 */
public final class FollowupPolicy {
    /** The time that a rebalance takes, about. [ms] */
    public static final long REBALANCE_MS = 1_000;
    /** The age that the lags of a snapshot may have: a member reports them when it joins the rebalance. [ms] */
    public static final long LAG_AGE_MS = 3_000;
    /** The time by which a follow-up is late at least; it is also added to each estimate. [ms] */
    public static final long MOMENT_MS = 100;
    /** The factor on an estimate of restore time, before the moment is added. [times] */
    public static final double MARGIN = 1.05;
    /** The time that a client must have restored for a measurement to be a rate, not a lower bound. [ms] */
    public static final long START_MS = 3_000;
    /** The time that each batch of copies adds to its restore time, in estimates of the time to balance. [ms] */
    public static final long BATCH_MS = 3_000;
    /** The factor on a rate that is only a lower bound, if nothing was known of the client. [times] */
    public static final double BELIEVED_FIRST = 3.0;
    /** The factor on a lower bound that is above a known rate, and on a lower bound that was met again. [times] */
    public static final double BELIEVED_MORE = 1.5;
    /** The factor on a measured rate, if all copies were caught up when the snapshot came. [times] */
    public static final double BELIEVED_MEASURED = 1.01;
    /** The time until the first look, while the group has no known rate. [ms] */
    public static final long FIRST_LOOK_MS = 2_000;
    /** The longest wait for a follow-up if the last one brought nothing, until the group is stalled. [ms] */
    public static final long NO_PROGRESS_LOOK_MS = 120_000;
    /** The most times that the wait for a follow-up doubles while follow-ups bring nothing. [times] */
    public static final int MOST_DOUBLINGS = 40;
    /** The longest time until a first look that counts as soon. [ms] */
    public static final long SOON_MS = 60_000;
    /** The factor by which two measurements of a client's rate differ at most for the rate to be steady. [times] */
    public static final double AGREES = 1.5;
    /** The time over which agreeing measurements of a rate count, and from which a rate is trusted. [ms] */
    public static final long RATE_WINDOW_MS = 25_000;
    /** The longest wait for a client without a trusted rate, as a share of the time that it has restored. [share] */
    public static final double LOOK_AGAIN = 0.7;
    /** The share of the awaited copies whose own limits a wait may exceed. [share] */
    public static final double OUTWAITED = 0.125;
    /** The share of the time that warm-up slots may stay empty, on average, until a follow-up. [share] */
    public static final double IDLE_SHARE = 0.2;
    /** The same share while more than two batches of copies wait. [share] */
    public static final double LONG_IDLE_SHARE = 0.3;
    /** Half of the planned actives move first if they restore within this share of the time of all. [share] */
    public static final double HALF_SOONER = 0.7;
    /** The least time between two answers that R11 counts, and between two questions of a group at rest. [ms] */
    public static final long LEAST_INTERVAL_MS = 60_000;
    /** The longest time until a follow-up: ten years. [ms] */
    public static final long LONGEST_MS = 315_360_000_000L;

    private FollowupPolicy() {}
}
