package io.github.optassign.plan;

import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * Checks whether the previous assignment may simply stay (R7): no lag is unknown, it keeps R1 to R5, and it is balanced
 * ({@link Balance}). Any other assignment would then move tasks without gain.
 */
final class RestCheck {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Placement before;

    private RestCheck(Snapshot snapshot, Ranks ranks, Placement before) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.before = before;
    }

    /**
     * Returns whether a placement may stay.
     *
     * @param before the previous assignment: every task active, and with all its standbys
     */
    static boolean mayStay(Snapshot snapshot, Ranks ranks, Placement before) {
        return keepsRules(snapshot, ranks, before) && Balance.imbalance(snapshot, before) == 0;
    }

    /** Returns whether no lag is unknown and a placement keeps R1 to R5, balanced or not. */
    static boolean keepsRules(Snapshot snapshot, Ranks ranks, Placement before) {
        return !snapshot.hasUnknownLag() && new RestCheck(snapshot, ranks, before).keepsRules();
    }

    private boolean keepsRules() {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = before.active()[t];
            if (ranks.rank(t, active) != ranks.leastRank(t)) {
                return false;
            }
            long worst = -1;
            for (int c : before.standby()[t]) {
                worst = Math.max(worst, ranks.rank(t, c));
            }
            if (worst > 0 && leastRankWithoutCopy(t) < worst) {
                return false;
            }
        }
        return true;
    }

    private long leastRankWithoutCopy(int t) {
        int[] known = Snapshot.and(snapshot.columnsAnd(t, before.active()[t]), before.standby()[t]);
        long least = Long.MAX_VALUE;
        for (int c : Snapshot.and(known, snapshot.firstOthers(known, 1))) {
            least = before.hasCopy(t, c) ? least : Math.min(least, ranks.rank(t, c));
        }
        return least;
    }
}
