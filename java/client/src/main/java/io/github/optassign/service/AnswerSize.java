package io.github.optassign.service;

import io.github.optassign.model.Snapshot;

/** The limit on the length of an answer, so that no response from the service's address fills the heap. */
public final class AnswerSize {
    /**
     * The bytes of an answer allowed for each client and each copy in addition to their names. Fields, times and notes
     * are shorter.
     */
    private static final int ANSWER_OVERHEAD = 512;
    /** The greatest size of an answer to any snapshot, in bytes. It must fit into the memory of an application. */
    private static final int GREATEST_ANSWER = 67_108_864;
    /**
     * The bytes of an answer allowed for the smallest snapshot. Notes of the service are as long for every snapshot.
     */
    private static final int LEAST_ANSWER = 262_144;

    /** The most characters that JSON needs for one character of a name. */
    private static final long ESCAPED = 6;
    /** The number of times that a client's name may occur per copy: in the answer, the plan and the progress. */
    private static final long TIMES_NAMED = 3;

    private AnswerSize() {}

    /**
     * Returns the limit for answers to a snapshot, bytes, up to {@link #GREATEST_ANSWER}. An answer may name each copy
     * as assigned, in the plan, and in the progress of warm-ups.
     */
    public static int limitBytes(Snapshot snapshot) {
        long bytes = LEAST_ANSWER;
        long clientName = 0;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            bytes += ANSWER_OVERHEAD + ESCAPED * snapshot.clientName(c).length();
            clientName = Math.max(clientName, snapshot.clientName(c).length());
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            long perCopy = ANSWER_OVERHEAD + ESCAPED * snapshot.taskName(t).length() + TIMES_NAMED * clientName;
            bytes += perCopy * (1 + snapshot.standbysPerTask());
        }
        return (int) Math.min(GREATEST_ANSWER, bytes);
    }
}
