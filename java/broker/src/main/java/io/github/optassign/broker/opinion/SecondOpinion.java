package io.github.optassign.broker.opinion;

import io.github.optassign.broker.group.BrokerDetails;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.PlanQuality;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerReader;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.service.RuleCheck;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.service.WrongAnswer;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/**
 * A request to the service for its plan of a group, while the group follows the planner's plan. If the service's plan
 * is better, the next call continues from it, unless the group has changed.
 *
 * <p>A background thread writes the request, and reads, checks and compares the answer. The coordinator's thread only
 * checks whether a plan has come and the group is unchanged.
 */
public final class SecondOpinion {
    private final String application;
    private final GroupFingerprint fingerprint;
    private final Instant takenAt = Instant.now();
    /** The question, or null if it is answered or no longer needed, since a snapshot may be large. */
    private volatile Question question;
    /** The service's answer if its plan is better; null if it is not, or not known yet. */
    private volatile Answer better;

    /**
     * The question to the service.
     *
     * @param plan the planner's plan
     * @param before the previous answer, or null if unknown
     */
    private record Question(Snapshot snapshot, BrokerDetails details, Placement plan, AppliedAnswer before) {}

    /**
     * Creates a request without sending it.
     *
     * @param application the group's name in requests to the service
     * @param plan the planner's plan
     * @param before the previous answer, or null if unknown
     */
    public SecondOpinion(
            String application,
            GroupFingerprint fingerprint,
            Snapshot snapshot,
            BrokerDetails details,
            Placement plan,
            AppliedAnswer before) {
        this.application = application;
        this.fingerprint = fingerprint;
        question = new Question(snapshot, details, plan, before);
    }

    public String application() {
        return application;
    }

    /** Returns whether the service has still to be asked. */
    public boolean isOpen() {
        return question != null;
    }

    /** Drops the question, since its answer is no longer needed. */
    public void close() {
        question = null;
    }

    /** Returns the number of tasks times the number of processes, or 0 if the question is closed. */
    public long size() {
        Question asked = question;
        return asked == null ? 0 : (long) asked.snapshot.taskCount() * asked.snapshot.clientCount();
    }

    /** Returns the snapshot, or null if the question is closed. */
    public Snapshot snapshot() {
        Question asked = question;
        return asked == null ? null : asked.snapshot;
    }

    /** Returns the time of the remembered answer in the request, milliseconds since 1970, or -1 if there is none. */
    public long rememberedAt() {
        Question asked = question;
        return asked == null || asked.before == null ? -1 : asked.before.answeredAt();
    }

    /**
     * Returns the snapshot as JSON, or null if the question is closed.
     *
     * @param withMemory whether to include the previous answer
     */
    public byte[] toBody(boolean withMemory) throws IOException {
        Question asked = question;
        if (asked == null) {
            return null;
        }
        String remembered =
                asked.before == null || !withMemory ? null : AnswerWriter.write(asked.before.answer(), false);
        return SnapshotWriter.write(asked.snapshot, asked.details, application, takenAt, remembered);
    }

    /**
     * Reads the service's answer, and closes the question.
     *
     * @return the comparison with the planner's plan, in words, or null if the question was closed
     * @throws WrongAnswer if the answer is invalid
     */
    public String take(String json) throws WrongAnswer {
        Question asked = question;
        if (asked == null) {
            return null;
        }
        Answer answer = AnswerReader.read(json, asked.snapshot);
        Placement plan = RuleCheck.check(asked.snapshot, answer, AnswerCheck.check(asked.snapshot, answer));
        PlanQuality ofService = PlanQuality.of(asked.snapshot, plan);
        PlanQuality ofPlanner = PlanQuality.of(asked.snapshot, asked.plan);
        boolean isBetter = ofService.isBetterThan(ofPlanner);
        if (isBetter) {
            better = answer;
        }
        close();
        return (isBetter ? "a better plan: " : "no better plan: ") + ofService + ", the planner's has " + ofPlanner;
    }

    /**
     * Returns the applied answer with the service's plan, from which the next call continues.
     *
     * @return the applied answer unchanged if there is no better plan, or the group has changed since
     */
    public AppliedAnswer putInto(AppliedAnswer applied, BrokerGroup group) {
        Answer found = better;
        if (found == null || applied == null || found.isByPlanner() || !fingerprint.fits(group)) {
            return applied;
        }
        List<Answer.Client> plan = found.plan() == null ? found.clients() : found.plan();
        Answer last = applied.answer();
        Answer answer = new Answer(found.assignor(), last.clients(), plan, last.progress(), last.pace(), "");
        return new AppliedAnswer(
                "", applied.answeredAt(), answer, applied.profiles(), applied.owners(), applied.decidedNanos(), true);
    }
}
