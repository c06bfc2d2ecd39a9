package io.github.optassign;

/**
 * How far each client is from having a task's state: ranks (KIP-441, "Computing the most-caught-up instances") and
 * offsets.
 *
 * <p>Rank 0 is caught up: running here, or a lag within {@code acceptable.recovery.lag}. A lag that is not known ranks
 * 1 where the task's directory is on the client's disk, else 2. Otherwise the lag is the rank. For a task without a
 * changelog every client has rank 0.
 */
final class Ranks {
    private final Snapshot snapshot;
    private final long acceptable;
    private final long[] whole;
    private final long[] least;

    Ranks(Snapshot snapshot) {
        this.snapshot = snapshot;
        acceptable = snapshot.configs().acceptableRecoveryLag();
        whole = new long[snapshot.taskCount()];
        least = new long[snapshot.taskCount()];
        for (int t = 0; t < whole.length; t++) {
            whole[t] = wholeChangelog(t);
            long best = Long.MAX_VALUE;
            for (int c = 0; c < snapshot.clientCount() && best > 0; c++) {
                best = Math.min(best, of(t, c));
            }
            least[t] = best;
        }
    }

    /** The end offset; where it is not known more than anybody reports, and not caught up. */
    private long wholeChangelog(int t) {
        if (snapshot.endOffset(t) >= 0) {
            return snapshot.endOffset(t);
        }
        long largest = acceptable;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            largest = Math.max(largest, snapshot.lag(c, t));
        }
        return largest == Long.MAX_VALUE ? largest : largest + 1;
    }

    /** Rank of client c for task t; less is better. */
    long of(int t, int c) {
        if (!snapshot.logged(t)) {
            return 0;
        }
        long lag = snapshot.lag(c, t);
        if (lag == Snapshot.NONE) {
            lag = whole[t];
        } else if (lag == Snapshot.UNKNOWN && acceptable < Long.MAX_VALUE) {
            return snapshot.holder(c, t) ? 1 : 2;
        }
        return lag > acceptable ? lag : 0;
    }

    /** The rank of the most caught up clients of task t. */
    long least(int t) {
        return least[t];
    }

    /** Offsets that client c has to replay before it has the state of task t; 0 for a task without a changelog. */
    long offsets(int t, int c) {
        if (!snapshot.logged(t)) {
            return 0;
        }
        long lag = snapshot.lag(c, t);
        if (lag == Snapshot.NONE || (lag == Snapshot.UNKNOWN && !snapshot.holder(c, t))) {
            return whole[t];
        }
        return Math.max(lag, 0);
    }

    /** Offsets to replay if a copy of task t is put on client c: none where it is caught up. */
    long cost(int t, int c) {
        return of(t, c) == 0 ? 0 : offsets(t, c);
    }

    /** Whether client c has no more than acceptable.recovery.lag offsets more to replay than `best` (R10). */
    boolean hardlyWorse(int t, int c, long best) {
        return offsets(t, c) - best <= acceptable;
    }
}
