package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Memory;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.ApplicationAdmin;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * The input of one rebalance: Kafka's state, the configuration, and the memory of earlier rebalances.
 *
 * @param config null if the service cannot be asked
 * @param last the last answer that this JVM knows to be applied; null if there is none
 * @param group Kafka's state, read into a snapshot
 * @param sent the snapshot for the service
 */
record RebalanceInput(
        ApplicationState state,
        PluginConfig config,
        Memory memory,
        RebalanceLog log,
        AppliedAnswer last,
        StreamsGroup group,
        SentSnapshot sent) {
    /** The time-out divided by the broker's time to give end offsets. The service gets most of the time-out. */
    private static final int SHARE_OF_ENDS = 4;

    /**
     * Reads Kafka's state into a snapshot.
     *
     * @param config null if the service cannot be asked
     */
    static RebalanceInput read(ApplicationState state, String application, PluginConfig config, Memory memory) {
        RebalanceLog log = new RebalanceLog(application, config);
        AppliedAnswer last = memory.lastApplied();
        boolean isBalanceLoose = config != null && config.options().isBalanceLoose();
        StreamsGroup group = StreamsGroup.read(state, memory.changelogEnds(), isBalanceLoose);
        AppliedAnswer before = last == null || last.isSuperseded(group.snapshot()) ? null : last;
        SentSnapshot sent = new SentSnapshot(group, config, application, before);
        return new RebalanceInput(state, config, memory, log, last, group, sent);
    }

    Snapshot snapshot() {
        return group.snapshot();
    }

    boolean isShadow() {
        return config != null && config.mode() == Mode.SHADOW;
    }

    boolean hasService() {
        return config != null && config.hasService();
    }

    /** Returns the deadline of an answer, as of System.nanoTime. */
    long deadline() {
        return log.start() + TimeUnit.MILLISECONDS.toNanos(config.timeoutMs());
    }

    /**
     * Finds racks for Kafka's assignors and the planner. If the broker does not report them in time, they plan without
     * racks.
     */
    void findRacks() {
        try {
            sent.findRacks(deadline());
        } catch (ServiceFailure e) {
            log.warn((isShadow() ? "shadow: " : "") + "racks are not taken into account: " + e.getMessage());
        }
    }

    /**
     * Measures the growth of the input if task weights depend on it. A failure is logged, and known rates remain in
     * use.
     */
    void measureInput(ApplicationAdmin admin) {
        String reason;
        try {
            if (config != null) {
                long waitMs = config.timeoutMs() / SHARE_OF_ENDS;
                sent.findSourceEnds(admin, log.start() + TimeUnit.MILLISECONDS.toNanos(waitMs));
            }
            if (sent.sourceEnds() != null) {
                memory.inputRates()
                        .measure(snapshot(), sent.sourceEnds(), sent.timing().takenAtMs());
            }
            return;
        } catch (ServiceFailure e) {
            reason = e.getMessage();
        } catch (Throwable e) {
            reason = OptassignTaskAssignor.describeSurvived(e);
        }
        log.warn("the growth of the input is not measured in this rebalance: " + reason);
    }

    /**
     * Converts an answer into Kafka's types.
     *
     * @throws ServiceFailure if Kafka would refuse it
     */
    TaskAssignment convert(CheckedAnswer answer) throws ServiceFailure {
        return checkWithKafka(AnswerConverter.convert(group, answer));
    }

    /**
     * Returns the assignment unchanged if Kafka's own validation accepts it. Kafka's refusal after {@code assign} would
     * end this thread. {@link AnswerCheck} covers today's validation; a later Kafka may check more.
     *
     * @throws ServiceFailure if Kafka would refuse the assignment
     */
    TaskAssignment checkWithKafka(TaskAssignment converted) throws ServiceFailure {
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, converted);
        if (error != AssignmentError.NONE) {
            throw new ServiceFailure("found an answer that Kafka refuses: " + error);
        }
        return converted;
    }

    /**
     * Returns the record of an answer that this JVM decided, with the current date.
     *
     * @param toBalanceMs expected time until the plan is reached, ms; -1 if unknown
     * @throws IOException never in practice: JSON is written to memory
     */
    AppliedAnswer createRecord(Answer answer, boolean isStalled, long toBalanceMs) throws IOException {
        boolean isWithoutService = config != null && !config.hasService();
        String json = isWithoutService ? "" : AnswerWriter.write(answer, isStalled, toBalanceMs);
        return AppliedAnswer.of(json, AppliedAnswer.dateAfter(last), answer, snapshot())
                .continuing(sent.before());
    }
}
