package io.github.optassign.policy;

/**
 * When a follow-up rebalance is due, and what the time between two snapshots teaches (docs/reference/rules.md, "The
 * follow-up"). Made from policy.toml, which has the reasons.
 */
public final class FollowupPolicy {
    /**
     * The default time until a group at rest with a service rebalances: for its operator's requests, and for a service
     * that had no answer. [ms]
     */
    public static final long IDLE_FOLLOWUP_MS = 600_000;
    /** The time that a rebalance takes, about. [ms] */
    public static final long REBALANCE_MS = 1_000;
    /** The least time until a follow-up of the service after a confirmed second pass (KIP-429). [ms] */
    public static final long LEAST_AFTER_PASS_MS = 100;
    /** The age that the lags of a snapshot may have: a member reports them when it joins the rebalance. [ms] */
    public static final long LAG_AGE_MS = 3_000;
    /** The time by which a follow-up is late at least; it is also added to each estimate. [ms] */
    public static final long MOMENT_MS = 100;
    /** The factor on an estimate of restore time, before the moment is added. [times] */
    public static final double MARGIN = 1.05;
    /**
     * The time for which a client must have restored before a measurement counts as a rate, and not as a lower bound.
     * [ms]
     */
    public static final long START_MS = 3_000;
    /**
     * The time that each batch of copies costs in addition to its restore, in the estimate of the time to balance. [ms]
     */
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
    /**
     * The time over which agreeing measurements of a client's rate count. Waits trust a steady rate that was measured
     * for that long. [ms]
     */
    public static final long RATE_WINDOW_MS = 25_000;
    /**
     * The share of the time for which the copies of a client have been under way that a wait takes at most, unless the
     * rate is trusted. [share]
     */
    public static final double LOOK_AGAIN = 0.7;
    /** The share of awaited copies that a wait may exceed the time under way of. [share] */
    public static final double OUTWAITED = 0.125;
    /** The longest delay of a follow-up that every client asks for; one client asks for a later one. [ms] */
    public static final long ASKED_BY_ALL_MS = 30_000;
    /**
     * The share of the time that free slots may wait, all taken together, until a follow-up fills them together.
     * [share]
     */
    public static final double IDLE_SHARE = 0.2;
    /** The same share while more than two batches of copies wait. [share] */
    public static final double LONG_IDLE_SHARE = 0.3;
    /**
     * The share of the time of all active tasks on target within which half of them must be caught up to be moved
     * first. [share]
     */
    public static final double HALF_SOONER = 0.7;
    /**
     * The least time between two answers without progress that R11 counts, and between two questions of a group at
     * rest. [ms]
     */
    public static final long LEAST_INTERVAL_MS = 60_000;
    /** The longest time until a follow-up: ten years. [ms] */
    public static final long LONGEST_MS = 315_360_000_000L;
    /** The longest time by which a follow-up is put off after others brought nothing: six hours. [ms] */
    public static final long LONGEST_BACKOFF_MS = 21_600_000;
    /** While follow-ups bring nothing, the next waits for the time without progress divided by this. [times] */
    public static final int BACKOFF_PARTS = 3;

    private FollowupPolicy() {}
}
