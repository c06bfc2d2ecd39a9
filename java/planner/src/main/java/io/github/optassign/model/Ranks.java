package io.github.optassign.model;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The ranks of clients by their distance from a task's state (KIP-441, "Computing the most-caught-up instances"), and
 * the offsets to replay.
 *
 * <p>A client of rank 0 is caught up: it runs the task, or its lag is at most {@code acceptable.recovery.lag}. An
 * unknown lag has rank 1 if the client has a directory of the task, and 2 if not. Any other lag is the rank itself. For
 * a task without a changelog every client has rank 0.
 */
public final class Ranks {
    private final Snapshot snapshot;
    private final long acceptable;
    /** The number of offsets in each task's changelogs. */
    private final long[] changelogLength;

    private final long[] leastRank;
    /** The rank, for each task, of the least caught-up client to which R3 to R5 give a copy. */
    private final long[] lastRank;
    /** Whether each task has more clients up to {@link #lastRank} than copies. */
    private final boolean[] hasSpareTied;

    Ranks(Snapshot snapshot) {
        this.snapshot = snapshot;
        acceptable = snapshot.configs().acceptableRecoveryLag();
        changelogLength = new long[snapshot.taskCount()];
        leastRank = new long[snapshot.taskCount()];
        lastRank = new long[snapshot.taskCount()];
        hasSpareTied = new boolean[snapshot.taskCount()];
        int copies = snapshot.standbysPerTask() + 1;
        for (int t = 0; t < changelogLength.length; t++) {
            changelogLength[t] = measureChangelog(t);
            int task = t;
            int[] others = snapshot.firstOthers(snapshot.columns(t), copies + 1); // all have the same rank
            long[] sorted = Arrays.stream(snapshot.columnsAnd(t, others))
                    .mapToLong(c -> rank(task, c))
                    .sorted()
                    .toArray();
            leastRank[t] = sorted[0];
            lastRank[t] = sorted[snapshot.isLogged(t) ? copies - 1 : 0];
            hasSpareTied[t] = sorted.length > copies && sorted[copies] <= lastRank[t];
        }
    }

    /** Returns the end offset or, if unknown, one more than the greatest of all lags and the acceptable lag. */
    private long measureChangelog(int t) {
        if (snapshot.endOffset(t) >= 0) {
            return snapshot.endOffset(t);
        }
        long largest = acceptable;
        for (int c : Snapshot.union(snapshot.columns(t), snapshot.poolClient(t))) {
            largest = Math.max(largest, snapshot.lag(t, c));
        }
        return largest == Long.MAX_VALUE ? largest : largest + 1;
    }

    /** Returns the mean number of offsets in the changelogs of logged tasks, or 0 without logged tasks. */
    public double meanChangelog() {
        return IntStream.range(0, changelogLength.length)
                .filter(snapshot::isLogged)
                .mapToDouble(t -> changelogLength[t])
                .average()
                .orElse(0);
    }

    /** Returns the rank of client c for task t; lower ranks are more caught up. */
    public long rank(int t, int c) {
        if (!snapshot.isLogged(t)) {
            return 0;
        }
        long lag = snapshot.lag(t, c);
        if (lag == Snapshot.NONE) {
            lag = changelogLength[t];
        } else if (lag == Snapshot.UNKNOWN && acceptable < Long.MAX_VALUE) {
            return snapshot.isHolder(t, c) ? 1 : 2;
        }
        return lag > acceptable ? lag : 0;
    }

    /** Returns the rank of the most caught-up clients of task t. */
    public long leastRank(int t) {
        return leastRank[t];
    }

    /** Returns whether client c is one of the most caught-up clients of task t. */
    public boolean isMostCaughtUp(int t, int c) {
        return rank(t, c) == leastRank[t];
    }

    /** Returns the rank of the least caught-up client to which R3 to R5 give a copy of task t under any plan. */
    public long lastRank(int t) {
        return lastRank[t];
    }

    /** Returns whether some of the clients up to {@link #lastRank} get no copy of task t, since there are too many. */
    public boolean hasSpareTied(int t) {
        return hasSpareTied[t];
    }

    /** Returns the offsets that client c has to replay until it has the state of task t; 0 without a changelog. */
    public long offsets(int t, int c) {
        if (!snapshot.isLogged(t)) {
            return 0;
        }
        long lag = snapshot.lag(t, c);
        if (lag == Snapshot.NONE || (lag == Snapshot.UNKNOWN && !snapshot.isHolder(t, c))) {
            return changelogLength[t];
        }
        return Math.max(lag, 0);
    }

    /** Returns the restore cost of a copy of task t on client c: its offsets to replay, or 0 if it is caught up. */
    public long cost(int t, int c) {
        return rank(t, c) == 0 ? 0 : offsets(t, c);
    }

    /** Returns the offsets of task t that client c has on disk. Kafka soon deletes state of tasks without a copy. */
    public long partialState(int t, int c) {
        return snapshot.isLogged(t) ? Math.max(0, changelogLength[t] - offsets(t, c)) : 0;
    }

    /** Returns whether client c has at most {@code acceptable.recovery.lag} more to replay than {@code best} (R10). */
    public boolean isHardlyWorse(int t, int c, long best) {
        return offsets(t, c) - best <= acceptable;
    }
}
