package io.github.optassign.policy;

/**
 * Input: what a snapshot may hold, and how it weighs tasks and estimates times. Made from policy.toml, which has the
 * reasons.
 */
public final class InputPolicy {
    /** The age at which a measurement of a rate counts half. [ms] */
    public static final long HALF_LIFE_MS = 28_800_000;
    /** The least time between two snapshots that tells a rate of input. [ms] */
    public static final long LEAST_MEASURED_MS = 1_000;
    /** The time that a rate has to be measured until it weighs tasks. [ms] */
    public static final long COUNTS_AFTER_MS = 60_000;
    /** The least weight of a task, as a share of the mean. [share] */
    public static final double LEAST_WEIGHT = 0.05;
    /** The greatest weight of a task, a change or a limit. [times] */
    public static final double MOST_WEIGHT = 1000000000.0;
    /** The time by which a date in a snapshot or a report may be early. [ms] */
    public static final long EARLY_MS = 100;
    /** The default tolerance of the greatest load. [share] */
    public static final double LOAD_TOLERANCE = 0.05;
    /** The default of the least fall of the greatest load, in even spreads, for which tasks move. [share] */
    public static final double LEAST_LOAD_GAIN = 0.05;
    /** The time by which a date may be ahead of the clock. [ms] */
    public static final long MOST_AHEAD_MS = 604_800_000;
    /** The lag up to which a copy is caught up, if the group does not say. [offsets] */
    public static final long ACCEPTABLE_LAG = 10_000;
    /** The number of pairs of task and client up to which the plug-in reads every lag. [pairs] */
    public static final long LAGS_READ_WHOLE = 250_000;
    /**
     * The number of tasks of each client, without state on it, whose lags confirm that all such clients lag alike.
     * [tasks]
     */
    public static final int LAGS_SAMPLED = 2;
    /** The least capacity of a thread. [times] */
    public static final double LEAST_CAPACITY = 1e-06;
    /** The greatest capacity of a thread. [times] */
    public static final double MOST_CAPACITY = 1000000.0;

    private InputPolicy() {}
}
