package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Memory;
import io.github.optassign.learn.TimeWithoutProgress;
import io.github.optassign.metrics.RebalanceFigures;
import io.github.optassign.metrics.RebalanceFigures.Source;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Measures;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.shadow.ShadowAssignor;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.ApplicationAdmin;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * One rebalance, from Kafka's state to an assignment.
 *
 * <p>Its steps:
 *
 * <ol>
 *   <li>{@link RebalanceInput} reads the group, and the growth of its input if task weights depend on it.
 *   <li>{@link ServiceAnswerer} asks the service, if there is one; in shadow mode {@link ShadowAnswerer} asks another
 *       assignor, and no thread waits for the service.
 *   <li>{@link PlannerAnswerer} answers if neither does.
 *   <li>{@link #backOff} delays follow-ups while the group makes no progress, unless a shadow assignor chose them.
 *   <li>{@link RebalanceLog} writes one line about the decision, and one about the failure if the planner stood in.
 *   <li>{@link #createReport} creates the report to the service if its answer is not applied.
 * </ol>
 */
final class Rebalance {
    private final String application;
    private final RebalanceInput input;
    /** The assignor of the group in shadow mode; null if the planner is chosen. */
    private final ShadowAssignor shadow;

    private final ApplicationAdmin admin;
    /** The id of the rebalance in log lines, recordings and pages. */
    private final String id = UUID.randomUUID().toString();

    /**
     * The result of asking.
     *
     * @param decision the answer, or null if no assignor gave a valid answer
     * @param failure the reason for the missing answer; null if there is an answer, or none was expected
     */
    private record Asked(AcceptedAnswer decision, String failure) {}

    /**
     * An answer with delayed follow-ups.
     *
     * @param withoutProgress the time since follow-ups last brought progress; null if it is not counted
     */
    private record BackedOff(CheckedAnswer answer, TimeWithoutProgress withoutProgress) {}

    /**
     * Reads Kafka's state.
     *
     * @param config null if the service cannot be asked
     * @param shadow the assignor of the group in shadow mode; null if the planner is chosen
     */
    Rebalance(
            ApplicationState state,
            String application,
            PluginConfig config,
            ShadowAssignor shadow,
            ApplicationAdmin admin,
            Memory memory) {
        this.application = application;
        this.shadow = shadow;
        this.admin = admin;
        input = RebalanceInput.read(state, application, config, memory);
    }

    /**
     * Assigns the tasks, and logs the decision.
     *
     * @param problem the reason why the service cannot be asked; null if it can
     * @throws IOException never in practice: JSON is written to memory
     */
    Outcome assign(String problem) throws IOException {
        if (input.snapshot().clientCount() == 0) {
            return new Outcome(new TaskAssignment(List.of()), null, null, null, null);
        }
        RebalanceLog log = input.log();
        input.group().remarks().forEach(log::warnOnce);
        if (input.config() != null && !input.config().ignored().isEmpty()) {
            log.warn(input.config().ignored());
        }
        input.measureInput(admin);
        Asked asked = problem == null ? ask() : new Asked(null, problem);
        log.noteAsked();
        boolean isFailure = asked.failure != null;
        PlannerAnswerer.Planned planned = asked.decision == null
                ? new PlannerAnswerer(input, isFailure).answer()
                : new PlannerAnswerer.Planned(asked.decision, -1, null);
        AcceptedAnswer decision = planned.decision();
        BackedOff backedOff = decision.hasOwnFollowups() ? new BackedOff(decision.answer(), null) : backOff(decision);
        CheckedAnswer answer = backedOff.answer;
        AppliedAnswer toRemember = decision.toRemember();
        String trigger = Trigger.describe(input.snapshot(), input.last(), System.nanoTime());
        String reasons = describeReasons(planned, answer.firstFollowupMs(), trigger);
        log.logDecision(input.snapshot(), answer, toRemember.answer(), asked.failure, reasons);
        RebalanceFigures figures = RebalanceFigures.of(
                input.snapshot(),
                answer.placement(),
                findSource(asked),
                isFailure,
                answer.firstFollowupMs(),
                planned.targetMs());
        boolean isReported = input.hasService() && (input.isShadow() || asked.decision == null);
        AppliedReport report = isReported ? createReport(toRemember, asked.failure) : null;
        TaskAssignment assignment = decision.hasOwnFollowups()
                ? decision.converted()
                : AnswerConverter.withFollowups(
                        decision.converted(), chooseDeadlines(answer, findSource(asked), trigger));
        return new Outcome(assignment, toRemember, backedOff.withoutProgress, report, figures);
    }

    /** Asks the service or, in shadow mode, the assignor of the group. */
    private Asked ask() {
        try {
            if (!input.isShadow() && input.hasService()) {
                return new Asked(new ServiceAnswerer(input, id).answer(), null);
            }
            input.findRacks();
            return new Asked(
                    input.isShadow() && shadow != null ? new ShadowAnswerer(input, shadow).answer() : null, null);
        } catch (ServiceFailure e) {
            return new Asked(null, e.getMessage());
        } catch (Throwable e) {
            return new Asked(null, OptassignTaskAssignor.describeSurvived(e));
        }
    }

    /** Delays the answer's follow-up if previous follow-ups brought no progress towards the plan. */
    private BackedOff backOff(AcceptedAnswer decision) {
        CheckedAnswer answer = decision.answer();
        long delayMs = answer.firstFollowupMs();
        if (decision.plan() == null || delayMs < 0) {
            return new BackedOff(answer, null);
        }
        boolean movesNothing = Measures.of(input.snapshot(), answer.placement()).activeMoved() == 0;
        if (movesNothing && delayMs >= FollowupPolicy.LEAST_INTERVAL_MS) {
            return new BackedOff(
                    answer, null); // at rest or stalled: the service has chosen the time, or an operator has to act
        }
        long now = System.nanoTime();
        TimeWithoutProgress counted =
                TimeWithoutProgress.after(input.memory().timeWithoutProgress(), input.snapshot(), decision.plan(), now);
        return new BackedOff(answer.backOff(counted.withoutProgressMs(now)), counted);
    }

    /** Returns per client the instant at which it asks, or null; those of a shadow assignor are kept. */
    private Instant[] chooseDeadlines(CheckedAnswer answer, Source source, String trigger) {
        Instant now = Instant.now();
        return shadow != null && source == Source.SHADOW
                ? FollowupDeadlines.keep(answer, now)
                : FollowupDeadlines.choose(input.snapshot(), answer, trigger.equals(Trigger.OTHER), now);
    }

    private Source findSource(Asked asked) {
        if (asked.failure != null) {
            return Source.FALLBACK;
        }
        return input.isShadow() ? Source.SHADOW : asked.decision != null ? Source.SERVICE : Source.PLANNER;
    }

    /** Returns the log fields {@code waits_for}, {@code trigger} and, with a service, {@code rebalance}. */
    private String describeReasons(PlannerAnswerer.Planned planned, long followupMs, String trigger) {
        FollowupReason reason = findReason(planned, followupMs);
        String awaited = reason == null ? "" : "waits_for=" + reason.name().toLowerCase(Locale.ROOT) + " ";
        return awaited + "trigger=" + trigger + (input.hasService() ? " rebalance=" + id : "");
    }

    /** Returns the reason for the follow-up, or null if there is none. */
    private FollowupReason findReason(PlannerAnswerer.Planned planned, long followupMs) {
        AcceptedAnswer decision = planned.decision();
        if (followupMs < 0) {
            return null;
        }
        if (followupMs > decision.answer().firstFollowupMs()) {
            return FollowupReason.NO_PROGRESS;
        }
        return planned.reason() != null
                ? planned.reason()
                : FollowupReason.find(
                        input.snapshot(),
                        decision.toRemember().answer(),
                        decision.answer(),
                        input.sent().timing().isByInterval());
    }

    /** Returns the report, or null if it cannot be created; the assignment does not depend on it. */
    private AppliedReport createReport(AppliedAnswer applied, String failure) {
        try {
            return new AppliedReport(
                    application,
                    input.config().mode(),
                    id,
                    applied.answeredAt(),
                    System.nanoTime(),
                    input.sent().rememberedAt(),
                    failure == null ? "shadow mode" : failure,
                    applied.json(),
                    input.sent().body());
        } catch (Throwable e) {
            input.log()
                    .warn("report: not created, so this rebalance is not recorded: "
                            + OptassignTaskAssignor.describeSurvived(e));
            return null;
        }
    }
}
