package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.ServiceFailure;
import java.io.IOException;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * Answers a rebalance by the {@link RebalancePlanner}: where there is no service, or in its place.
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

    /** A result, and the reason for its follow-up if the planner did not ask for it; otherwise null. */
    private record Due(RebalancePlanner.Result result, FollowupReason reason) {}

    /** Answers. @throws IllegalStateException if the planner breaks a rule, which is a bug */
    Planned answer() throws IOException {
        Snapshot snapshot = input.snapshot();
        SentSnapshot sent = input.sent();
        Weights weights = sent.options().weigh(snapshot, input.memory().inputRates());
        Due due = addFollowup(
                RebalancePlanner.answer(snapshot.weighed(weights), sent.before(), sent.traffic(), sent.timing()));
        RebalancePlanner.Result result = due.result;
        Answer answer = RebalancePlanner.toAnswer(
                snapshot, result, isFallback || input.isShadow() ? Answer.FALLBACK : Answer.PLANNER);
        CheckedAnswer checked = RebalancePlanner.toCheckedAnswer(snapshot, result);
        TaskAssignment converted;
        try {
            AnswerCheck.check(snapshot, answer);
            converted = input.convert(checked);
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the planner's answer: " + e.getMessage(), e);
        }
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        AppliedAnswer toRemember = input.date(answer, result.stalled(), result.toBalanceMs());
        long targetMs = result.pace() != null && result.pace().isMeasured() ? result.toBalanceMs() : -1;
        return new Planned(new AcceptedAnswer(checked, plan, toRemember, converted, false), targetMs, due.reason);
    }

    /** Adds a follow-up to an answer without one if rates of the input, or the service, are waited for. */
    private Due addFollowup(RebalancePlanner.Result result) {
        long ratesMs = result.followupMs() >= 0 ? 0 : findWaitForRates();
        if (ratesMs > 0) {
            return new Due(result.withFollowup(FollowupLimits.clamp(ratesMs)), FollowupReason.INPUT_RATES);
        }
        long serviceMs = result.followupMs() >= 0 ? 0 : findWaitForService();
        return serviceMs > 0
                ? new Due(result.withFollowup(FollowupLimits.clamp(serviceMs)), FollowupReason.SERVICE)
                : new Due(result, null);
    }

    /**
     * Returns the time until rates of the input count, ms; 0 if they count. No task would move before the next
     * rebalance otherwise.
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
     * Returns the time until the service is asked again, ms; 0 if it need not be. A group at rest would otherwise not
     * ask it before an instance joins or leaves (R8).
     */
    private long findWaitForService() {
        if (!isFallback || !input.hasService() || input.isShadow()) {
            return 0;
        }
        long delayMs = input.sent().options().comeBackMs();
        long pauseMs = input.memory().breaker().pauseMs(System.nanoTime()); // a rebalance within it would not ask
        return delayMs == 0 ? 0 : Math.max(delayMs, pauseMs);
    }
}
