package io.github.optassign.policy;

/** Input: the values that a snapshot may hold. */
public final class InputPolicy {
    /** The least weight of a task, as a share of the mean. [share] */
    public static final double LEAST_WEIGHT = 0.05;
    /** The greatest weight of a task, a change or a limit. [times] */
    public static final double MOST_WEIGHT = 1000000000.0;
    /** The time by which a date may be ahead of the clock. [ms] */
    public static final long MOST_AHEAD_MS = 604_800_000;
    /** The lag up to which a copy is caught up, if the group does not say. [offsets] */
    public static final long ACCEPTABLE_LAG = 10_000;
    /** The least capacity of a thread. [times] */
    public static final double LEAST_CAPACITY = 1e-06;
    /** The greatest capacity of a thread. [times] */
    public static final double MOST_CAPACITY = 1000000.0;

    private InputPolicy() {}
}
