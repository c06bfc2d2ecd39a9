package io.github.optassign;

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
 * One rebalance from Kafka's state to Kafka's assignment: ask the service, check its answer, else fall back; log it.
 */
final class Rebalance {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);

    private final long start = System.nanoTime();
    private final ApplicationState state;
    private final String application;
    private final PluginConfig config;
    private final Memory.Applied last;
    private final Memory.Applied before;
    private final Snapshot snapshot;
    private long roundTripMs = -1;
    private Memory.Applied toRemember;

    /** What the service or the fallback decided, and what is to be remembered of it if it is applied. */
    private record Decided(CheckedAnswer answer, Memory.Applied remembered) {}

    /**
     * Reads Kafka's state.
     *
     * @param config null: the service cannot be asked
     */
    Rebalance(ApplicationState state, String application, PluginConfig config, Memory memory) {
        this.state = state;
        this.application = application;
        this.config = config;
        last = memory.applied();
        snapshot = Snapshot.of(state, memory.changelogEnds());
        before = last == null || last.overtaken(snapshot) ? null : last;
    }

    /**
     * Decides.
     *
     * @param problem why the service cannot be asked; null: it can
     * @throws IOException never in practice: JSON is written to memory
     */
    TaskAssignment assign(String problem) throws IOException {
        if (snapshot.clientCount() == 0) {
            return new TaskAssignment(List.of());
        }
        String failure = problem;
        Decided service = null;
        if (failure == null) {
            try {
                service = askService();
            } catch (ServiceFailure e) {
                failure = e.getMessage();
            } catch (OutOfMemoryError e) {
                // No thread to be had, or an answer too big for the heap: the fallback needs neither.
                failure = ServiceFailure.oneLine(e.toString());
            } catch (Throwable e) {
                OptassignTaskAssignor.passOnFatal(e);
                failure = ServiceFailure.oneLine(e.toString());
            }
        }
        long askedMs = elapsedMs();
        boolean shadow = config != null && config.mode() == PluginConfig.Mode.SHADOW;
        Decided applied = service != null && !shadow ? service : fallBack();
        if (failure != null) {
            warn(failure, askedMs, applied);
        }
        if (!shadow) {
            inform(applied);
        } else if (service != null) {
            compare(service, applied);
        }
        toRemember = applied.remembered();
        return KafkaAnswer.of(snapshot, applied.answer(), Instant.now());
    }

    /** What was decided, for the next rebalance; null: nothing. */
    Memory.Applied toRemember() {
        return toRemember;
    }

    private Decided askService() throws IOException, ServiceFailure {
        long deadline = start + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs());
        List<List<Racks.Partition>> partitions = Racks.of(snapshot, deadline);
        String remembered = before == null ? null : before.json();
        byte[] body = SnapshotWriter.write(snapshot, application, Instant.now(), remembered, partitions);
        long sent = System.nanoTime();
        ServiceClient.Reply reply =
                new ServiceClient(config).ask(body, before == null ? -1 : before.answeredAt(), deadline);
        roundTripMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent);
        Answer answer = AnswerReader.read(reply.json());
        CheckedAnswer checked = AnswerCheck.check(snapshot, answer);
        kafkaAccepts(checked);
        return new Decided(checked, Memory.Applied.of(reply.json(), reply.answeredAt(), answer, snapshot));
    }

    /** Kafka's own validation, which would end this thread afterwards: for what a later Kafka may add to it. */
    private void kafkaAccepts(CheckedAnswer answer) throws ServiceFailure {
        TaskAssignment converted = KafkaAnswer.of(snapshot, answer, Instant.EPOCH);
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, converted);
        if (error != AssignmentError.NONE) {
            throw new ServiceFailure("found an answer that Kafka refuses: " + error);
        }
    }

    private Decided fallBack() throws IOException {
        Fallback.Result result = Fallback.answer(snapshot, before);
        Answer named = Fallback.named(snapshot, result);
        String json = AnswerWriter.write(named, result.stalled());
        CheckedAnswer checked = Fallback.checked(snapshot, result);
        try {
            AnswerCheck.check(snapshot, named);
            kafkaAccepts(checked);
        } catch (ServiceFailure e) {
            throw new IllegalStateException("the fallback's answer: " + e.getMessage(), e);
        }
        return new Decided(checked, Memory.Applied.of(json, Memory.Applied.dateAfter(last), named, snapshot));
    }

    private void warn(String failure, long askedMs, Decided applied) {
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

    private void inform(Decided applied) {
        Measures measures = Measures.of(snapshot, applied.answer().placement());
        LOG.info(
                "optassign: application={} tasks={} clients={} answered_by={} active_moved={} warmups={} followup_ms={} "
                        + "total_ms={} round_trip_ms={}",
                application,
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.oneLine(applied.remembered().answer().assignor()),
                measures.activeMoved(),
                measures.warmups(),
                orNone(applied.answer().firstFollowupMs()),
                elapsedMs(),
                orNone(roundTripMs));
    }

    private void compare(Decided service, Decided applied) {
        LOG.info(
                "optassign: application={} shadow: tasks={} clients={} service ({}): {}; applied (fallback): {}; "
                        + "total_ms={} round_trip_ms={}",
                application,
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.oneLine(service.remembered().answer().assignor()),
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
