package io.github.optassign.planner;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Previous;
import io.github.optassign.learn.Rates;
import io.github.optassign.model.Answer;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Ranks;
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
 * Answers a rebalance inside the JVM, by the rules R1 to R6, R10 and R11. Equal input gives equal answers.
 *
 * <p>Its passes:
 *
 * <ol>
 *   <li>{@link PlanChooser} makes the plan, where every copy should be in the end, or keeps the remembered one.
 *   <li>{@link InterimAssigner} gives each task an active and standbys, as R3 and R5 allow now.
 *   <li>{@link WarmupQueue} warms up what the plan still lacks.
 *   <li>{@link Offload} has tasks be active elsewhere until then, where a client would have too many.
 *   <li>{@link #chooseFollowup} asks for another rebalance while that can make progress.
 * </ol>
 */
public final class RebalancePlanner extends PlanningStep {
    private final Timing timing;
    private final Rates rates;
    private final Placement plan;
    private final Placement answer;

    /**
     * The planner's answer, and the state of the group until the follow-up.
     *
     * @param placement the clients of all copies now
     * @param plan the clients of all copies in the end; null if the placement is the plan
     * @param followupMs the delay of the follow-up, ms; -1 if no follow-up is asked for (R8 says which client asks)
     * @param progress the copies that the follow-up waits for
     * @param stalled whether there are such copies and none has made progress for several answers
     * @param pace the restore rates with which the next answer begins; null if no times are known
     * @param toBalanceMs expected time until the plan is reached, ms, by which offload is judged; -1 if nothing is
     *     waited for, or times are not known
     */
    public record Result(
            Placement placement,
            Placement plan,
            long followupMs,
            List<Answer.Progress> progress,
            boolean stalled,
            Pace pace,
            long toBalanceMs) {
        /** Creates an answer without a follow-up. */
        public Result(Placement placement, Placement plan) {
            this(placement, plan, -1, List.of(), false, null, -1);
        }

        /** Returns the same answer with a follow-up after this delay, ms. */
        public Result withFollowup(long delayMs) {
            return new Result(placement, plan, delayMs, progress, stalled, pace, toBalanceMs);
        }

        /** Returns the same follow-up for other copies. */
        public Result withCopies(Placement copies, Placement planned, List<Answer.Progress> awaited) {
            return new Result(copies, planned, followupMs, awaited, stalled, pace, toBalanceMs);
        }
    }

    private RebalancePlanner(Snapshot snapshot, AppliedAnswer applied, RackTraffic traffic, Timing timing) {
        super(snapshot, new Ranks(snapshot), new Previous(snapshot, applied));
        this.timing = timing;
        rates = new Rates(snapshot, ranks, previous, timing);
        plan = PlanChooser.plan(this, traffic, rates.perSecond());
        answer = InterimAssigner.assign(this, plan);
    }

    /** Answers a rebalance where racks do not matter and times are not known. */
    public static Result answer(Snapshot snapshot, AppliedAnswer applied) {
        return answer(snapshot, applied, RackTraffic.NONE, Timing.NONE);
    }

    /**
     * Answers a rebalance.
     *
     * @param snapshot with at least one client
     * @param applied the last applied answer; null if there is none
     * @param traffic the reads of copies across racks, if known
     * @param timing by which the follow-up's delay is chosen
     */
    public static Result answer(Snapshot snapshot, AppliedAnswer applied, RackTraffic traffic, Timing timing) {
        RebalancePlanner planner = new RebalancePlanner(snapshot, applied, traffic, timing);
        WarmupQueue queue = planner.assignWarmups();
        return planner.chooseFollowup(queue);
    }

    private WarmupQueue assignWarmups() {
        boolean isTimed = snapshot.weights() == null && FollowupTime.isTimed(snapshot, timing, rates);
        WarmupQueue queue = new WarmupQueue(this, plan, answer, rates, isTimed);
        queue.assignWarmups();
        return queue;
    }

    private Result chooseFollowup(WarmupQueue queue) {
        boolean reached = answer.hasSameCopies(plan);
        long followupMs = -1;
        long toBalanceMs = -1;
        if (!reached && (!queue.isGivenUp() || snapshot.hasUnknownLag())) {
            boolean areOwnersHeldBack = InterimAssigner.mayBeUnknownSecondPass(snapshot, ranks, previous);
            // If tasks weigh differently, their numbers do not tell which client has too much.
            toBalanceMs = areOwnersHeldBack || snapshot.weights() != null ? -1 : queue.estimateToBalanceMs(timing);
            if (toBalanceMs >= 0) {
                new Offload(this, plan, answer, timing.prices()).offload(toBalanceMs);
            }
            followupMs = new FollowupTime(this, plan, answer, rates).chooseMs(timing, queue, areOwnersHeldBack);
        } else if (snapshot.hasUnknownLag()) {
            followupMs = FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
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

    /** Turns a result into the answer by ids, under {@link Answer#PLANNER}. */
    public static Answer toAnswer(Snapshot snapshot, Result result) {
        return toAnswer(snapshot, result, Answer.PLANNER);
    }

    /** Turns a result into the answer by ids, under {@link Answer#PLANNER} or {@link Answer#FALLBACK}. */
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
