package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Breaker;
import io.github.optassign.learn.Memory;
import io.github.optassign.learn.TimeWithoutProgress;
import io.github.optassign.metrics.RebalanceFigures;
import io.github.optassign.metrics.RebalanceFigures.Source;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Measures;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.policy.ClientPolicy;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerReader;
import io.github.optassign.service.AnswerSize;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.service.LateAnswer;
import io.github.optassign.service.MemoryRefused;
import io.github.optassign.service.RuleCheck;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.WrongAnswer;
import io.github.optassign.shadow.ShadowAssignor;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.ApplicationAdmin;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * Turns Kafka's state at one rebalance into an assignment.
 *
 * <p>Its steps:
 *
 * <ol>
 *   <li>{@link #findSourceEnds} asks the broker how far the input goes, where tasks are weighed by how fast it grows.
 *   <li>{@link #askService} asks the service, if there is one, and checks its answer; in shadow mode {@link #askShadow}
 *       has the {@link ShadowAssignor} run the group, and no thread waits for the service.
 *   <li>{@link #fallBack} answers by the {@link RebalancePlanner} if that gave no answer.
 *   <li>{@link #putOffFollowups} waits longer where follow-ups bring nothing; not in shadow mode.
 *   <li>{@link RebalanceLog} writes one line on the decision, and on the failure if another should have decided.
 *   <li>{@link #makeReport} writes down what the service is to be told, where its answer is not applied.
 *   <li>{@link AnswerConverter} hands the answer to Kafka in its own types.
 * </ol>
 */
final class Rebalance {

    private final ApplicationState state;
    private final String application;
    /** Null: the service cannot be asked. */
    private final PluginConfig config;
    /** Runs the group in shadow mode; null: the fallback does. */
    private final ShadowAssignor shadow;
    /** Asks the broker. */
    private final ApplicationAdmin admin;
    /** By which a report names the rebalance. */
    private final String id = UUID.randomUUID().toString();

    private final RebalanceLog log;
    private final Memory memory;
    /** The last answer that this JVM knows to be applied; null: none. */
    private final AppliedAnswer last;

    private final StreamsGroup group;
    private final Snapshot snapshot;
    private final SentSnapshot sent;
    /** The reason for a missing answer that was due; null: there is one. */
    private String failure;

    private AppliedAnswer decided;
    private TimeWithoutProgress counted;
    private AppliedReport report;
    /** How long the planner expects until its target is reached, ms; -1: no rate is known yet, or another answered. */
    private long targetMs = -1;

    /** The reason for a follow-up that the planner did not ask for; null: none was added. */
    private FollowupReason added;

    private RebalanceFigures figures;

    /**
     * An answer, and what is to be remembered of it if it is applied.
     *
     * @param plan the clients of all copies in the end; null: not known
     * @param converted the answer in Kafka's types, checked by Kafka
     * @param isWhole whether Kafka is to be given that as it is; otherwise with the answer's follow-ups
     */
    private record Decision(
            CheckedAnswer answer,
            Placement plan,
            AppliedAnswer toRemember,
            TaskAssignment converted,
            boolean isWhole) {}

    /** An answerer that may fail. */
    private interface Answerer {
        Decision ask() throws IOException, ServiceFailure;
    }

    /**
     * Reads Kafka's state.
     *
     * @param config null: the service cannot be asked
     * @param shadow who runs the group in shadow mode; null: the fallback does
     */
    Rebalance(
            ApplicationState state,
            String application,
            PluginConfig config,
            ShadowAssignor shadow,
            ApplicationAdmin admin,
            Memory memory) {
        this.shadow = shadow;
        this.admin = admin;
        this.state = state;
        this.application = application;
        this.config = config;
        this.memory = memory;
        log = new RebalanceLog(application, config);
        last = memory.lastApplied();
        boolean isBalanceLoose = config != null && config.options().isBalanceLoose();
        group = StreamsGroup.read(state, memory.changelogEnds(), isBalanceLoose);
        snapshot = group.snapshot();
        AppliedAnswer before = last == null || last.isOvertaken(snapshot) ? null : last;
        sent = new SentSnapshot(group, config, application, before);
    }

    /**
     * Assigns the tasks.
     *
     * @param problem why the service cannot be asked; null: it can
     * @throws IOException never in practice: JSON is written to memory
     */
    TaskAssignment assign(String problem) throws IOException {
        if (snapshot.clientCount() == 0) {
            return new TaskAssignment(List.of());
        }
        group.remarks().forEach(log::warnOnce);
        if (config != null && !config.ignored().isEmpty()) {
            log.warn(config.ignored());
        }
        failure = problem;
        findSourceEnds();
        Decision asked = failure == null ? tryToAsk(findAnswerer()) : null;
        log.noteAsked();
        Decision applied = asked == null ? fallBack() : asked;
        CheckedAnswer answer = applied.isWhole() ? applied.answer() : putOffFollowups(applied);
        log.say(snapshot, answer, applied.toRemember().answer(), failure, describeReasons(applied, answer));
        figures = RebalanceFigures.of(
                snapshot,
                answer.placement(),
                findSource(asked != null),
                failure != null,
                answer.firstFollowupMs(),
                targetMs);
        decided = applied.toRemember();
        if (hasService() && (isShadow() || asked == null)) {
            report = tryToReport();
        }
        return applied.isWhole()
                ? applied.converted()
                : AnswerConverter.withFollowups(applied.converted(), answer, Instant.now());
    }

    /** The decision, to be remembered once Kafka has taken it; null: none. */
    AppliedAnswer decided() {
        return decided;
    }

    /** Since when follow-ups have brought nothing, to be remembered with what was decided; null: not counted. */
    TimeWithoutProgress counted() {
        return counted;
    }

    /** The report to the service once Kafka has taken the answer; null: none is due, the service knows. */
    AppliedReport report() {
        return report;
    }

    /** The rebalance in numbers; null: there was no client. */
    RebalanceFigures figures() {
        return figures;
    }

    private Source findSource(boolean hasAnswer) {
        if (failure != null) {
            return Source.FALLBACK;
        }
        return isShadow() ? Source.SHADOW : hasAnswer ? Source.SERVICE : Source.PLANNER;
    }

    /**
     * Describes what the follow-up waits for, why the group rebalances, and the id by which log lines, recordings and
     * pages can be joined.
     */
    private String describeReasons(Decision applied, CheckedAnswer putOff) {
        FollowupReason reason = findReason(applied, putOff);
        String awaited = reason == null ? "" : "waits_for=" + reason.name().toLowerCase(Locale.ROOT) + " ";
        String trigger = awaited + "trigger=" + Trigger.describe(snapshot, last, System.nanoTime());
        return hasService() ? trigger + " rebalance=" + id : trigger;
    }

    /** The reason for the follow-up; null if there is none. */
    private FollowupReason findReason(Decision applied, CheckedAnswer putOff) {
        long delay = putOff.firstFollowupMs();
        if (delay < 0) {
            return null;
        }
        if (delay > applied.answer().firstFollowupMs()) {
            return FollowupReason.NO_PROGRESS;
        }
        return added == null
                ? FollowupReason.find(
                        snapshot,
                        applied.toRemember().answer(),
                        applied.answer(),
                        sent.timing().isByInterval())
                : added;
    }

    private boolean isShadow() {
        return config != null && config.mode() == Mode.SHADOW;
    }

    private boolean hasService() {
        return config != null && config.hasService();
    }

    private Answerer findAnswerer() {
        return isShadow() ? this::askShadow : hasService() ? this::askService : this::askNobody;
    }

    /** No service is configured: the planner is to answer. */
    private Decision askNobody() {
        findRacks();
        return null;
    }

    /** Asks; null: there is no answer that may be applied, and {@link #failure} says why, if that is a failure. */
    private Decision tryToAsk(Answerer answerer) {
        try {
            return answerer.ask();
        } catch (ServiceFailure e) {
            failure = e.getMessage();
        } catch (OutOfMemoryError e) {
            // There was no thread to be had, or the answer was too big for the heap: the fallback needs neither.
            failure = ServiceFailure.toOneLine(e.toString());
        } catch (Throwable e) {
            OptassignTaskAssignor.rethrowFatal(e);
            failure = ServiceFailure.toOneLine(e.toString());
        }
        return null;
    }

    /** Asks the service, unless its last answers were wrong or late and its pause is not over. */
    private Decision askService() throws IOException, ServiceFailure {
        Breaker breaker = memory.breaker();
        long pauseMs = breaker.pauseMs(System.nanoTime());
        long deadline = log.start() + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs());
        sent.findRacks(deadline);
        if (pauseMs > 0) {
            throw new ServiceFailure("not asked, but again in " + (pauseMs + 999) / 1000 + " s: " + breaker.describe());
        }
        boolean hasTime = deadline - System.nanoTime() > TimeUnit.MILLISECONDS.toNanos(config.timeoutMs()) / 2;
        try {
            Decision decision = askOnce(deadline);
            breaker.noteRight();
            return decision;
        } catch (WrongAnswer e) {
            breaker.noteWrong(e.getMessage(), System.nanoTime());
            throw e;
        } catch (LateAnswer e) {
            if (hasTime) { // otherwise the broker took the time to tell racks
                breaker.noteLate(e.getMessage(), System.nanoTime());
            }
            throw e;
        }
    }

    private Decision askOnce(long deadline) throws IOException, ServiceFailure {
        ServiceClient.Reply reply;
        long start = System.nanoTime();
        ServiceClient service = new ServiceClient(config);
        int limit = AnswerSize.findGreatest(snapshot);
        try {
            reply = service.ask(id, sent.body(), limit, sent.rememberedAt(), deadline);
        } catch (MemoryRefused e) {
            // A clock was wrong when this was dated, here or there. To insist would lock this JVM out.
            memory.forget();
            sent.forget();
            log.warn("the last answer is forgotten, as the service does not believe its date: " + e.getMessage());
            reply = service.ask(id, sent.body(), limit, sent.rememberedAt(), deadline);
        }
        log.noteRoundTrip(start);
        Answer answer = AnswerReader.read(reply.json(), snapshot);
        CheckedAnswer checked = AnswerCheck.check(snapshot, answer);
        Placement plan = RuleCheck.check(snapshot, answer, checked);
        AppliedAnswer toRemember = AppliedAnswer.of(reply.json(), reply.answeredAt(), answer, snapshot);
        return new Decision(checked, plan, toRemember, convert(checked), false);
    }

    /** Has the group run as it would be without us; null: the fallback is to run it. */
    private Decision askShadow() throws IOException, ServiceFailure {
        findRacks();
        if (shadow == null) {
            return null;
        }
        try {
            ShadowAssignor.Decision decision = shadow.assign(state, group, sent.partitions());
            CheckedAnswer checked = AnswerCheck.check(snapshot, decision.answer());
            AppliedAnswer toRemember = toRemember(decision.answer(), false, -1);
            return decision.own() == null
                    ? new Decision(checked, null, toRemember, convert(checked), false)
                    : new Decision(checked, null, toRemember, checkWithKafka(decision.own()), true);
        } catch (ServiceFailure e) {
            throw new ServiceFailure(shadow.name() + ": " + e.getMessage());
        } catch (LinkageError | RuntimeException e) {
            throw new ServiceFailure(shadow.name() + ": " + e);
        }
    }

    /** If racks are missing, Kafka's own assignors and the planner do without them, so that is no failure here. */
    private void findRacks() {
        try {
            sent.findRacks(log.start() + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs()));
        } catch (ServiceFailure e) {
            log.warn((isShadow() ? "shadow: " : "") + "racks are not taken into account: " + e.getMessage());
        }
    }

    /** If they are missing, the service goes on with its known rates: that is no reason not to ask it. */
    private void findSourceEnds() {
        String reason;
        try {
            if (config != null) {
                sent.findSourceEnds(
                        admin,
                        log.start() + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs() / ClientPolicy.SHARE_OF_ENDS));
            }
            if (sent.sourceEnds() != null) {
                memory.inputRates()
                        .measure(snapshot, sent.sourceEnds(), sent.timing().takenAtMs());
            }
            return;
        } catch (ServiceFailure e) {
            reason = e.getMessage();
        } catch (Throwable e) {
            if (!(e instanceof OutOfMemoryError)) {
                OptassignTaskAssignor.rethrowFatal(e);
            }
            reason = ServiceFailure.toOneLine(e.toString());
        }
        log.warn("how fast the input grows is not measured in this rebalance: " + reason);
    }

    private AppliedAnswer toRemember(Answer answer, boolean stalled, long toBalanceMs) throws IOException {
        boolean isToldToNone = config != null && !config.hasService();
        String json = isToldToNone ? "" : AnswerWriter.write(answer, stalled, toBalanceMs);
        return AppliedAnswer.of(json, AppliedAnswer.dateAfter(last), answer, snapshot);
    }

    /** Writes down what is to be reported; null: that failed, which is no reason not to assign. */
    private AppliedReport tryToReport() {
        try {
            return makeReport();
        } catch (Throwable e) {
            if (!(e instanceof OutOfMemoryError)) {
                OptassignTaskAssignor.rethrowFatal(e);
            }
            log.warn("report: not made, so this is not recorded: " + ServiceFailure.toOneLine(e.toString()));
            return null;
        }
    }

    private AppliedReport makeReport() throws IOException {
        return new AppliedReport(
                application,
                config.mode(),
                id,
                decided.answeredAt(),
                System.nanoTime(),
                sent.rememberedAt(),
                failure == null ? "shadow mode" : failure,
                decided.json(),
                sent.body());
    }

    /**
     * Runs Kafka's own validation early: failing later, it would end this thread. {@link AnswerCheck} covers all that
     * it looks for today, but a later Kafka may look for more.
     */
    private TaskAssignment checkWithKafka(TaskAssignment converted) throws ServiceFailure {
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, converted);
        if (error != AssignmentError.NONE) {
            throw new ServiceFailure("found an answer that Kafka refuses: " + error);
        }
        return converted;
    }

    private TaskAssignment convert(CheckedAnswer answer) throws ServiceFailure {
        return checkWithKafka(AnswerConverter.convert(group, answer));
    }

    private Decision fallBack() throws IOException {
        Weights weights = sent.options().weigh(snapshot, memory.inputRates());
        RebalancePlanner.Result result = comeBack(waitForRates(
                RebalancePlanner.answer(snapshot.weighed(weights), sent.before(), sent.traffic(), sent.timing())));
        Answer answer = RebalancePlanner.toAnswer(
                snapshot, result, failure == null && !isShadow() ? Answer.PLANNER : Answer.FALLBACK);
        CheckedAnswer checked = RebalancePlanner.toCheckedAnswer(snapshot, result);
        TaskAssignment converted;
        try {
            AnswerCheck.check(snapshot, answer);
            converted = convert(checked);
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the planner's answer: " + e.getMessage(), e);
        }
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        targetMs = result.pace() != null && result.pace().isMeasured() ? result.toBalanceMs() : -1;
        AppliedAnswer toRemember = toRemember(answer, result.stalled(), result.toBalanceMs());
        return new Decision(checked, plan, toRemember, converted, false);
    }

    /**
     * Asks for a follow-up where the service should have answered and the group would be left at rest: without one the
     * service, once it is back, would answer for the group only when an instance joins or leaves (R8).
     */
    private RebalancePlanner.Result comeBack(RebalancePlanner.Result result) {
        if (failure == null || !hasService() || isShadow() || result.followupMs() >= 0) {
            return result;
        }
        long delay = sent.options().comeBackMs();
        long pauseMs = memory.breaker().pauseMs(System.nanoTime()); // a rebalance within it would not ask
        if (delay == 0) {
            return result;
        }
        added = FollowupReason.SERVICE;
        return result.withFollowup(FollowupLimits.clamp(Math.max(delay, pauseMs)));
    }

    /**
     * Asks for a rebalance when rates come to count, if no other follow-up is due: otherwise they would move no task
     * (R8).
     */
    private RebalancePlanner.Result waitForRates(RebalancePlanner.Result result) {
        if (!sent.options().isWeighedByRates() || result.followupMs() >= 0) {
            return result;
        }
        long waitMs = memory.inputRates().findWaitMs(sent.timing().takenAtMs());
        long leastMs = sent.timing().isByInterval() ? snapshot.configs().probingRebalanceIntervalMs() : 0;
        if (waitMs == 0) {
            return result;
        }
        added = FollowupReason.INPUT_RATES;
        return result.withFollowup(FollowupLimits.clamp(Math.max(waitMs, leastMs)));
    }

    /** Puts off the follow-up where those before it brought the group no nearer to its plan. */
    private CheckedAnswer putOffFollowups(Decision decision) {
        long delay = decision.answer().firstFollowupMs();
        if (decision.plan() == null || delay < 0) {
            return decision.answer();
        }
        boolean movesNothing =
                Measures.of(snapshot, decision.answer().placement()).activeMoved() == 0;
        if (movesNothing && delay >= FollowupPolicy.LEAST_INTERVAL_MS) {
            return decision.answer(); // at rest or stalled: the operator's turn, at the time that the service told
        }
        long now = System.nanoTime();
        counted = TimeWithoutProgress.after(memory.timeWithoutProgress(), snapshot, decision.plan(), now);
        return decision.answer().backOff(counted.withoutProgressMs(now));
    }
}
