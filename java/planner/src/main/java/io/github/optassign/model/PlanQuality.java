package io.github.optassign.model;

/**
 * The quality of a plan for a snapshot.
 *
 * @param zones the worth of distinct tag values, {@link Placement#measureTagSpread}
 * @param moved the number of owned tasks whose planned client is not an owner
 */
public record PlanQuality(long zones, long imbalance, RestoreWork work, long moved) {
    /** Returns the quality of a plan. */
    public static PlanQuality of(Snapshot snapshot, Placement plan) {
        long moved = snapshot.tasks()
                .filter(t -> snapshot.isMove(t, plan.active()[t]))
                .count();
        return new PlanQuality(
                plan.measureTagSpread(snapshot), plan.imbalance(snapshot), RestoreWork.of(snapshot, plan), moved);
    }

    /**
     * Returns whether the plan is better than another: no fewer zones, no more imbalance, and less restore work. If
     * both have as much to restore, no more copies may be not caught up, and fewer actives must move.
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
