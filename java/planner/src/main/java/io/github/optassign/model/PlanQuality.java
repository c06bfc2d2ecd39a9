package io.github.optassign.model;

import java.util.stream.IntStream;

/** The worth of a plan compared with another, by all facts in a snapshot. */
public record PlanQuality(long zones, long imbalance, RestoreWork work, long moved) {
    /** Measures a plan. */
    public static PlanQuality of(Snapshot snapshot, Ranks ranks, Placement plan) {
        long moved = IntStream.range(0, snapshot.taskCount())
                .filter(t -> snapshot.isMove(t, plan.active()[t]))
                .count();
        return new PlanQuality(
                new TagSpread(snapshot).countDistinctValues(plan),
                Balance.imbalance(snapshot, plan),
                RestoreWork.of(snapshot, ranks, plan),
                moved);
    }

    /**
     * Returns whether the plan is better than another: in no fewer zones, no further from balance, and with less to
     * restore or, with as much, fewer active tasks to move.
     */
    public boolean isBetterThan(PlanQuality other) {
        if (zones < other.zones || imbalance > other.imbalance) {
            return false;
        }
        return work.offsets() != other.work.offsets()
                ? work.offsets() < other.work.offsets()
                : work.notCaughtUp() <= other.work.notCaughtUp() && moved < other.moved;
    }

    @Override
    public String toString() {
        return "restore_offsets=" + work.offsets() + " not_caught_up=" + work.notCaughtUp() + " active_moved=" + moved
                + " imbalance=" + imbalance;
    }
}
