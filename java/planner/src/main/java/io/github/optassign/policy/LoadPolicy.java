package io.github.optassign.policy;

/** Load: weights of tasks, spread evenly (docs/explanation/decisions/0015-load-is-balance.md). */
public final class LoadPolicy {
    /** Half of the number of least loaded clients that the most loaded one trades with. [clients] */
    public static final int PARTNERS = 12;
    /** The least gain of a trade in the greatest of the loads. [share] */
    public static final double LEAST_GAIN = 0.0001;
    /** The greatest number of rounds of trades. [rounds] */
    public static final int TRADES = 3_000;
    /** The offsets that an active task counts that moves to a caught-up copy. [offsets] */
    public static final double MOVE_OFFSETS = 0.5;
    /** The greatest load in even spreads that counts as even. [times] */
    public static final double EVEN_LOAD = 1.0003;
    /** The tolerance of loads and weights. [share] */
    public static final double ROUNDING = 1e-09;

    private LoadPolicy() {}
}
