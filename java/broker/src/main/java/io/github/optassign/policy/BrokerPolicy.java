package io.github.optassign.policy;

/** The assignor in the broker (docs/how-to/broker.md). Made from policy.toml. */
public final class BrokerPolicy {
    /**
     * The default time-out of a request for a second opinion. No member waits for it, so it may take longer than in the
     * plug-in. [ms]
     */
    public static final long TIMEOUT_MS = 10_000;

    /**
     * The number of calls of the planner that warm the JVM up when the broker starts. The first real call takes
     * milliseconds then, not a second. [rounds]
     */
    public static final int WARMUP_CALLS = 30;

    /** The number of tasks of the group that these calls plan. It reaches each loop of the planner. [tasks] */
    public static final int WARMUP_PARTITIONS = 40;

    /** The end offset of its changelogs. It is well above the acceptable lag. [offsets] */
    public static final long WARMUP_END_OFFSET = 1_000_000;

    /**
     * The time within which threads that come are of one start of their process. A process starts its threads within
     * seconds. [ms]
     */
    public static final long STARTING_MS = 10_000;

    /**
     * The time that the broker waits for the offsets of members. Members send them every minute by default; the longest
     * interval allowed is not waited for. [ms]
     */
    public static final long KEEP_MS = 90_000;

    /** The number of groups that are remembered. The memory of the broker stays bounded. [entries] */
    public static final int MOST_GROUPS = 1_000;

    /**
     * The number of tasks and members of all groups together that are remembered. Memory is proportional to it.
     * [entries]
     */
    public static final int MOST_ENTRIES = 500_000;

    /**
     * The share of a changelog that has to be left to restore for a copy to change threads. A nearly restored copy
     * stays where it is. [share]
     */
    public static final double MUCH = 0.25;

    /** The number of groups that wait for a second opinion. Waiting requests take memory of the broker. [entries] */
    public static final int WAITING_GROUPS = 64;

    /**
     * The product of tasks and processes of all waiting groups together. Waiting requests take memory of the broker.
     * [pairs]
     */
    public static final long WAITING_CELLS = 5_000_000;

    /**
     * The number of warm-ups of a group at a time, if neither setting says. Kafka's two make a scale-out slow, and
     * disks restore some twenty copies at once without slowing down the tasks. [copies]
     */
    public static final int WARMUPS = 20;

    private BrokerPolicy() {}
}
