package io.github.optassign.policy;

/** How rates of input and lags are measured, and when loads differ by enough to move tasks. */
public final class MeasuringPolicy {
    /** The age at which a measurement of a rate counts half. [ms] */
    public static final long HALF_LIFE_MS = 28_800_000;
    /** The least time between two snapshots that tells a rate of input. [ms] */
    public static final long LEAST_MEASURED_MS = 1_000;
    /** The time that a rate has to be measured until it weighs tasks. [ms] */
    public static final long COUNTS_AFTER_MS = 60_000;
    /** The time by which a date in a snapshot or a report may be early. [ms] */
    public static final long EARLY_MS = 100;
    /** The default tolerance of the greatest load. [share] */
    public static final double LOAD_TOLERANCE = 0.05;
    /** The default of the least fall of the greatest load, in even spreads, for which tasks move. [share] */
    public static final double LEAST_LOAD_GAIN = 0.05;

    private MeasuringPolicy() {}
}
