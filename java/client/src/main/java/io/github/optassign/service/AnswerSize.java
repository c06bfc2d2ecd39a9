package io.github.optassign.service;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.ClientPolicy;

/** The limit on the length of an answer, so that no response from the service's address fills the heap. */
public final class AnswerSize {
    /** The most characters that JSON needs for one character of a name. */
    private static final long ESCAPED = 6;
    /** The number of times that a client's name may occur per copy: in the answer, the plan and the progress. */
    private static final long TIMES_NAMED = 3;

    private AnswerSize() {}

    /**
     * Returns the limit for answers to a snapshot, bytes, up to {@link ClientPolicy#GREATEST_ANSWER}. An answer may
     * name each copy as assigned, in the plan, and in the progress of warm-ups.
     */
    public static int limitBytes(Snapshot snapshot) {
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
