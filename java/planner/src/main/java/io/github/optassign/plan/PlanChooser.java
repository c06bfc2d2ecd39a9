package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.PlanQuality;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;

/**
 * A chooser of the plan. The plan is the first of the following that applies:
 *
 * <ol>
 *   <li>a remembered plan that the service made, unless a client is new or has another profile, or the plan is too
 *       unbalanced to come from a service: the service knows goals that the planner does not;
 *   <li>the plan of {@link LoadPlanChooser}, if tasks have different weights;
 *   <li>the previous assignment, if it may stay (R7) and its copies are in as many zones as those of a new plan;
 *   <li>the previous assignment, if clients have tags and the plan is {@link #isReached reached} (R11);
 *   <li>the remembered plan, if the planner {@link #shouldKeepRemembered should keep it} (R11);
 *   <li>a {@link #makeNewPlan new plan}. {@link Downtime} and {@link Takeovers} improve it if tags and racks do not
 *       matter.
 * </ol>
 */
public final class PlanChooser extends PlanningStep {
    private final RackTraffic traffic;

    private PlanChooser(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
    }

    /** Returns the plan; {@code perSecond} is each client's restore rate in offsets per second, null if unknown. */
    public static Placement plan(PlanningStep step, RackTraffic traffic, double[] perSecond) {
        return new PlanChooser(step, traffic).plan(perSecond);
    }

    private Placement plan(double[] perSecond) {
        Placement remembered = previous.plan();
        if (remembered != null && previous.isPlanBinding() && isSound(remembered)) {
            return remembered;
        }
        Placement before = previous.assignment();
        boolean keepsRules = before != null && keepsRules(before);
        if (snapshot.weights() != null) {
            return new LoadPlanChooser(this, traffic).choose(keepsRules ? before : null);
        }
        boolean mayRest = keepsRules && before.imbalance(snapshot) == 0;
        boolean hasTags = snapshot.hasTagsToSpread();
        if (mayRest && !hasTags) {
            return before;
        }
        if (before != null && hasTags && isReached(before)) {
            return before;
        }
        Placement fresh = makeNewPlan();
        if (mayRest && before.measureTagSpread(snapshot) >= fresh.measureTagSpread(snapshot)) {
            return before;
        }
        if (remembered != null && shouldKeepRemembered(fresh)) {
            return remembered;
        }
        if (!hasTags && !traffic.matters()) {
            Downtime.shorten(this, fresh, perSecond);
            Takeovers.spread(this, fresh);
        }
        return fresh;
    }

    /** Returns whether no lag is unknown and the previous assignment keeps R1 to R5, which R7 requires. */
    private boolean keepsRules(Placement before) {
        return !snapshot.hasUnknownLag() && snapshot.tasks().allMatch(t -> keepsRules(before, t));
    }

    /** Returns whether a task's owner is most caught up (R3), and its standbys are on the next best clients (R5). */
    private boolean keepsRules(Placement before, int t) {
        int[] standbys = before.standby()[t];
        long worst =
                Arrays.stream(standbys).mapToLong(c -> ranks.rank(t, c)).max().orElse(0);
        int[] known = Snapshot.union(snapshot.columnsAnd(t, before.active()[t]), standbys);
        return ranks.isMostCaughtUp(t, before.active()[t])
                && (worst == 0
                        || Arrays.stream(Snapshot.union(known, snapshot.firstOthers(known, 1)))
                                .allMatch(c -> before.hasCopy(t, c) || ranks.rank(t, c) >= worst));
    }

    /** Returns whether the planner, not the service, made the remembered plan for the same clients and profiles. */
    private boolean isOwnPlan() {
        return previous.isSameGroup() && !previous.isPlanBinding();
    }

    /**
     * Returns whether the previous assignment has the copies of the planner's {@link #isOwnPlan own plan}. The plan is
     * then not replaced if clients have tags: a search from another start may find a slightly better plan by chance,
     * and tasks would move again.
     */
    private boolean isReached(Placement before) {
        return isOwnPlan() && previous.plan() != null && previous.plan().hasSameCopies(before);
    }

    /**
     * Returns a new plan, the better of two: copies in any role with actives chosen among them, which saves most
     * restore work, or actives on any client with standbys next to them. The second is not tried if the first is
     * balanced, the group is large and has at most one tag. If no client has state, the second is tried first, and is
     * taken if it is balanced and the copies of each task are in different zones.
     */
    private Placement makeNewPlan() {
        CopyPlanner planner = new CopyPlanner(this, traffic);
        if (snapshot.standbysPerTask() == 0) {
            return planner.planStandbys(planner.planActives());
        }
        boolean isAnyStateKnown = snapshot.tasks().anyMatch(t -> snapshot.columns(t).length > 0);
        if (!isAnyStateKnown) {
            Placement first = planner.planStandbys(planner.planActives());
            return first.isSpread(snapshot) && first.imbalance(snapshot) == 0
                    ? first
                    : findBetter(first, planner.planRoles(planner.planCopies()));
        }
        Placement plan = planner.planRoles(planner.planCopies());
        boolean isSmall = (long) snapshot.taskCount() * snapshot.clientCount() <= GreedyPolicy.SECOND_TRY;
        boolean isDone = !isSmall && snapshot.tagCount() < 2 && plan.imbalance(snapshot) == 0;
        return isDone ? plan : findBetter(planner.planStandbys(planner.planActives()), plan);
    }

    /** Returns the better plan: more zones; ties are broken by less imbalance, then by {@link PlanQuality}. */
    private Placement findBetter(Placement first, Placement plan) {
        PlanQuality order = PlanQuality.of(snapshot, plan);
        PlanQuality ofFirst = PlanQuality.of(snapshot, first);
        if (ofFirst.zones() != order.zones()) {
            return ofFirst.zones() > order.zones() ? first : plan;
        }
        return ofFirst.imbalance() < order.imbalance() || ofFirst.isBetterThan(order) ? first : plan;
    }

    /**
     * Returns whether a plan is balanced or, with loose balance, at least not {@link Placement#isLopsided lopsided}.
     */
    private boolean isSound(Placement plan) {
        return plan.imbalance(snapshot) == 0 || (snapshot.configs().looseBalance() && !plan.isLopsided(snapshot));
    }

    /**
     * Returns whether to keep the remembered plan (R11). Its copies must be in no fewer zones than those of a new plan,
     * and it must be no further from balance. For an own plan of the same group, an advantage in one of both suffices.
     * In addition, the new plan must save little restore work, or less than its additional migrations are worth. Other
     * advantages of a new plan do not count, since tasks that have already moved to planned clients would move again.
     */
    private boolean shouldKeepRemembered(Placement fresh) {
        Placement remembered = previous.plan();
        long zones = remembered.measureTagSpread(snapshot) - fresh.measureTagSpread(snapshot);
        long imbalance = remembered.imbalance(snapshot) - fresh.imbalance(snapshot);
        // If an advantage in one of both did not suffice, two plans could replace each other in turn.
        boolean mayStay = (zones > 0 || imbalance < 0) && isOwnPlan();
        int migrations = Math.max(0, countMigrations(fresh) - countMigrations(remembered));
        return (mayStay || (zones >= 0 && imbalance <= 0))
                && !RestoreWork.of(snapshot, remembered)
                        .isWorthReplacingBy(RestoreWork.of(snapshot, fresh), migrations, ranks.meanChangelog());
    }
}
