package io.github.optassign.plan;

import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Checks whether the previous assignment may simply stay (R7): no lag is unknown, it keeps R1 to R5, and it is balanced
 * ({@link Balance}). Any other assignment would then move tasks without gain.
 */
final class RestCheck {
    private RestCheck() {}

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
        return !snapshot.hasUnknownLag()
                && IntStream.range(0, snapshot.taskCount()).allMatch(t -> keepsRules(snapshot, ranks, before, t));
    }

    private static boolean keepsRules(Snapshot snapshot, Ranks ranks, Placement before, int t) {
        int[] standbys = before.standby()[t];
        long worst =
                Arrays.stream(standbys).mapToLong(c -> ranks.rank(t, c)).max().orElse(0);
        int[] known = Snapshot.and(snapshot.columnsAnd(t, before.active()[t]), standbys);
        return ranks.rank(t, before.active()[t]) == ranks.leastRank(t)
                && (worst == 0
                        || Arrays.stream(Snapshot.and(known, snapshot.firstOthers(known, 1)))
                                .allMatch(c -> before.hasCopy(t, c) || ranks.rank(t, c) >= worst));
    }
}
