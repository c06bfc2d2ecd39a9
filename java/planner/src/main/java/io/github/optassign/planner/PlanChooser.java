package io.github.optassign.planner;

import io.github.optassign.measuring.Balance;
import io.github.optassign.measuring.Ranks;
import io.github.optassign.measuring.RestoreWork;
import io.github.optassign.measuring.TagSpread;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;

/**
 * Decides where the planner wants every copy in the end. The first of these that there is becomes the plan:
 *
 * <ol>
 *   <li>the remembered plan of the service's, unless a client is new or of another size, or the plan is none that a
 *       service makes: it knows goals that the planner does not;
 *   <li>what was assigned before, if it may simply stay (R7, {@link RestCheck}), and its copies are in as many zones as
 *       those of a new plan;
 *   <li>the remembered plan while it {@link #stays} (R11);
 *   <li>a new plan: actives by {@link ActivePlanner}, then standbys by {@link StandbyPlanner}.
 * </ol>
 */
final class PlanChooser {
    private PlanChooser() {}

    /** Makes the plan for a snapshot with at least one client. */
    static Placement plan(Snapshot snapshot, Ranks ranks, Previous previous, RackTraffic traffic) {
        Placement remembered = previous.plan();
        if (remembered != null && previous.isPlanBinding() && isSound(snapshot, remembered)) {
            return remembered;
        }
        TagSpread spread = new TagSpread(snapshot);
        Placement before = previous.assigned();
        boolean mayRest = before != null && RestCheck.mayStay(snapshot, ranks, before);
        if (mayRest && !spread.matters()) {
            return before;
        }
        int[] active = ActivePlanner.plan(snapshot, ranks, previous);
        RackSwaps.swap(snapshot, ranks, traffic, active);
        Placement fresh = StandbyPlanner.plan(snapshot, ranks, previous, traffic, active);
        if (mayRest && spread.reached(before) >= spread.reached(fresh)) {
            return before;
        }
        return remembered != null && stays(snapshot, ranks, previous, fresh) ? remembered : fresh;
    }

    /** Whether a plan of the service's is as balanced as it has to be: a wrong one must not live on here. */
    private static boolean isSound(Snapshot snapshot, Placement plan) {
        return Balance.excess(snapshot, plan) == 0
                || (snapshot.configs().looseBalance() && !Balance.isLopsided(snapshot, plan));
    }

    /**
     * Whether the remembered plan stays: its copies are in no fewer zones than those of a new plan, it is no further
     * from balance, and makes the group restore less, or hardly more. What else a new plan is better in does not count,
     * moves least of all: the tasks that have already gone where the remembered plan wants them would move again.
     */
    private static boolean stays(Snapshot snapshot, Ranks ranks, Previous previous, Placement fresh) {
        Placement remembered = previous.plan();
        TagSpread spread = new TagSpread(snapshot);
        if (spread.reached(remembered) < spread.reached(fresh)) {
            return false;
        }
        // Standbys of a plan for the same group may be out of their windows: they were put as well as the planner can.
        boolean mayBeUneven = previous.isSameGroup() && !previous.isPlanBinding();
        if (!mayBeUneven && Balance.excess(snapshot, remembered) > Balance.excess(snapshot, fresh)) {
            return false;
        }
        return RestoreWork.of(snapshot, ranks, remembered).isHardlyMore(RestoreWork.of(snapshot, ranks, fresh));
    }
}
