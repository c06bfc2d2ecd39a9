package io.github.optassign.exchange;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;

/**
 * The cost for a plan of a copy on a client, beyond the restoring under any plan: R3 to R5 have the most caught up
 * clients restore in this rebalance, if need be, so a copy on one of these costs nothing more.
 */
final class PlanCosts {
    /** One offset weighs more than all moves of a circle. */
    private static final long OFFSET = 1L << 16;

    private static final long MOST_OFFSETS = 1L << 40;

    private final Ranks ranks;
    /** Per task the rank of the last client that R3 to R5 give a copy to. */
    private final long[] lastRank;

    PlanCosts(Snapshot snapshot, Ranks ranks) {
        this.ranks = ranks;
        lastRank = new long[snapshot.taskCount()];
        long[] least = new long[snapshot.standbysPerTask() + 1];
        for (int t = 0; t < lastRank.length; t++) {
            int copies = snapshot.isLogged(t) ? least.length : 1;
            Arrays.fill(least, Long.MAX_VALUE);
            int[] columns = snapshot.columns(t);
            for (int c : columns) {
                insert(least, copies, ranks.rank(t, c));
            }
            int other = snapshot.poolClient(t);
            for (int i = 0; i < Math.min(copies, snapshot.clientCount() - columns.length); i++) {
                insert(least, copies, ranks.rank(t, other));
            }
            lastRank[t] = least[copies - 1];
        }
    }

    private static void insert(long[] least, int length, long rank) {
        for (int i = length - 1; i >= 0 && rank < least[i]; i--) {
            if (i + 1 < length) {
                least[i + 1] = least[i];
            }
            least[i] = rank;
        }
    }

    /** The weight of a copy on a client: first offsets to replay, then whether it is there already. */
    long weigh(int t, int c, boolean isThere) {
        long rank = ranks.rank(t, c);
        long offsets = rank <= lastRank[t] ? 0 : Math.min(ranks.cost(t, c), MOST_OFFSETS);
        return offsets * OFFSET + (isThere ? 0 : 1) + (rank > 0 ? 1 : 0);
    }
}
