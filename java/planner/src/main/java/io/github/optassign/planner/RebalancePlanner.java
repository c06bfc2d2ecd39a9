package io.github.optassign.planner;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Previous;
import io.github.optassign.learn.Rates;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanChooser;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.step.FollowupTime;
import io.github.optassign.step.InterimAssigner;
import io.github.optassign.step.Offload;
import io.github.optassign.step.WarmupQueue;
import java.util.ArrayList;
import java.util.List;

/**
 * The planner of one rebalance, in the JVM, by the rules R1 to R6, R10 and R11 (docs/reference/rules.md). Equal input
 * gives equal answers.
 *
 * <ol>
 *   <li>{@link PlanChooser} chooses the plan, which is the final client of each copy, or keeps the remembered plan.
 *   <li>{@link InterimAssigner} assigns the actives and standbys that R3 and R5 allow now.
 *   <li>{@link WarmupQueue} warms up copies of the plan on clients that have no copy yet.
 *   <li>{@link Offload} moves actives off clients with too many until the plan is reached.
 *   <li>{@link FollowupTime} chooses the delay of the follow-up, if another rebalance can make progress.
 * </ol>
 */
public final class RebalancePlanner extends PlanningStep {
    private final Timing timing;
    private final Rates rates;
    private final Placement plan;
    private final Placement answer;
    private final FollowupTime followup;
    private final WarmupQueue queue;

    /**
     * The planner's answer, and the state of the group until the follow-up.
     *
     * @param placement the clients of all copies from this rebalance on
     * @param plan the final clients of all copies, or null if {@code placement} is the plan
     * @param followupMs the delay of the follow-up, ms, or -1 if no follow-up is needed (R8 says which client asks)
     * @param progress the copies whose lags the next answer compares
     * @param stalled whether the group makes no progress ({@link WarmupQueue#isStalled})
     * @param pace the restore rates from which the next answer starts, or null if the snapshot has no time
     * @param toBalanceMs the expected time until the plan is reached, ms, which decides on offload; -1 if there can be
     *     no offload, no copy is pending, or the snapshot has no time
     */
    public record Result(
            Placement placement,
            Placement plan,
            long followupMs,
            List<Answer.Progress> progress,
            boolean stalled,
            Pace pace,
            long toBalanceMs) {
        /** Creates a result without a follow-up; {@code plan} is null if the placement is the plan. */
        public Result(Placement placement, Placement plan) {
            this(placement, plan, -1, List.of(), false, null, -1);
        }

        /** Returns a copy of this result with the given delay of the follow-up, ms. */
        public Result withFollowup(long delayMs) {
            return new Result(placement, plan, delayMs, progress, stalled, pace, toBalanceMs);
        }

        /** Returns a copy of this result with other placement, plan and awaited copies. */
        public Result withCopies(Placement copies, Placement planned, List<Answer.Progress> awaited) {
            return new Result(copies, planned, followupMs, awaited, stalled, pace, toBalanceMs);
        }
    }

    private RebalancePlanner(Snapshot snapshot, AppliedAnswer applied, RackTraffic traffic, Timing timing) {
        super(snapshot, new Previous(snapshot, applied));
        this.timing = timing;
        rates = new Rates(snapshot, previous, timing);
        plan = PlanChooser.plan(this, traffic, rates.perSecond());
        answer = InterimAssigner.assign(this, plan);
        followup = new FollowupTime(this, plan, answer, rates, timing);
        queue = new WarmupQueue(this, plan, answer, rates, snapshot.weights() == null && followup.isTimed());
    }

    /** Returns the answer to a rebalance without racks and times; {@code applied} is null if none is remembered. */
    public static Result answer(Snapshot snapshot, AppliedAnswer applied) {
        return answer(snapshot, applied, RackTraffic.NONE, Timing.NONE);
    }

    /**
     * Returns the answer to a rebalance.
     *
     * @param snapshot the group, with at least one client
     * @param applied the last applied answer, or null if none is remembered
     * @param traffic the reads of copies across racks, or {@link RackTraffic#NONE}
     * @param timing the time of the snapshot, and the prices of offload
     */
    public static Result answer(Snapshot snapshot, AppliedAnswer applied, RackTraffic traffic, Timing timing) {
        RebalancePlanner planner = new RebalancePlanner(snapshot, applied, traffic, timing);
        planner.queue.assignWarmups();
        return planner.chooseFollowup();
    }

    private Result chooseFollowup() {
        boolean reached = answer.hasSameCopies(plan);
        long followupMs = -1;
        long toBalanceMs = -1;
        if (!reached && (!queue.isGivenUp() || snapshot.hasUnknownLag())) {
            boolean areOwnersHeldBack = InterimAssigner.mayBeUnknownSecondPass(snapshot, previous);
            // If tasks weigh differently, their numbers do not tell which client has too much.
            toBalanceMs = areOwnersHeldBack || snapshot.weights() != null ? -1 : queue.estimateToBalanceMs(timing);
            if (toBalanceMs >= 0) {
                new Offload(this, plan, answer, timing.prices()).offload(toBalanceMs);
            }
            followupMs = followup.chooseMs(queue, areOwnersHeldBack);
        } else if (snapshot.hasUnknownLag()) {
            followupMs = snapshot.configs().followupIntervalMs();
        }
        return new Result(
                answer,
                reached ? null : plan,
                followupMs,
                reached ? List.of() : queue.progress(),
                !reached && queue.isStalled(),
                rates.toPace(),
                toBalanceMs);
    }

    /** Returns the result as an answer with ids in place of indices, from {@link Answer#PLANNER}. */
    public static Answer toAnswer(Snapshot snapshot, Result result) {
        return toAnswer(snapshot, result, Answer.PLANNER);
    }

    /** Returns the result as an answer with ids, from {@link Answer#PLANNER} or {@link Answer#FALLBACK}. */
    public static Answer toAnswer(Snapshot snapshot, Result result, String assignor) {
        List<Answer.Client> clients = listByClient(snapshot, result.placement(), result.followupMs());
        List<Answer.Client> plan = result.plan() == null ? null : listByClient(snapshot, result.plan(), -1);
        return new Answer(assignor, clients, plan, result.progress(), result.pace(), "");
    }

    private static List<Answer.Client> listByClient(Snapshot snapshot, Placement placement, long followupMs) {
        List<Answer.Client> clients = new ArrayList<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            Long delayMs = c == snapshot.followupClient() && followupMs >= 0 ? followupMs : null;
            clients.add(new Answer.Client(
                    snapshot.clientName(c), new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), delayMs));
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            String name = snapshot.taskName(t);
            clients.get(placement.active()[t]).active().add(name);
            for (int c : placement.standby()[t]) {
                clients.get(c).standby().add(name);
            }
            for (int c : placement.warmup()[t]) {
                clients.get(c).warmup().add(name);
            }
        }
        return clients;
    }
}
