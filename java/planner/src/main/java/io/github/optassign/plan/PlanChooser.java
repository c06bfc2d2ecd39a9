package io.github.optassign.plan;

import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.PlanOrder;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TagSpread;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Decides where the planner wants every copy in the end. The first of these that there is becomes the plan:
 *
 * <ol>
 *   <li>the remembered plan of the service's, unless a client is new or of another size, or the plan is too unbalanced
 *       to be a service's: the service knows goals that the planner does not;
 *   <li>where tasks weigh differently, what {@link LoadPlanChooser} decides;
 *   <li>the previous assignment, if it may simply stay (R7), and its copies are in as many zones as those of a new
 *       plan;
 *   <li>a plan with tags that is {@link #isReached reached} (R11);
 *   <li>the remembered plan while it {@link #stays} (R11);
 *   <li>a {@link #makeFresh new plan}, with lost tasks spread ({@link Downtime}), and the standbys of each client's
 *       tasks ({@link Takeovers}).
 * </ol>
 */
public final class PlanChooser extends PlanningStep {
    private final RackTraffic traffic;
    private final TagSpread spread;

    private PlanChooser(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
        spread = new TagSpread(snapshot);
    }

    /** Makes the plan for at least one client; restore rates, in offsets per second, may be null. */
    public static Placement plan(PlanningStep step, RackTraffic traffic, double[] perSecond) {
        return new PlanChooser(step, traffic).plan(perSecond);
    }

    private Placement plan(double[] perSecond) {
        Placement remembered = previous.plan();
        if (remembered != null && previous.isPlanBinding() && isSound(remembered)) {
            return remembered;
        }
        Placement before = previous.assigned();
        boolean keepsRules = before != null && keepsRules(before);
        if (snapshot.weights() != null) {
            return new LoadPlanChooser(this, traffic).choose(keepsRules ? before : null);
        }
        boolean mayRest = keepsRules && Balance.imbalance(snapshot, before) == 0;
        if (mayRest && !spread.matters()) {
            return before;
        }
        if (before != null && spread.matters() && isReached(before)) {
            return before;
        }
        Placement fresh = makeFresh();
        if (mayRest && spread.reached(before) >= spread.reached(fresh)) {
            return before;
        }
        if (remembered != null && stays(fresh)) {
            return remembered;
        }
        if (!spread.matters() && !traffic.matters()) {
            Downtime.shorten(this, fresh, perSecond);
            Takeovers.spread(this, fresh);
        }
        return fresh;
    }

    /**
     * Returns whether no lag is unknown and the previous assignment keeps R1 to R5: if it is balanced too, any other
     * would move tasks without gain (R7).
     */
    private boolean keepsRules(Placement before) {
        return !snapshot.hasUnknownLag()
                && IntStream.range(0, snapshot.taskCount()).allMatch(t -> keepsRules(before, t));
    }

    private boolean keepsRules(Placement before, int t) {
        int[] standbys = before.standby()[t];
        long worst =
                Arrays.stream(standbys).mapToLong(c -> ranks.rank(t, c)).max().orElse(0);
        int[] known = Snapshot.and(snapshot.columnsAnd(t, before.active()[t]), standbys);
        return ranks.rank(t, before.active()[t]) == ranks.leastRank(t)
                && (worst == 0
                        || Arrays.stream(Snapshot.and(known, snapshot.firstOthers(known, 1)))
                                .allMatch(c -> before.hasCopy(t, c) || ranks.rank(t, c) >= worst));
    }

    /** Returns whether the remembered plan is the planner's, for the same group. */
    private boolean isOwnPlan() {
        return previous.isSameGroup() && !previous.isPlanBinding();
    }

    /**
     * Returns whether the same group has reached its plan. A plan with tags stays then, since a search that begins
     * elsewhere may find more values or a better balance by chance.
     */
    private boolean isReached(Placement before) {
        return isOwnPlan() && previous.plan() != null && previous.plan().hasSameCopies(before);
    }

    /**
     * Makes a new plan: copies in any role first, since restore work depends on copies alone, then actives among them.
     * If these do not balance, or the group is small, actives on any client with standbys around them are tried too. If
     * no client has state, the latter are tried first, and suffice if they balance in different zones.
     */
    private Placement makeFresh() {
        CopyPlanner planner = new CopyPlanner(this, traffic);
        if (snapshot.standbysPerTask() == 0) {
            return planner.planStandbys(planner.planActives());
        }
        boolean isAnyStateKnown =
                IntStream.range(0, snapshot.taskCount()).anyMatch(t -> snapshot.columns(t).length > 0);
        if (!isAnyStateKnown) {
            Placement first = planner.planStandbys(planner.planActives());
            return spread.isComplete(first) && Balance.imbalance(snapshot, first) == 0
                    ? first
                    : findBetter(first, planner.planRoles(planner.planCopies()));
        }
        Placement plan = planner.planRoles(planner.planCopies());
        boolean isSmall = (long) snapshot.taskCount() * snapshot.clientCount() <= GreedyPolicy.SECOND_TRY;
        boolean isDone = !isSmall && snapshot.tagCount() < 2 && Balance.imbalance(snapshot, plan) == 0;
        return isDone ? plan : findBetter(planner.planStandbys(planner.planActives()), plan);
    }

    private Placement findBetter(Placement first, Placement plan) {
        PlanOrder order = PlanOrder.of(snapshot, ranks, plan);
        PlanOrder ofFirst = PlanOrder.of(snapshot, ranks, first);
        if (ofFirst.zones() != order.zones()) {
            return ofFirst.zones() > order.zones() ? first : plan;
        }
        return ofFirst.imbalance() < order.imbalance() || ofFirst.isBetterThan(order) ? first : plan;
    }

    /** Returns whether a plan of the service's is balanced enough; a wrong plan must not live on here. */
    private boolean isSound(Placement plan) {
        return Balance.imbalance(snapshot, plan) == 0
                || (snapshot.configs().looseBalance() && !Balance.isLopsided(snapshot, plan));
    }

    /**
     * Returns whether the remembered plan stays: its copies are in no fewer zones than those of a new plan, it is no
     * further from balance (of the same group one of both is enough), and a new one saves hardly any restoring, or less
     * than its further migrations are worth (R11). Other advantages of a new plan do not count: the tasks that have
     * already gone to clients of the remembered plan would move again.
     */
    private boolean stays(Placement fresh) {
        Placement remembered = previous.plan();
        long zones = spread.reached(remembered) - spread.reached(fresh);
        long imbalance = Balance.imbalance(snapshot, remembered) - Balance.imbalance(snapshot, fresh);
        // In the same group a plan better in one of both stays; otherwise two plans would take turns.
        boolean mayStay = (zones > 0 || imbalance < 0) && isOwnPlan();
        int migrations = Math.max(0, countMigrations(fresh) - countMigrations(remembered));
        return (mayStay || (zones >= 0 && imbalance <= 0))
                && !RestoreWork.of(snapshot, ranks, remembered)
                        .isWorthLeavingFor(RestoreWork.of(snapshot, ranks, fresh), migrations, ranks.meanChangelog());
    }

    /** Counts owned tasks that are planned elsewhere, and tasks without owner whose planned active is not caught up. */
    private int countMigrations(Placement plan) {
        return (int) IntStream.range(0, snapshot.taskCount())
                .filter(t -> snapshot.isMove(t, plan.active()[t])
                        || (snapshot.owners(t).length == 0 && ranks.rank(t, plan.active()[t]) > 0))
                .count();
    }
}
