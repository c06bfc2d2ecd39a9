package io.github.optassign.policy;

/**
 * When a follow-up rebalance is due, and what the time between two snapshots teaches (docs/reference/rules.md, "The
 * follow-up"). Made from policy.toml.
 */
public final class FollowupPolicy {
    /**
     * The default time until a group at rest with a service rebalances: for its operator's requests, and for a service
     * that had no answer. A rebalance stops each task for a moment, so a group at rest has six in an hour at most; an
     * operator waits ten minutes at most. [ms]
     */
    public static final long IDLE_FOLLOWUP_MS = 600_000;

    /**
     * The time that a rebalance takes, about. A follow-up sooner than this would be merged with the previous rebalance.
     * [ms]
     */
    public static final long REBALANCE_MS = 1_000;

    /**
     * The least time until a follow-up of the service after a confirmed second pass (KIP-429). The pass has taken a
     * rebalance's time already; another second was waited for nothing. [ms]
     */
    public static final long LEAST_AFTER_PASS_MS = 100;

    /**
     * The age that the lags of a snapshot may have: a member reports them when it joins the rebalance. Members learn of
     * a rebalance with their heartbeat, by default each 3 s; a second pass comes sooner and teaches nothing. [ms]
     */
    public static final long LAG_AGE_MS = 3_000;

    /**
     * The time by which a follow-up is late at least; it is also added to each estimate. A snapshot that comes sooner
     * is another pass. A look a moment too early costs one more follow-up. [ms]
     */
    public static final long MOMENT_MS = 100;

    /**
     * The factor on an estimate of restore time, before the moment is added. A look a moment too early costs one more
     * follow-up. [times]
     */
    public static final double MARGIN = 1.05;

    /**
     * The time for which a client must have restored before a measurement counts as a rate, and not as a lower bound.
     * On a real broker the first seconds of a copy have a tenth to a third of the later rate. [ms]
     */
    public static final long START_MS = 3_000;

    /**
     * The time that each batch of copies costs in addition to its restore, in the estimate of the time to balance.
     * Slots wait for half a heartbeat until a rebalance has taken effect, and a copy starts slowly. [ms]
     */
    public static final long BATCH_MS = 3_000;

    /**
     * The factor on a rate that is only a lower bound, if nothing was known of the client. All copies were caught up,
     * so the disk is faster. One prior in place of the factors: 1.28 of the limit, not 1.05. [times]
     */
    public static final double BELIEVED_FIRST = 3.0;

    /**
     * The factor on a lower bound that is above a known rate, and on a lower bound that was met again. A lower bound
     * that grew by a tenth each time took too many follow-ups where copies take less than a second. [times]
     */
    public static final double BELIEVED_MORE = 1.5;

    /**
     * The factor on a measured rate, if all copies were caught up when the snapshot came. A rate that was measured once
     * stays, but it may recover from a time of load. [times]
     */
    public static final double BELIEVED_MEASURED = 1.01;

    /**
     * The time until the first look, while the group has no known rate. The first copies show the rate; each further
     * look without progress waits twice as long. [ms]
     */
    public static final long FIRST_LOOK_MS = 2_000;

    /**
     * The longest wait for a follow-up if the last one brought nothing, until the group is stalled. A group is stalled
     * after three answers without progress: an operator sees it within a quarter of an hour, after 10 minutes of
     * waiting too. [ms]
     */
    public static final long NO_PROGRESS_LOOK_MS = 120_000;

    /**
     * The most times that the wait for a follow-up doubles while follow-ups bring nothing. The probing interval has
     * ended the wait before; more doublings would leave 64 bits. [times]
     */
    public static final int MOST_DOUBLINGS = 40;

    /**
     * The longest time until a first look that counts as soon. Beyond it follow-ups come by the interval, and staged
     * warm-ups would wait for them. [ms]
     */
    public static final long SOON_MS = 60_000;

    /**
     * The factor by which two measurements of a client's rate differ at most for the rate to be steady. Lags as old as
     * a heartbeat and changes of load differ by more; measurements of one disk at rest differ by less. [times]
     */
    public static final double AGREES = 1.5;

    /**
     * The share of the time for which the copies of a client have been under way that a wait takes at most without a
     * steady rate. A wrong rate loses less than half of the time then. At 1.0 a look falls just after a heartbeat, and
     * waits for the next. [share]
     */
    public static final double LOOK_AGAIN = 0.7;

    /**
     * The share of the time that free slots may wait, all taken together, until a follow-up fills them together. Each
     * follow-up is a rebalance of the whole group. [share]
     */
    public static final double IDLE_SHARE = 0.2;

    /**
     * The same share while more than two batches of copies wait. A long queue has many follow-ups, and each is a
     * rebalance. [share]
     */
    public static final double LONG_IDLE_SHARE = 0.3;

    /**
     * The share of the time of all active tasks on target within which half of them must be caught up to be moved
     * first. Half of them end half of the imbalance; if the rest follows at once, one rebalance moves all. [share]
     */
    public static final double HALF_SOONER = 0.7;

    /**
     * The least time between two answers without progress that R11 counts, and between two questions of a group at
     * rest. It is Kafka's least probing interval, so that frequent looks do not use up the patience of a copy. [ms]
     */
    public static final long LEAST_INTERVAL_MS = 60_000;

    /**
     * The longest time until a follow-up: ten years. A later one is as good as none, and Kafka's arithmetic with
     * instants could overflow. [ms]
     */
    public static final long LONGEST_MS = 315_360_000_000L;

    /**
     * The longest time by which a follow-up is put off after others brought nothing: six hours. A group whose copies
     * never catch up rests, and one whose disks were repaired is still found the same day. [ms]
     */
    public static final long LONGEST_BACKOFF_MS = 21_600_000;

    /**
     * While follow-ups bring nothing, the next waits for the time without progress divided by this. The number of
     * follow-ups without progress grows with the logarithm of the time. [times]
     */
    public static final int BACKOFF_PARTS = 3;

    private FollowupPolicy() {}
}
