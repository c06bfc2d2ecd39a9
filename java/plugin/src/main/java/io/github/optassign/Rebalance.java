package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.measuring.Measures;
import io.github.optassign.memory.AppliedAnswer;
import io.github.optassign.memory.Memory;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.Fallback;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerReader;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.service.Racks;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.shadow.ShadowAssignor;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns Kafka's state at one rebalance into an assignment.
 *
 * <p>Its steps:
 *
 * <ol>
 *   <li>{@link #askService} asks the service and checks its answer; in shadow mode {@link #askShadow} has the
 *       {@link ShadowAssignor} run the group, and nobody waits for the service.
 *   <li>{@link #fallBack} answers by the {@link Fallback} if that gave no answer.
 *   <li>{@link #log} says in one line what was decided, and why not by whom it should have been.
 *   <li>{@link #makeReport} writes down what the service is to be told, where its answer is not applied.
 *   <li>{@link AnswerConverter} hands the answer to Kafka in its own types.
 * </ol>
 */
final class Rebalance {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);

    private final long start = System.nanoTime();
    private final ApplicationState state;
    private final String application;
    /** Null: the service cannot be asked. */
    private final PluginConfig config;
    /** Who runs the group in shadow mode; null: the fallback does. */
    private final ShadowAssignor shadow;
    /** By which a report names the rebalance. */
    private final String id = UUID.randomUUID().toString();
    /** The last answer that this JVM knows to be applied; null: none. */
    private final AppliedAnswer last;
    /** The same, unless another leader has decided since. */
    private final AppliedAnswer before;

    private final StreamsGroup group;
    private final Snapshot snapshot;
    /** Why there is no answer of whom there should be one; null: there is one. */
    private String failure;
    /** Per task its partitions; an empty list: racks do not matter, or are not known. */
    private List<List<Racks.Partition>> partitions = List.of();
    /** What the service gets as JSON; null: not yet written. */
    private byte[] body;

    /** How long it took until the service had answered or failed, ms. */
    private long askedMs;
    /** How long the service's answer was under way, ms; -1: there is none. */
    private long roundTripMs = -1;

    private AppliedAnswer decided;
    private AppliedReport report;

    /**
     * An answer, and what is to be remembered of it if it is applied.
     *
     * @param own what Kafka is to be given; null: the answer as it is
     */
    private record Decision(CheckedAnswer answer, AppliedAnswer toRemember, TaskAssignment own) {}

    /** Whoever may fail to answer. */
    private interface Source {
        Decision ask() throws IOException, ServiceFailure;
    }

    /**
     * Reads Kafka's state.
     *
     * @param config null: the service cannot be asked
     * @param shadow who runs the group in shadow mode; null: the fallback does
     */
    Rebalance(ApplicationState state, String application, PluginConfig config, ShadowAssignor shadow, Memory memory) {
        this.shadow = shadow;
        this.state = state;
        this.application = application;
        this.config = config;
        last = memory.lastApplied();
        group = StreamsGroup.read(state, memory.changelogEnds());
        snapshot = group.snapshot();
        before = last == null || last.isOvertaken(snapshot) ? null : last;
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
        failure = problem;
        Decision asked = failure == null ? tryToAsk(isShadow() ? this::askShadow : this::askService) : null;
        askedMs = elapsedMs();
        Decision applied = asked == null ? fallBack() : asked;
        log(applied.answer(), applied.toRemember().answer());
        decided = applied.toRemember();
        if (config != null && (isShadow() || asked == null)) {
            report = tryToReport();
        }
        return applied.own() == null ? AnswerConverter.convert(group, applied.answer(), Instant.now()) : applied.own();
    }

    /** What was decided, to be remembered once Kafka has taken it; null: nothing. */
    AppliedAnswer decided() {
        return decided;
    }

    /** What the service is to be told once Kafka has taken the answer; null: nothing, it knows. */
    AppliedReport report() {
        return report;
    }

    private boolean isShadow() {
        return config != null && config.mode() == PluginConfig.Mode.SHADOW;
    }

    /** Asks; null: there is no answer that may be applied, and {@link #failure} says why, if that is a failure. */
    private Decision tryToAsk(Source source) {
        try {
            return source.ask();
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

    private Decision askService() throws IOException, ServiceFailure {
        long deadline = start + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs());
        partitions = Racks.find(group, deadline);
        writeBody();
        long sent = System.nanoTime();
        ServiceClient.Reply reply = new ServiceClient(config).ask(id, body, rememberedAt(), deadline);
        roundTripMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent);
        Answer answer = AnswerReader.read(reply.json());
        CheckedAnswer checked = AnswerCheck.check(snapshot, answer);
        checkWithKafka(toKafka(checked));
        return new Decision(checked, AppliedAnswer.of(reply.json(), reply.answeredAt(), answer, snapshot), null);
    }

    /** Has the group run as it would be without us; null: the fallback is to run it. */
    private Decision askShadow() throws IOException, ServiceFailure {
        findRacks();
        if (shadow == null) {
            return null;
        }
        try {
            ShadowAssignor.Decision decision = shadow.assign(state, group, partitions);
            CheckedAnswer checked = AnswerCheck.check(snapshot, decision.answer());
            checkWithKafka(decision.own() == null ? toKafka(checked) : decision.own());
            return new Decision(checked, toRemember(decision.answer(), false), decision.own());
        } catch (ServiceFailure e) {
            throw new ServiceFailure(shadow.name() + ": " + e.getMessage());
        } catch (LinkageError | RuntimeException e) {
            throw new ServiceFailure(shadow.name() + ": " + e);
        }
    }

    /** Without racks Kafka's own assignors do without them, so that is no failure here. */
    private void findRacks() {
        try {
            partitions = Racks.find(group, start + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs()));
        } catch (ServiceFailure e) {
            LOG.warn(
                    "optassign: application={} shadow: racks are not taken into account: {}",
                    application,
                    e.getMessage());
        }
    }

    private void writeBody() throws IOException {
        String remembered = before == null ? null : before.json();
        body = SnapshotWriter.write(group, application, Instant.now(), remembered, partitions);
    }

    private long rememberedAt() {
        return before == null ? -1 : before.answeredAt();
    }

    private AppliedAnswer toRemember(Answer answer, boolean stalled) throws IOException {
        String json = AnswerWriter.write(answer, stalled);
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
            String why = ServiceFailure.toOneLine(e.toString());
            LOG.warn("optassign: application={} report: not made, so this is not recorded: {}", application, why);
            return null;
        }
    }

    private AppliedReport makeReport() throws IOException {
        if (body == null) {
            writeBody(); // in shadow mode, or without racks where these were what failed
        }
        return new AppliedReport(
                application,
                config.mode(),
                id,
                decided.answeredAt(),
                System.nanoTime(),
                rememberedAt(),
                failure == null ? "shadow mode" : failure,
                decided.json(),
                body);
    }

    /**
     * Runs Kafka's own validation early: failing later, it would end this thread. {@link AnswerCheck} covers all that
     * it looks for today, but a later Kafka may look for more.
     */
    private void checkWithKafka(TaskAssignment converted) throws ServiceFailure {
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, converted);
        if (error != AssignmentError.NONE) {
            throw new ServiceFailure("found an answer that Kafka refuses: " + error);
        }
    }

    private TaskAssignment toKafka(CheckedAnswer answer) {
        return AnswerConverter.convert(group, answer, Instant.EPOCH);
    }

    private Decision fallBack() throws IOException {
        Fallback.Result result = Fallback.answer(snapshot, before);
        Answer answer = Fallback.toAnswer(snapshot, result);
        CheckedAnswer checked = Fallback.toCheckedAnswer(snapshot, result);
        try {
            AnswerCheck.check(snapshot, answer);
            checkWithKafka(toKafka(checked));
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the fallback's answer: " + e.getMessage(), e);
        }
        return new Decision(checked, toRemember(answer, result.stalled()), null);
    }

    private void log(CheckedAnswer answer, Answer told) {
        Measures measures = Measures.of(snapshot, answer.placement());
        if (failure != null) {
            String whom = config == null ? "" : isShadow() ? "shadow: " : config.assignUri() + " ";
            LOG.warn(
                    "optassign: application={} fallback: {}{}, after {} ms; answered by rules R1 to R6: active_moved={} "
                            + "warmups={} followup_ms={}",
                    application,
                    whom,
                    failure,
                    askedMs,
                    measures.activeMoved(),
                    measures.warmups(),
                    orNone(answer.firstFollowupMs()));
        }
        LOG.info(
                "optassign: application={} {}tasks={} clients={} answered_by={} active_moved={} warmups={} followup_ms={} "
                        + "total_ms={} round_trip_ms={}{}",
                application,
                isShadow() ? "shadow: " : "",
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.toOneLine(told.assignor()),
                measures.activeMoved(),
                measures.warmups(),
                orNone(answer.firstFollowupMs()),
                elapsedMs(),
                orNone(roundTripMs),
                told.detail().isEmpty() ? "" : " why=" + ServiceFailure.toOneLine(told.detail()));
    }

    private long elapsedMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private static String orNone(long value) {
        return value < 0 ? "none" : Long.toString(value);
    }
}
