package io.github.optassign.service;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.ClientPolicy;

/** How long an answer may be: whatever answers at the service's address must not fill the heap. */
public final class AnswerSize {
    /** JSON may write a character of a name as six. */
    private static final long ESCAPED = 6;
    /** In the answer, the plan, and among the copies that are waited for. */
    private static final long TIMES_NAMED = 3;

    private AnswerSize() {}

    /**
     * The longest answer that a snapshot can have, in bytes: each copy is named in answer and plan, and as one that is
     * waited for.
     */
    public static int findGreatest(Snapshot snapshot) {
        long bytes = ClientPolicy.LEAST_ANSWER;
        long clientName = 0;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            bytes += ClientPolicy.ANSWER_OVERHEAD
                    + ESCAPED * snapshot.clientName(c).length();
            clientName = Math.max(clientName, snapshot.clientName(c).length());
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            long perCopy = ClientPolicy.ANSWER_OVERHEAD
                    + ESCAPED * snapshot.taskName(t).length()
                    + TIMES_NAMED * clientName;
            bytes += perCopy * (1 + snapshot.standbysPerTask());
        }
        return (int) Math.min(ClientPolicy.GREATEST_ANSWER, bytes);
    }
}
