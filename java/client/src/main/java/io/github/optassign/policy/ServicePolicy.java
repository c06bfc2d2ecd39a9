package io.github.optassign.policy;

/** The service and its recordings: how much it keeps, how long it waits (docs/reference/configuration.md). */
public final class ServicePolicy {
    /** The longest time-out of a plug-in. [ms] */
    public static final long LONGEST_TIMEOUT_MS = 60_000;
    /** The shortest time-out of a plug-in. [ms] */
    public static final long SHORTEST_TIMEOUT_MS = 200;
    /** The number of copies of one report on progress: those with the most to restore. [copies] */
    public static final int PROGRESS_COPIES = 100;
    /** The least time between two reports on progress of an instance. [ms] */
    public static final long PROGRESS_EVERY_MS = 5_000;

    private ServicePolicy() {}
}
