package io.github.optassign.exchange;

import io.github.optassign.measuring.Ranks;

/**
 * The cost for a plan of a copy on a client, beyond the restoring under any plan: R3 to R5 have the most caught up
 * clients restore in this rebalance, if need be, so a copy on one of these costs nothing more.
 */
final class PlanCosts {
    /** One offset weighs more than all moves of a circle. */
    private static final long OFFSET = 1L << 16;

    private static final long MOST_OFFSETS = 1L << 40;

    private final Ranks ranks;

    PlanCosts(Ranks ranks) {
        this.ranks = ranks;
    }

    /** The weight of a copy on a client: first offsets to replay, then whether it is there already. */
    long weigh(int t, int c, boolean isThere) {
        long rank = ranks.rank(t, c);
        long offsets = rank <= ranks.lastRank(t) ? 0 : Math.min(ranks.cost(t, c), MOST_OFFSETS);
        return offsets * OFFSET + (isThere ? 0 : 1) + (rank > 0 ? 1 : 0);
    }
}
