package io.github.optassign.service;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.ClientPolicy;

/** How long an answer may be: whatever answers at the service's address must not fill the heap. */
public final class AnswerSize {

    private AnswerSize() {}

    /**
     * The longest answer that a snapshot can have, in bytes: each copy is named in answer and plan, and as one that is
     * waited for.
     */
    public static int findGreatest(Snapshot snapshot) {
        long bytes = ClientPolicy.LEAST_ANSWER;
        long clientName = 0;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            bytes += 512 + 6L * snapshot.clientName(c).length();
            clientName = Math.max(clientName, snapshot.clientName(c).length());
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            long perCopy = 512 + 6L * snapshot.taskName(t).length() + 3 * clientName;
            bytes += perCopy * (1 + snapshot.standbysPerTask());
        }
        return (int) Math.min(ClientPolicy.GREATEST_ANSWER, bytes);
    }
}
