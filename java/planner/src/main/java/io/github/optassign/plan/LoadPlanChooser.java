package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * A chooser of the plan for tasks with different weights (docs/reference/rules.md, "Balanced under load"). The plan is
 * the first of the following that applies:
 *
 * <ol>
 *   <li>the previous assignment, if it may stay (R7) and its greatest load is within the tolerance;
 *   <li>the previous assignment, if it may stay, no plan is under way, and a new plan would lower the greatest load by
 *       less than the least gain;
 *   <li>the remembered plan, if its load is balanced or no worse than that of a new plan, and the new plan has a worse
 *       one or saves too little restore work (R11);
 *   <li>a new plan: actives by {@link LoadPlacer}, and each task's standbys on the cheapest clients.
 * </ol>
 *
 * <p>If clients or their tags have changed, a plan is kept only if its copies are in as many zones as those of a new
 * plan. In the same group a plan stays, since a new one may find more zones by chance.
 */
final class LoadPlanChooser extends PlanningStep {
    /** The reads across racks; if these matter, {@link CopyPlanner} plans the standbys. */
    private final RackTraffic traffic;
    /** The weights of tasks and the sizes of clients. */
    private final Loads loads;
    /** The greatest load that the tolerance allows, in even spreads. */
    private final double level;

    /** Creates a chooser for a step whose snapshot has weights. */
    LoadPlanChooser(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
        loads = new Loads(snapshot, snapshot.weights());
        level = loads.lowerBound() * (1 + snapshot.weights().tolerance());
    }

    /** Returns the plan. {@code before} is the previous assignment, or null if it does not keep R1 to R5. */
    Placement choose(Placement before) {
        boolean mayRest = before != null && !hasAvoidableStandbyOnDraining(before);
        boolean isBeforeBalanced = mayRest && isBalanced(before, level, 0);
        Placement remembered = previous.plan();
        boolean isReached = mayRest && previous.isSameGroup() && remembered != null && remembered.hasSameCopies(before);
        if (isBeforeBalanced && (isReached || !snapshot.hasTagsToSpread())) {
            return before;
        }
        Placement fresh = makeNewPlan();
        boolean mayStay = mayRest && (isReached || isAsSpread(before, fresh));
        if (isBeforeBalanced && mayStay) {
            return before;
        }
        double reached = loads.greatestLoad(fresh.active());
        if (mayStay
                && (remembered == null || remembered.hasSameCopies(before))
                && loads.countIdleThreads(before.active()) <= loads.countIdleThreads(fresh.active())
                && loads.greatestLoad(before.active()) - reached
                        < snapshot.weights().minGain()) {
            return before;
        }
        boolean isKept = remembered != null
                && (previous.isSameGroup() || isAsSpread(remembered, fresh))
                && isNoWorse(remembered, fresh)
                && !hasAvoidableStandbyOnDraining(remembered)
                && !(isNoWorse(fresh, remembered) && isWorthReplacing(remembered, fresh));
        return isKept ? remembered : fresh;
    }

    private boolean isAsSpread(Placement plan, Placement fresh) {
        return plan.measureTagSpread(snapshot) >= fresh.measureTagSpread(snapshot);
    }

    private boolean isWorthReplacing(Placement remembered, Placement fresh) {
        int migrations = Math.max(0, countMigrations(fresh) - countMigrations(remembered));
        return RestoreWork.of(snapshot, remembered)
                .isWorthReplacingBy(RestoreWork.of(snapshot, fresh), migrations, ranks.meanChangelog());
    }

    /** Returns whether no load exceeds {@code most}, and at most {@code idle} threads are idle without need. */
    private boolean isBalanced(Placement placement, double most, int idle) {
        return loads.greatestLoad(placement.active()) <= most * (1 + LoadPolicy.ROUNDING)
                && loads.countIdleThreads(placement.active()) <= idle;
    }

    /** Returns whether a plan is within the tolerance, or has no worse loads and idle threads than another plan. */
    private boolean isNoWorse(Placement plan, Placement other) {
        int idle = loads.countIdleThreads(other.active());
        return isBalanced(plan, Math.max(level, loads.greatestLoad(other.active())), idle);
    }

    /** Returns whether a draining client has a standby although enough other clients could have all standbys. */
    private boolean hasAvoidableStandbyOnDraining(Placement placement) {
        long staying = IntStream.range(0, snapshot.clientCount())
                .filter(c -> !snapshot.isDraining(c))
                .count();
        return snapshot.standbysPerTask() < staying
                && Arrays.stream(placement.standby())
                        .flatMapToInt(Arrays::stream)
                        .anyMatch(snapshot::isDraining);
    }

    /** Returns a new plan, in which loads keep to {@link #level} if possible. */
    private Placement makeNewPlan() {
        int[] active = new LoadPlacer(this, loads, level).place();
        boolean isSpread = snapshot.hasTagsToSpread() || traffic.matters();
        return isSpread ? new CopyPlanner(this, traffic).planStandbys(active) : placeStandbys(active);
    }

    /** Returns a plan with each standby where it is cheapest; ties are broken by the previous client, then load. */
    private Placement placeStandbys(int[] active) {
        Placement plan = Placement.ofActives(active);
        int[] logged =
                IntStream.range(0, active.length).filter(snapshot::isLogged).toArray();
        long[] copies = new long[snapshot.clientCount()];
        for (int t : logged) {
            copies[active[t]]++;
        }
        for (int t : logged) {
            placeStandbys(t, plan, copies);
        }
        return plan;
    }

    /** Adds the standbys of a task to {@code plan}, and counts them by client in {@code copies}; both are changed. */
    private void placeStandbys(int t, Placement plan, long[] copies) {
        Comparator<Integer> order = Comparator.comparing(snapshot::isDraining)
                .thenComparingLong(c -> ranks.cost(t, c))
                .thenComparing(c -> !previous.hadStandby(t, c))
                .thenComparing((one, other) -> snapshot.compareLoad(copies[one], one, copies[other], other));
        int[] known = Snapshot.union(snapshot.columns(t), previous.possibleStandbys(t));
        while (plan.standby()[t].length < snapshot.standbysPerTask()) {
            int emptiest =
                    snapshot.findLeastLoaded(copies, c -> !plan.hasCopy(t, c) && Arrays.binarySearch(known, c) < 0);
            int best = Arrays.stream(Snapshot.union(known, emptiest))
                    .filter(c -> !plan.hasCopy(t, c))
                    .boxed()
                    .min(order)
                    .orElseThrow();
            plan.addStandby(t, best);
            copies[best]++;
        }
    }
}
