package io.github.optassign.planner;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;

/**
 * Decides where the fallback wants every copy in the end. The first of these that there is becomes the plan:
 *
 * <ol>
 *   <li>the remembered plan of the service's, if it still fits the group (R11): it knows goals that the fallback does
 *       not;
 *   <li>what was assigned before, if it may simply stay (R7, {@link RestCheck});
 *   <li>the remembered plan of the fallback's, if it still fits the group (R11);
 *   <li>a new plan: actives by {@link ActivePlanner}, then standbys by {@link StandbyPlanner}.
 * </ol>
 */
final class Planner {
    private Planner() {}

    /** Makes the plan for a snapshot with at least one client. */
    static Placement plan(Snapshot snapshot, Ranks ranks, Previous previous) {
        if (previous.plan() != null && !previous.isPlanFallbacks()) {
            return previous.plan();
        }
        Placement before = previous.assigned();
        if (before != null && RestCheck.mayStay(snapshot, ranks, before)) {
            return before;
        }
        if (previous.plan() != null) {
            return previous.plan();
        }
        int[] active = ActivePlanner.plan(snapshot, ranks, previous);
        return StandbyPlanner.plan(snapshot, ranks, previous, active);
    }
}
