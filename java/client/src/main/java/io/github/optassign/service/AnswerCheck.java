package io.github.optassign.service;

import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.List;

/**
 * A check that an answer may be passed to Kafka. Most errors would end the leader's thread, and then the next leader's.
 * Kafka does not notice a missing task at all.
 *
 * <p>In addition to Kafka's own validation, an answer must name every client once and no others, have every task active
 * exactly once and at most one copy of a task on a client, and give standbys and warm-ups only to tasks with a
 * changelog. {@link RuleCheck} checks the other rules of an answer.
 */
public final class AnswerCheck {
    private final Snapshot snapshot;
    private final Placement placement;
    private final long[] followupMs;
    private final boolean[] listed;

    private AnswerCheck(Snapshot snapshot) {
        this.snapshot = snapshot;
        placement = Placement.empty(snapshot.taskCount());
        followupMs = new long[snapshot.clientCount()];
        Arrays.fill(followupMs, -1);
        listed = new boolean[snapshot.clientCount()];
    }

    /**
     * Checks an answer against its snapshot.
     *
     * @return the answer by indices, with follow-ups clamped to the allowed delays
     * @throws WrongAnswer if the answer breaks a rule; names the first fault
     */
    public static CheckedAnswer check(Snapshot snapshot, Answer answer) throws WrongAnswer {
        return check(snapshot, answer.clients());
    }

    /** Checks the tasks of all clients, such as those of a plan. */
    static CheckedAnswer check(Snapshot snapshot, List<Answer.Client> clients) throws WrongAnswer {
        AnswerCheck check = new AnswerCheck(snapshot);
        for (Answer.Client client : clients) {
            check.addClient(client);
        }
        check.checkCompleteness();
        return new CheckedAnswer(check.placement, check.followupMs);
    }

    private void addClient(Answer.Client client) throws WrongAnswer {
        Integer c = snapshot.clientIndex(client.processId());
        if (c == null) {
            throw new WrongAnswer("found client " + client.processId() + "; allowed: clients of the snapshot");
        }
        if (listed[c]) {
            throw new WrongAnswer("found client " + client.processId() + " a second time; allowed: every client once");
        }
        listed[c] = true;
        if (client.followupMs() != null) {
            if (client.followupMs() < 0) {
                throw new WrongAnswer("found a follow-up in " + client.followupMs() + " ms; allowed: 0 or more");
            }
            followupMs[c] = CheckedAnswer.clampOfService(client.followupMs());
        }
        for (String name : client.active()) {
            int t = findTask(name, c);
            if (placement.active()[t] >= 0) {
                String others = snapshot.clientName(placement.active()[t]) + " and " + client.processId();
                throw new WrongAnswer("found task " + name + " active on " + others + "; allowed: exactly once");
            }
            placement.active()[t] = c;
        }
        for (String name : client.standby()) {
            placement.addStandby(findLoggedTask(name, c, "a standby"), c);
        }
        for (String name : client.warmup()) {
            placement.addWarmup(findLoggedTask(name, c, "a warm-up"), c);
        }
    }

    private int findLoggedTask(String name, int c, String role) throws WrongAnswer {
        int t = findTask(name, c);
        if (!snapshot.isLogged(t)) {
            throw new WrongAnswer("found " + role + " of task " + name + "; allowed: none, it has no changelog");
        }
        return t;
    }

    /**
     * Returns the task's index.
     *
     * @throws WrongAnswer if the snapshot has no such task, or the client already has a copy of it
     */
    private int findTask(String name, int c) throws WrongAnswer {
        Integer t = snapshot.taskIndex(name);
        if (t == null) {
            throw new WrongAnswer("found task " + name + "; allowed: tasks of the snapshot");
        }
        if (placement.hasCopy(t, c) || placement.hasWarmup(t, c)) {
            String where = " twice on " + snapshot.clientName(c);
            throw new WrongAnswer(
                    "found task " + name + where + "; allowed: at most one copy on a client, in one role");
        }
        return t;
    }

    private void checkCompleteness() throws WrongAnswer {
        for (int c = 0; c < listed.length; c++) {
            if (!listed[c]) {
                throw new WrongAnswer("found no client " + snapshot.clientName(c) + "; allowed: every client once");
            }
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (placement.active()[t] < 0) {
                throw new WrongAnswer("found task " + snapshot.taskName(t) + " active nowhere; allowed: exactly once");
            }
        }
    }
}
