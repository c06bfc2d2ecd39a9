package io.github.optassign.service;

import io.github.optassign.model.Snapshot;

/** How long an answer may be: whatever answers at the service's address must not fill the heap. */
public final class AnswerSize {
    /** The limit for any snapshot. */
    private static final int GREATEST = 64 * 1024 * 1024;

    private static final int LEAST = 256 * 1024;

    private AnswerSize() {}

    /**
     * The longest answer that a snapshot can have, in bytes: each copy is named in answer and plan, and as one that is
     * waited for.
     */
    public static int findGreatest(Snapshot snapshot) {
        long bytes = LEAST;
        long clientName = 0;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            bytes += 512 + 6L * snapshot.clientName(c).length();
            clientName = Math.max(clientName, snapshot.clientName(c).length());
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            long perCopy = 512 + 6L * snapshot.taskName(t).length() + 3 * clientName;
            bytes += perCopy * (1 + snapshot.standbysPerTask());
        }
        return (int) Math.min(GREATEST, bytes);
    }
}
