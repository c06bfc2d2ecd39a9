package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Weights;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.ServiceFailure;
import java.io.IOException;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * The {@link RebalancePlanner}'s answer to a rebalance, without a service or as its fallback.
 *
 * @param isFallback whether the service should have answered
 */
record PlannerAnswerer(RebalanceInput input, boolean isFallback) {

    /**
     * The planner's answer.
     *
     * @param targetMs expected time until the plan is reached, ms; -1 if no rate is known
     * @param reason the reason for a follow-up that the planner did not ask for; null if there is none
     */
    record Planned(AcceptedAnswer decision, long targetMs, FollowupReason reason) {}

    /**
     * A result with its follow-up.
     *
     * @param reason the reason for the follow-up; null if the planner itself asked for it
     */
    private record Due(RebalancePlanner.Result result, FollowupReason reason) {}

    /**
     * Returns the planner's answer, checked and converted.
     *
     * @throws IllegalStateException if the planner breaks a rule, which is a bug
     */
    Planned answer() throws IOException {
        Snapshot snapshot = input.snapshot();
        SentSnapshot sent = input.sent();
        Weights weights = sent.options().weigh(snapshot, input.memory().inputRates());
        Due due = addFollowup(
                RebalancePlanner.answer(snapshot.withWeights(weights), sent.before(), sent.traffic(), sent.timing()));
        RebalancePlanner.Result result = due.result;
        Answer answer = RebalancePlanner.toAnswer(
                snapshot, result, isFallback || input.isShadow() ? Answer.FALLBACK : Answer.PLANNER);
        CheckedAnswer checked = CheckedAnswer.of(snapshot, result.placement(), result.followupMs());
        TaskAssignment converted;
        try {
            AnswerCheck.check(snapshot, answer);
            converted = input.convert(checked);
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the planner's answer: " + e.getMessage(), e);
        }
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        AppliedAnswer toRemember = input.createRecord(answer, result.stalled(), result.toBalanceMs());
        long targetMs = result.pace() != null && result.pace().isMeasured() ? result.toBalanceMs() : -1;
        return new Planned(new AcceptedAnswer(checked, plan, toRemember, converted, false), targetMs, due.reason);
    }

    /** Adds a follow-up to an answer without one if input rates are not yet known, or the service failed. */
    private Due addFollowup(RebalancePlanner.Result result) {
        long ratesMs = result.followupMs() >= 0 ? 0 : findWaitForRates();
        if (ratesMs > 0) {
            return new Due(result.withFollowup(Timing.clampFollowupMs(ratesMs)), FollowupReason.INPUT_RATES);
        }
        long serviceMs = result.followupMs() >= 0 ? 0 : findWaitForService();
        return serviceMs > 0
                ? new Due(result.withFollowup(Timing.clampFollowupMs(serviceMs)), FollowupReason.SERVICE)
                : new Due(result, null);
    }

    /**
     * Returns the time until input rates are known, ms; 0 if they are known or not used. A follow-up is due then, since
     * no task would move before the next rebalance otherwise.
     */
    private long findWaitForRates() {
        SentSnapshot sent = input.sent();
        if (!sent.options().isWeighedByRates()) {
            return 0;
        }
        long waitMs = input.memory().inputRates().findWaitMs(sent.timing().takenAtMs());
        long leastMs = sent.timing().isByInterval() ? input.snapshot().configs().probingRebalanceIntervalMs() : 0;
        return waitMs == 0 ? 0 : Math.max(waitMs, leastMs);
    }

    /**
     * Returns the time until a failed service is asked again, ms; 0 if no follow-up is needed for that. Without a
     * follow-up, a group at rest would ask only when an instance joins or leaves (R8).
     */
    private long findWaitForService() {
        if (!isFallback || !input.hasService() || input.isShadow()) {
            return 0;
        }
        long delayMs = input.sent().options().askAgainMs();
        long pauseMs =
                input.memory().breaker().pauseMs(System.nanoTime()); // a rebalance within this pause would not ask
        return delayMs == 0 ? 0 : Math.max(delayMs, pauseMs);
    }
}
