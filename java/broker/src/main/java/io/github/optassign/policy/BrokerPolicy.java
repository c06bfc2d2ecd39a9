package io.github.optassign.policy;

/** The assignor in the broker (docs/how-to/broker.md). */
public final class BrokerPolicy {
    /** The default time-out of a request for a second opinion. [ms] */
    public static final long TIMEOUT_MS = 10_000;
    /** The number of calls of the planner that warm the JVM up when the broker starts. [rounds] */
    public static final int WARMUP_CALLS = 30;
    /** The number of tasks of the group that these calls plan. [tasks] */
    public static final int WARMUP_PARTITIONS = 40;
    /** The end offset of its changelogs. [offsets] */
    public static final long WARMUP_END_OFFSET = 1_000_000;
    /** The time within which threads that come are of one start of their process. [ms] */
    public static final long STARTING_MS = 10_000;
    /** The time that the broker waits for the offsets of members. [ms] */
    public static final long KEEP_MS = 90_000;
    /** The number of groups that are remembered. [entries] */
    public static final int MOST_GROUPS = 1_000;
    /** The number of tasks and members of all groups together that are remembered. [entries] */
    public static final int MOST_ENTRIES = 500_000;
    /** The share of a changelog that has to be left to restore for a copy to change threads. [share] */
    public static final double MUCH = 0.25;
    /** The number of groups that wait for a second opinion. [entries] */
    public static final int WAITING_GROUPS = 64;
    /** The product of tasks and processes of all waiting groups together. [pairs] */
    public static final long WAITING_CELLS = 5_000_000;
    /** The number of warm-ups of a group at a time, if neither setting says. [copies] */
    public static final int WARMUPS = 20;

    private BrokerPolicy() {}
}
