package io.github.optassign.policy;

/** What the planner in the JVM remembers of the group, and of answers that were wrong. Made from policy.toml. */
public final class MemoryPolicy {
    /**
     * The first pause after a service whose answer was refused, or did not come in time. Each later one takes twice as
     * long; the planner answers then. [ms]
     */
    public static final long BREAKER_FIRST_PAUSE_MS = 5_000;

    /** The longest such pause after answers that were refused. A repaired service answers again within it. [ms] */
    public static final long BREAKER_LONGEST_PAUSE_MS = 3_600_000;

    /**
     * The longest such pause after answers that did not come in time. A group at rest asks again as often. Each attempt
     * holds a rebalance up for the time-out of 2 s, so it costs a three-hundredth of the time. [ms]
     */
    public static final long BREAKER_LONGEST_LATE_PAUSE_MS = 600_000;

    /**
     * The number of applications of which one JVM remembers the last answer. Each has a client of its own; hardly any
     * JVM runs more than a few. [applications]
     */
    public static final int MOST_APPLICATIONS = 64;

    /**
     * The time after which the memory of an application that was not asked for is dropped. An application that starts
     * again after a week has new state. [ms]
     */
    public static final long LONGEST_UNUSED_MS = 604_800_000;

    /**
     * The number of targets whose copies without progress are remembered. Copies of further targets are forgotten: that
     * is no progress, and memory is bounded. [answers]
     */
    public static final int MOST_TARGETS = 8;

    private MemoryPolicy() {}
}
