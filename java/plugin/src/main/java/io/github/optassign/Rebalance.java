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
import io.github.optassign.service.Racks;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
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
 *   <li>{@link #tryService} asks the service and checks its answer.
 *   <li>{@link #fallBack} answers by the {@link Fallback} if the service gave no answer or runs in shadow mode.
 *   <li>{@link #log} says in one line what was decided, and why not by the service.
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
    /** The last answer that this JVM knows to be applied; null: none. */
    private final AppliedAnswer last;
    /** The same, unless another leader has decided since. */
    private final AppliedAnswer before;

    private final StreamsGroup group;
    private final Snapshot snapshot;
    /** Why there is no answer of the service's; null: there is one. */
    private String failure;
    /** How long it took until the service had answered or failed, ms. */
    private long askedMs;
    /** How long the service's answer was under way, ms; -1: there is none. */
    private long roundTripMs = -1;

    private AppliedAnswer decided;

    /** An answer of the service's or of the fallback's, and what is to be remembered of it if it is applied. */
    private record Decision(CheckedAnswer answer, AppliedAnswer toRemember) {}

    /**
     * Reads Kafka's state.
     *
     * @param config null: the service cannot be asked
     */
    Rebalance(ApplicationState state, String application, PluginConfig config, Memory memory) {
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
        Decision service = failure == null ? tryService() : null;
        askedMs = elapsedMs();
        Decision applied = service == null || isShadow() ? fallBack() : service;
        log(service, applied);
        decided = applied.toRemember();
        return AnswerConverter.convert(group, applied.answer(), Instant.now());
    }

    /** What was decided, to be remembered once Kafka has taken it; null: nothing. */
    AppliedAnswer decided() {
        return decided;
    }

    private boolean isShadow() {
        return config != null && config.mode() == PluginConfig.Mode.SHADOW;
    }

    /** Asks the service; null: it gave no answer that may be applied, and {@link #failure} says why. */
    private Decision tryService() {
        try {
            return askService();
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
        List<List<Racks.Partition>> partitions = Racks.find(group, deadline);
        String remembered = before == null ? null : before.json();
        byte[] body = SnapshotWriter.write(group, application, Instant.now(), remembered, partitions);
        long sent = System.nanoTime();
        ServiceClient.Reply reply =
                new ServiceClient(config).ask(body, before == null ? -1 : before.answeredAt(), deadline);
        roundTripMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent);
        Answer answer = AnswerReader.read(reply.json());
        CheckedAnswer checked = AnswerCheck.check(snapshot, answer);
        checkWithKafka(checked);
        return new Decision(checked, AppliedAnswer.of(reply.json(), reply.answeredAt(), answer, snapshot));
    }

    /**
     * Runs Kafka's own validation early: failing later, it would end this thread. {@link AnswerCheck} covers all that
     * it looks for today, but a later Kafka may look for more.
     */
    private void checkWithKafka(CheckedAnswer answer) throws ServiceFailure {
        TaskAssignment converted = AnswerConverter.convert(group, answer, Instant.EPOCH);
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, converted);
        if (error != AssignmentError.NONE) {
            throw new ServiceFailure("found an answer that Kafka refuses: " + error);
        }
    }

    private Decision fallBack() throws IOException {
        Fallback.Result result = Fallback.answer(snapshot, before);
        Answer answer = Fallback.toAnswer(snapshot, result);
        String json = AnswerWriter.write(answer, result.stalled());
        CheckedAnswer checked = Fallback.toCheckedAnswer(snapshot, result);
        try {
            AnswerCheck.check(snapshot, answer);
            checkWithKafka(checked);
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the fallback's answer: " + e.getMessage(), e);
        }
        return new Decision(checked, AppliedAnswer.of(json, AppliedAnswer.dateAfter(last), answer, snapshot));
    }

    private void log(Decision service, Decision applied) {
        if (failure != null) {
            logFailure(applied);
        }
        if (!isShadow()) {
            logAnswer(applied);
        } else if (service != null) {
            logComparison(service, applied);
        }
    }

    private void logFailure(Decision applied) {
        String service = config == null ? "" : config.assignUri() + " ";
        Measures measures = Measures.of(snapshot, applied.answer().placement());
        LOG.warn(
                "optassign: application={} fallback: {}{}, after {} ms; answered by rules R1 to R6: active_moved={} "
                        + "warmups={} followup_ms={}",
                application,
                service,
                failure,
                askedMs,
                measures.activeMoved(),
                measures.warmups(),
                orNone(applied.answer().firstFollowupMs()));
    }

    private void logAnswer(Decision applied) {
        Measures measures = Measures.of(snapshot, applied.answer().placement());
        LOG.info(
                "optassign: application={} tasks={} clients={} answered_by={} active_moved={} warmups={} followup_ms={} "
                        + "total_ms={} round_trip_ms={}",
                application,
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.toOneLine(applied.toRemember().answer().assignor()),
                measures.activeMoved(),
                measures.warmups(),
                orNone(applied.answer().firstFollowupMs()),
                elapsedMs(),
                orNone(roundTripMs));
    }

    private void logComparison(Decision service, Decision applied) {
        LOG.info(
                "optassign: application={} shadow: tasks={} clients={} service ({}): {}; applied (fallback): {}; "
                        + "total_ms={} round_trip_ms={}",
                application,
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.toOneLine(service.toRemember().answer().assignor()),
                Measures.of(snapshot, service.answer().placement()),
                Measures.of(snapshot, applied.answer().placement()),
                elapsedMs(),
                orNone(roundTripMs));
    }

    private long elapsedMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private static String orNone(long value) {
        return value < 0 ? "none" : Long.toString(value);
    }
}
