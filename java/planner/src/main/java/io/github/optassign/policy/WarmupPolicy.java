package io.github.optassign.policy;

/** Which planned copies get the warm-up slots (docs/reference/rules.md, "Warm-ups"). */
public final class WarmupPolicy {
    /** The number of answers without progress after which a copy goes to the end of the queue (R11). [answers] */
    public static final int PATIENCE = 3;
    /** The share of the time within which copies end together. [share] */
    public static final double TOGETHER = 0.1;

    private WarmupPolicy() {}
}
