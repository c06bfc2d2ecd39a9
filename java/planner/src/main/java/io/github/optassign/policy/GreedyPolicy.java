package io.github.optassign.policy;

/** Greedy: how far it searches (docs/reference/assignors.md). */
public final class GreedyPolicy {
    /** The number of pairs of task and client up to which a second plan is made in any case. [pairs] */
    public static final long SECOND_TRY = 10_000;
    /** The number of arcs and tree nodes that a minimum-cost flow of the JVM examines; bounds then give way. [pairs] */
    public static final long FLOW_WORK = 200_000_000;
    /**
     * The least block of arcs that the JVM's network simplex searches; in larger networks the square root of their
     * number. [entries]
     */
    public static final int FLOW_BLOCK = 20;
    /** The distance from its bounds up to which each unit of a count has its own price in the JVM. [copies] */
    public static final int EXACT_DISTANCE = 16;
    /** The number of prices of a client's room for offloaded tasks. [entries] */
    public static final int OFFLOAD_LAYERS = 8;
    /** The number of kinds of clients, by tags, rack and draining, that the JVM distinguishes. [entries] */
    public static final int MOST_KINDS = 64;
    /** The number of pairs of task and client up to which a network of the JVM has an arc for each pair. [pairs] */
    public static final long EXPLICIT_PAIRS = 10_000;
    /** The number of pairs of task and client from which the JVM fixes the copies that save most first. [pairs] */
    public static final long KEEP_FROM = 1_000_000;
    /** The worth of a value of a tag, in values of the tag after it. [times] */
    public static final int EARLIER_TAG = 4;
    /** The number of tags with weights of their own; those before weigh the same. [entries] */
    public static final int WEIGHED_TAGS = 16;

    private GreedyPolicy() {}
}
