package io.github.optassign.policy;

/** Greedy: how far it searches (docs/reference/assignors.md). Made from policy.toml. */
public final class GreedyPolicy {
    /**
     * The number of pairs of task and client up to which a second plan is made, though the first is balanced. It may
     * move less. A JVM makes plans of small groups in a millisecond, so it tries more. [pairs]
     */
    public static final long SECOND_TRY = 10_000;

    /**
     * The number of arcs that an exchange of the JVM examines for balance, and again for cost; its result by then
     * stays. It bounds the time by work (R9). [pairs]
     */
    public static final long LOOKS = 1_000_000;

    /**
     * The size from which an exchange of the JVM brings counts into their shares before it looks at costs. Smaller
     * exchanges end before their limit of work, and groups rest by what they find. [entries]
     */
    public static final int REPAIR_FROM = 1_000;

    /**
     * The number of clients that an exchange of the JVM goes to from one client at a time, where any of a kind will do.
     * The first client would otherwise block the ways of all others. One at a time costs more turns. [clients]
     */
    public static final int FAN = 2;

    /**
     * The number of nodes, subtopologies times clients, beyond which the JVM exchanges nothing. The graph would not fit
     * into the memory of an application. [clients]
     */
    public static final int NODES = 2_000_000;

    /**
     * The number of clients of a kind that an exchange of the JVM tries for a task. Some may have another copy of it.
     * [clients]
     */
    public static final int TRIES = 8;

    /**
     * The product of subtopologies, clients and tasks up to which one circulation sets all quotas. Larger ones take
     * seconds. [pairs]
     */
    public static final long QUOTA_WORK = 5_000_000;

    /** The number of pairs of tasks that the JVM examines for racks. It bounds the time by work (R9). [pairs] */
    public static final long RACK_PAIRS = 5_000_000;

    /**
     * The number of steps that the JVM's search for tasks to offload examines. It bounds the time by work (R9). [pairs]
     */
    public static final long OFFLOAD_LOOKS = 20_000_000;

    /** The greatest number of tasks in a chain of moves for an offload. It bounds the time. [tasks] */
    public static final int LONGEST_CHAIN = 64;

    private GreedyPolicy() {}
}
