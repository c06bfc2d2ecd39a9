package io.github.optassign.policy;

/** Greedy: how far it searches (docs/reference/assignors.md). Made from policy.toml. */
public final class GreedyPolicy {
    /**
     * The number of pairs of task and client up to which a second plan is made, though the first is balanced. It may
     * move less. A JVM makes plans of small groups in a millisecond, so it tries more. [pairs]
     */
    public static final long SECOND_TRY = 10_000;

    /**
     * The number of arcs and tree nodes that a minimum-cost flow of the JVM examines; bounds then give way. It bounds
     * the time by work (R9), at about two seconds. A plan for 10,000 tasks on 1,000 clients takes a sixth of it.
     * [pairs]
     */
    public static final long FLOW_WORK = 200_000_000;

    /**
     * The least number of arcs among which a minimum-cost flow of the JVM chooses the next one; of many arcs it is
     * their square root. Király and Kovács, Efficient implementations of minimum-cost flow algorithms, 2012. [entries]
     */
    public static final int FLOW_BLOCK = 20;

    /**
     * The distance from its bounds up to which each unit of a count has its own price in a network of the JVM. Counts
     * are rarely further away. Beyond it half as many units as the distance share a price, so that arcs stay few.
     * [copies]
     */
    public static final int EXACT_DISTANCE = 16;

    /**
     * The number of prices of a client's room for offloaded tasks. Equal choices fill clients evenly, to an eighth of
     * their room. [entries]
     */
    public static final int OFFLOAD_LAYERS = 8;

    /**
     * The number of kinds of clients, by tags, racks and draining, among which the JVM tells tasks' places apart. A
     * network has an arc for each task and kind: 10,000 tasks in 64 kinds fill 40 MB. Beyond it the tag with the most
     * values does not count, and the log says so. [entries]
     */
    public static final int MOST_KINDS = 64;

    /**
     * The number of pairs of task and client up to which a network of the JVM has an arc for each pair. No places have
     * to be dealt then, so that the plan is the cheapest. Arcs grow with the product, and time with arcs. [pairs]
     */
    public static final long EXPLICIT_PAIRS = 10_000;

    /**
     * The number of pairs of task and client from which the JVM fixes the copies that save most before it searches. A
     * flow for 10,000 tasks on 1,000 clients then takes 0.1 s in place of 1.5 s; at 2,000 on 200 it takes 0.05 s
     * anyway. [pairs]
     */
    public static final long KEEP_FROM = 1_000_000;

    private GreedyPolicy() {}
}
