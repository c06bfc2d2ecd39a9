package io.github.optassign.plan;

import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * The restore costs of planned copies in whole steps. R3 to R5 make the most caught up clients restore under any plan,
 * so copies on these cost no step.
 */
class RestoreCosts implements PairChoice.Costs {
    static final int NOT_CAUGHT_UP = 1 << 15;

    private final Snapshot snapshot;
    private final Ranks ranks;
    /** The exponent of a step: the least power of two, in offsets, that keeps costs below 2<sup>24</sup> steps. */
    private final int shift;

    RestoreCosts(Snapshot snapshot, Ranks ranks) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        long greatest = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : Snapshot.and(snapshot.columns(t), snapshot.poolClient(t))) {
                greatest = Math.max(greatest, ranks.cost(t, c));
            }
        }
        shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(greatest / PairChoice.MOST_STEPS));
    }

    /** Returns the price of not being caught up, and steps unless R3 to R5 may give the client a copy now. */
    @Override
    public long of(int t, int c) {
        long rank = ranks.rank(t, c);
        long steps = rank <= ranks.lastRank(t) ? 0 : ranks.cost(t, c) >> shift;
        return steps * PairChoice.STEP + (rank > 0 ? NOT_CAUGHT_UP : 0);
    }

    /** Returns whether R3 to R5 give a copy to this client or to another one of the same rank. */
    @Override
    public final boolean isTied(int t, int c) {
        return ranks.lastRank(t) > 0 && ranks.rank(t, c) == ranks.lastRank(t);
    }

    /** Returns how many tied clients R3 to R5 give a copy of a task, next to clients that have a copy in any case. */
    @Override
    public final int countFree(int t, int[] fixed) {
        int free = snapshot.standbysPerTask() + 1;
        for (int c : fixed) {
            free -= isTied(t, c) ? 1 : 0;
        }
        for (int c : snapshot.columns(t)) {
            free -= ranks.rank(t, c) < ranks.lastRank(t) ? 1 : 0;
        }
        int pool = snapshot.poolClient(t);
        boolean isPoolLower = pool >= 0 && ranks.rank(t, pool) < ranks.lastRank(t);
        free -= isPoolLower ? snapshot.clientCount() - snapshot.columns(t).length : 0;
        return Math.max(0, free);
    }

    @Override
    public final long beyond(int t, int tied) {
        return (ranks.cost(t, tied) >> shift) * PairChoice.STEP;
    }
}
