package io.github.optassign.broker.opinion;

import io.github.optassign.broker.group.BrokerDetails;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.PlanOrder;
import io.github.optassign.model.Ranks;
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
 * One call's group, for which the service is asked for its plan while the group goes on with the planner's. If that
 * plan is better, the next call goes on from it, unless another event has happened to the group.
 *
 * <p>It is asked about on another thread, which is where everything is written, read, checked and compared. The
 * coordinator's thread only checks whether a plan is there and fits.
 */
public final class SecondOpinion {
    private final String application;
    private final GroupFingerprint fingerprint;
    private final Instant takenAt = Instant.now();
    /** Null once the service has answered, or its answer is not wanted any more: a snapshot may be large. */
    private volatile Question question;
    /** The service's answer, if its plan is better; null: it is not, or not there yet. */
    private volatile Answer better;

    /**
     * The question to the service.
     *
     * @param ours the planner's plan
     * @param before the last answer before this one; null: none is known
     */
    private record Question(Snapshot snapshot, BrokerDetails details, Placement ours, AppliedAnswer before) {}

    /**
     * Asks nobody yet.
     *
     * @param application the name towards the service
     * @param ours the planner's plan
     * @param before the last answer before this one; null: none is known
     */
    public SecondOpinion(
            String application,
            GroupFingerprint fingerprint,
            Snapshot snapshot,
            BrokerDetails details,
            Placement ours,
            AppliedAnswer before) {
        this.application = application;
        this.fingerprint = fingerprint;
        question = new Question(snapshot, details, ours, before);
    }

    public String application() {
        return application;
    }

    /** Whether the service is still to be asked. */
    public boolean isOpen() {
        return question != null;
    }

    /** Drops the question: its answer is not wanted any more. */
    public void close() {
        question = null;
    }

    /** Tasks times processes; 0: it is not open. */
    public long size() {
        Question asked = question;
        return asked == null ? 0 : (long) asked.snapshot.taskCount() * asked.snapshot.clientCount();
    }

    /** The snapshot; null: it is not open. */
    public Snapshot snapshot() {
        Question asked = question;
        return asked == null ? null : asked.snapshot;
    }

    /** When the answer that goes along was decided, milliseconds since 1970; -1: none goes along. */
    public long rememberedAt() {
        Question asked = question;
        return asked == null || asked.before == null ? -1 : asked.before.answeredAt();
    }

    /** The snapshot as JSON; null: it is not open. */
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
     * Takes the service's answer; after this it is no longer open.
     *
     * @return its worth compared with the planner's, in words; null: the answer is not wanted any more
     * @throws WrongAnswer if it is none that may be believed
     */
    public String take(String json) throws WrongAnswer {
        Question asked = question;
        if (asked == null) {
            return null;
        }
        Answer answer = AnswerReader.read(json, asked.snapshot);
        Placement plan = RuleCheck.check(asked.snapshot, answer, AnswerCheck.check(asked.snapshot, answer));
        Ranks ranks = new Ranks(asked.snapshot);
        PlanOrder theirs = PlanOrder.of(asked.snapshot, ranks, plan);
        PlanOrder ours = PlanOrder.of(asked.snapshot, ranks, asked.ours);
        boolean isBetter = theirs.isBetterThan(ours);
        if (isBetter) {
            better = answer;
        }
        close();
        return (isBetter ? "a better plan: " : "no better plan: ") + theirs + " where ours has " + ours;
    }

    /**
     * The start of the next call: the applied answer, with the service's plan in it. As it is where there is no better
     * plan, or something has happened to the group since.
     */
    public AppliedAnswer putInto(AppliedAnswer applied, BrokerGroup group) {
        Answer found = better;
        if (found == null || applied == null || found.isPlanners() || !fingerprint.fits(group)) {
            return applied;
        }
        List<Answer.Client> plan = found.plan() == null ? found.clients() : found.plan();
        Answer last = applied.answer();
        Answer answer = new Answer(found.assignor(), last.clients(), plan, last.progress(), last.pace(), "");
        return new AppliedAnswer(
                "", applied.answeredAt(), answer, applied.sizes(), applied.owners(), applied.decidedNanos());
    }
}
