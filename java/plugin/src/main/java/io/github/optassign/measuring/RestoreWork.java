package io.github.optassign.measuring;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;

/**
 * What a plan makes the group restore: its copies on clients that are not caught up, and those that R3 to R5 force in
 * this rebalance, whatever the plan is. A copy that is both counts once.
 *
 * @param offsets offsets to replay
 * @param cold how many copies have any to replay
 */
public record RestoreWork(long offsets, int cold) {
    /** Measures a plan. */
    public static RestoreWork of(Snapshot snapshot, Ranks ranks, Placement plan) {
        long offsets = 0;
        int cold = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c = 0; c < snapshot.clientCount() && snapshot.isLogged(t); c++) {
                boolean counts = plan.hasCopy(t, c) || isForced(snapshot, ranks, plan, t, c);
                if (counts && ranks.rank(t, c) > 0) {
                    long cost = ranks.cost(t, c);
                    offsets = offsets > Long.MAX_VALUE - cost ? Long.MAX_VALUE : offsets + cost;
                    cold++;
                }
            }
        }
        return new RestoreWork(offsets, cold);
    }

    /** Whether R3 to R5 put a copy here: fewer clients than there are copies come before this one. */
    private static boolean isForced(Snapshot snapshot, Ranks ranks, Placement plan, int t, int c) {
        int before = 0;
        for (int other = 0; other < snapshot.clientCount() && before <= snapshot.standbysPerTask(); other++) {
            before += other != c && comesBefore(ranks, plan, t, other, c) ? 1 : 0;
        }
        return before <= snapshot.standbysPerTask();
    }

    /** The plan's clients come first among those of one rank. */
    private static boolean comesBefore(Ranks ranks, Placement plan, int t, int a, int b) {
        int order = Long.compare(ranks.rank(t, a), ranks.rank(t, b));
        order = order != 0 ? order : Boolean.compare(!plan.hasCopy(t, a), !plan.hasCopy(t, b));
        order = order != 0 ? order : Long.compare(ranks.cost(t, a), ranks.cost(t, b));
        return order != 0 ? order < 0 : a < b;
    }

    /**
     * Whether this is less than another, or hardly more: at most 2% more offsets, and no more copies that are not
     * caught up.
     */
    public boolean isHardlyMore(RestoreWork other) {
        return offsets < other.offsets || (offsets - other.offsets <= other.offsets / 50 && cold <= other.cold);
    }
}
