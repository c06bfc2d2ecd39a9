package io.github.optassign.policy;

/** The memory of a JVM: the last answers of groups, and wrong answers of services. */
public final class MemoryPolicy {
    /** The first pause after a service whose answer was refused, or did not come in time. [ms] */
    public static final long BREAKER_FIRST_PAUSE_MS = 5_000;
    /** The longest such pause after answers that were refused. [ms] */
    public static final long BREAKER_LONGEST_PAUSE_MS = 3_600_000;
    /** The longest such pause after answers that did not come in time. [ms] */
    public static final long BREAKER_LONGEST_LATE_PAUSE_MS = 600_000;
    /** The number of applications of which one JVM remembers the last answer. [applications] */
    public static final int MOST_APPLICATIONS = 64;
    /** The time after which the memory of an application that was not asked for is dropped. [ms] */
    public static final long LONGEST_UNUSED_MS = 604_800_000;
    /** The number of targets whose copies without progress are remembered. [answers] */
    public static final int MOST_TARGETS = 8;

    private MemoryPolicy() {}
}
