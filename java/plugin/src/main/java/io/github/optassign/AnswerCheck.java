package io.github.optassign;

import java.util.Arrays;

/**
 * Whether an answer may be handed to Kafka. Kafka forgives nothing: most mistakes kill the leader's thread, and then
 * the next leader's; a task left out it does not even notice. So, beyond what Kafka's own validation looks for: every
 * task is active exactly once, no client has two copies of a task, only tasks with a changelog have standbys and
 * warm-ups.
 */
final class AnswerCheck {
    /** A follow-up at once would rebalance for ever if the service erred. */
    static final long LEAST_FOLLOWUP_MS = 1_000;
    /** Beyond it a follow-up is as good as none, and Kafka's arithmetic with instants could overflow. */
    static final long GREATEST_FOLLOWUP_MS = 10L * 365 * 24 * 60 * 60 * 1000;

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
     * @return the answer by indices, follow-ups within {@link #LEAST_FOLLOWUP_MS} and {@link #GREATEST_FOLLOWUP_MS}
     * @throws ServiceFailure with the first thing found that Kafka or we do not allow
     */
    static CheckedAnswer check(Snapshot snapshot, Answer answer) throws ServiceFailure {
        AnswerCheck check = new AnswerCheck(snapshot);
        for (Answer.Client client : answer.clients()) {
            check.add(client);
        }
        check.nothingMissing();
        return new CheckedAnswer(check.placement, check.followupMs);
    }

    private void add(Answer.Client client) throws ServiceFailure {
        Integer c = snapshot.clientIndex(client.processId());
        if (c == null) {
            throw new ServiceFailure("found client " + client.processId() + "; allowed: clients of the snapshot");
        }
        if (listed[c]) {
            throw new ServiceFailure(
                    "found client " + client.processId() + " a second time; allowed: every client once");
        }
        listed[c] = true;
        if (client.followupMs() != null) {
            if (client.followupMs() < 0) {
                throw new ServiceFailure("found a follow-up in " + client.followupMs() + " ms; allowed: 0 or more");
            }
            followupMs[c] = withinLimits(client.followupMs());
        }
        for (String name : client.active()) {
            int t = task(name, c);
            if (placement.active()[t] >= 0) {
                String others = snapshot.clientName(placement.active()[t]) + " and " + client.processId();
                throw new ServiceFailure("found task " + name + " active on " + others + "; allowed: exactly once");
            }
            placement.active()[t] = c;
        }
        for (String name : client.standby()) {
            placement.addStandby(passive(name, c, "a standby"), c);
        }
        for (String name : client.warmup()) {
            placement.addWarmup(passive(name, c, "a warm-up"), c);
        }
    }

    static long withinLimits(long followupMs) {
        return Math.max(LEAST_FOLLOWUP_MS, Math.min(followupMs, GREATEST_FOLLOWUP_MS));
    }

    private int passive(String name, int c, String what) throws ServiceFailure {
        int t = task(name, c);
        if (!snapshot.logged(t)) {
            throw new ServiceFailure("found " + what + " of task " + name + "; allowed: none, it has no changelog");
        }
        return t;
    }

    /** The task's index, if the client has no other copy of it yet. */
    private int task(String name, int c) throws ServiceFailure {
        Integer t = snapshot.taskIndex(name);
        if (t == null) {
            throw new ServiceFailure("found task " + name + "; allowed: tasks of the snapshot");
        }
        if (placement.hasCopy(t, c) || placement.hasWarmup(t, c)) {
            String where = " twice on " + snapshot.clientName(c);
            throw new ServiceFailure(
                    "found task " + name + where + "; allowed: at most one copy on a client, in one role");
        }
        return t;
    }

    private void nothingMissing() throws ServiceFailure {
        for (int c = 0; c < listed.length; c++) {
            if (!listed[c]) {
                throw new ServiceFailure("found no client " + snapshot.clientName(c) + "; allowed: every client once");
            }
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (placement.active()[t] < 0) {
                throw new ServiceFailure(
                        "found task " + snapshot.taskName(t) + " active nowhere; allowed: exactly once");
            }
        }
    }
}
