package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TagSpread;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Decides where every copy should be in the end where tasks weigh differently (docs/reference/rules.md, "Balanced under
 * load"). The first of these that there is becomes the plan:
 *
 * <ol>
 *   <li>the previous assignment, if it may stay (R7) and its greatest load is within the tolerance;
 *   <li>the same, if it is not on its way to a plan and a new one would lower its greatest load by less than the least
 *       gain;
 *   <li>the remembered plan while its load is balanced and a new one saves hardly any restoring (R11);
 *   <li>a new plan: actives by {@link LoadPlacer}, each task's standbys where they cost least.
 * </ol>
 */
final class LoadPlanChooser extends PlanningStep {
    private final RackTraffic traffic;
    private final Loads loads;
    /** The greatest load, in even spreads, that the tolerance allows. */
    private final double level;

    /** Reads a snapshot with weights that differ. */
    LoadPlanChooser(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
        loads = new Loads(snapshot, snapshot.weights());
        level = loads.bound() * (1 + snapshot.weights().tolerance());
    }

    /** Makes the plan, given the previous assignment if that keeps the rules, or null. */
    Placement choose(Placement before) {
        boolean mayRest = before != null && !isStandbyOnDraining(before);
        if (mayRest && isBalanced(before, level)) {
            return before;
        }
        Placement fresh = makeFresh();
        double reached = loads.greatest(fresh.active());
        Placement remembered = previous.plan();
        if (mayRest
                && (remembered == null || remembered.hasSameCopies(before))
                && loads.countIdle(before.active()) <= loads.countIdle(fresh.active())
                && loads.greatest(before.active()) - reached
                        < snapshot.weights().minGain()) {
            return before;
        }
        boolean stays = remembered != null
                && isBalanced(remembered, Math.max(level, reached))
                && !isStandbyOnDraining(remembered)
                && !RestoreWork.of(snapshot, ranks, remembered)
                        .isWorthLeavingFor(RestoreWork.of(snapshot, ranks, fresh), 0, ranks.meanChangelog());
        return stays ? remembered : fresh;
    }

    private boolean isBalanced(Placement placement, double most) {
        return loads.greatest(placement.active()) <= most * (1 + LoadPolicy.ROUNDING)
                && loads.countIdle(placement.active()) == 0;
    }

    /** Returns whether a draining client has a standby that a client which stays could have. */
    private boolean isStandbyOnDraining(Placement placement) {
        long staying = IntStream.range(0, snapshot.clientCount())
                .filter(c -> !snapshot.isDraining(c))
                .count();
        return snapshot.standbysPerTask() < staying
                && Arrays.stream(placement.standby())
                        .flatMapToInt(Arrays::stream)
                        .anyMatch(snapshot::isDraining);
    }

    private Placement makeFresh() {
        int[] active = new LoadPlacer(this, loads, level).place();
        boolean isSpread = new TagSpread(snapshot).matters() || traffic.matters();
        return isSpread ? new CopyPlanner(this, traffic).planStandbys(active) : placeStandbys(active);
    }

    /** Places each standby where it costs least to restore, then where it was, then where load is least. */
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

    private void placeStandbys(int t, Placement plan, long[] copies) {
        Comparator<Integer> order = Comparator.comparing(snapshot::isDraining)
                .thenComparingLong(c -> ranks.cost(t, c))
                .thenComparing(c -> !previous.hadStandby(t, c))
                .thenComparing((one, other) -> snapshot.compareLoad(copies[one], one, copies[other], other));
        int[] known = Snapshot.and(snapshot.columns(t), previous.standbys(t));
        while (plan.standby()[t].length < snapshot.standbysPerTask()) {
            int emptiest =
                    snapshot.findLeastLoaded(copies, c -> !plan.hasCopy(t, c) && Arrays.binarySearch(known, c) < 0);
            int best = Arrays.stream(Snapshot.and(known, emptiest))
                    .filter(c -> !plan.hasCopy(t, c))
                    .boxed()
                    .min(order)
                    .orElseThrow();
            plan.addStandby(t, best);
            copies[best]++;
        }
    }
}
