package io.github.optassign.plan;

import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * Restore costs of planned copies, in restore steps. R3 to R5 make the most caught up clients restore under any plan,
 * so planned copies on these cost no step. Clients of {@link Ranks#lastRank} are tied: only some get a copy now.
 */
class RestoreCosts implements PairProblem.Costs {
    /** The cost of a copy on a client that is not caught up, in addition to restore steps. */
    static final int NOT_CAUGHT_UP = 1 << 15;

    private final Snapshot snapshot;
    private final Ranks ranks;
    /** A restore step is 2<sup>shift</sup> offsets: the least power that keeps costs below 2<sup>24</sup> steps. */
    private final int shift;

    RestoreCosts(Snapshot snapshot, Ranks ranks) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        long greatest = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : Snapshot.union(snapshot.columns(t), snapshot.poolClient(t))) {
                greatest = Math.max(greatest, ranks.cost(t, c));
            }
        }
        shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(greatest / PairProblem.MOST_RESTORE_STEPS));
    }

    /** Returns {@link #NOT_CAUGHT_UP} if the rank is above 0, plus restore steps unless R3 to R5 may give it a copy. */
    @Override
    public long of(int t, int c) {
        long rank = ranks.rank(t, c);
        long steps = rank <= ranks.lastRank(t) ? 0 : ranks.cost(t, c) >> shift;
        return steps * PairProblem.RESTORE_STEP + (rank > 0 ? NOT_CAUGHT_UP : 0);
    }

    /** Returns whether R3 to R5 give a copy to this client or to another client of the same rank. */
    @Override
    public final boolean isTied(int t, int c) {
        return ranks.lastRank(t) > 0 && ranks.rank(t, c) == ranks.lastRank(t);
    }

    /** Returns how many tied clients get a copy by R3 to R5, in addition to fixed clients and those of lower rank. */
    @Override
    public final int tiedQuota(int t, int[] fixed) {
        int quota = snapshot.standbysPerTask() + 1;
        for (int c : fixed) {
            quota -= isTied(t, c) ? 1 : 0;
        }
        for (int c : snapshot.columns(t)) {
            quota -= ranks.rank(t, c) < ranks.lastRank(t) ? 1 : 0;
        }
        int pool = snapshot.poolClient(t);
        boolean isPoolLower = pool >= 0 && ranks.rank(t, pool) < ranks.lastRank(t);
        quota -= isPoolLower ? snapshot.clientCount() - snapshot.columns(t).length : 0;
        return Math.max(0, quota);
    }

    /** Returns the restore steps of a tied client that gets no copy by R3 to R5. */
    @Override
    public final long surcharge(int t, int c) {
        return (ranks.cost(t, c) >> shift) * PairProblem.RESTORE_STEP;
    }
}
