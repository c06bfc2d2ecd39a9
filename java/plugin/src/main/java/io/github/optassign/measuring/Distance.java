package io.github.optassign.measuring;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;

/**
 * How far a group is from a plan.
 *
 * @param copies planned actives that another client has, and planned copies that are not caught up
 * @param offsets what these have to replay
 */
public record Distance(long copies, long offsets) {
    /** Measures the way from what is to a plan. */
    public static Distance of(Snapshot snapshot, Placement plan) {
        Ranks ranks = new Ranks(snapshot);
        long copies = 0;
        long offsets = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = plan.active()[t];
            copies += snapshot.wasActive(t, active) ? 0 : 1;
            copies += ranks.rank(t, active) > 0 ? 1 : 0;
            offsets = add(offsets, ranks.cost(t, active));
            for (int c : plan.standby()[t]) {
                copies += ranks.rank(t, c) > 0 ? 1 : 0;
                offsets = add(offsets, ranks.cost(t, c));
            }
        }
        return new Distance(copies, offsets);
    }

    /** Whether this is nearer than another distance to the same plan, in copies or in what they have to replay. */
    public boolean isLess(Distance other) {
        return copies < other.copies || offsets < other.offsets;
    }

    private static long add(long sum, long more) {
        return sum > Long.MAX_VALUE - more ? Long.MAX_VALUE : sum + more;
    }
}
