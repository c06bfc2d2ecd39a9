package io.github.optassign.policy;

/**
 * Lost tasks and standbys, spread where every goal is the same (docs/reference/rules.md, "Lost tasks" and "Failover").
 */
public final class TiePolicy {
    /** The number of turns over all lost tasks, and over all standbys. [rounds] */
    public static final int ROUNDS = 4;
    /** The number of exchanges of a lost task that are examined closely, those that finish soonest. [copies] */
    public static final int LOST_CANDIDATES = 32;
    /** The number of lost tasks that get a turn, in all rounds together, the largest first. [copies] */
    public static final int LOST_TURNS = 1_000;
    /** The greatest product of those turns and the lost tasks of the client that has most. [copies] */
    public static final int LOST_WORK = 200_000;
    /** The least gain of an exchange of lost tasks, as a share of what was lost before. [share] */
    public static final double LOST_LEAST_GAIN = 1e-06;
    /** The number of standbys that are examined for each that might move. [copies] */
    public static final int FAILOVER_CANDIDATES = 64;
    /** The same number if three standbys change places. [copies] */
    public static final int FAILOVER_ROTATED = 24;
    /** The least gain of an exchange of standbys. [share] */
    public static final double FAILOVER_LEAST_GAIN = 1e-09;
    /** The number of clients beyond which standbys stay. [clients] */
    public static final int FAILOVER_MOST_CLIENTS = 5_000;

    private TiePolicy() {}
}
