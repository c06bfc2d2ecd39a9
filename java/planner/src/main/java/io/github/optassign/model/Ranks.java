package io.github.optassign.model;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * How far each client is from having a task's state: ranks (KIP-441, "Computing the most-caught-up instances") and
 * offsets.
 *
 * <p>Rank 0 is caught up: the task runs on the client, or its lag is at most {@code acceptable.recovery.lag}. If the
 * lag is not known, the rank is 1 if the task's directory is on the client's disk and 2 if not. Otherwise the lag is
 * the rank. For a task without a changelog every client has rank 0.
 */
public final class Ranks {
    private final Snapshot snapshot;
    private final long acceptable;
    /** Per task the offsets in its changelogs. */
    private final long[] changelogLength;

    private final long[] leastRank;
    /** Per task the rank of the last client that R3 to R5 give a copy to. */
    private final long[] lastRank;

    public Ranks(Snapshot snapshot) {
        this.snapshot = snapshot;
        acceptable = snapshot.configs().acceptableRecoveryLag();
        changelogLength = new long[snapshot.taskCount()];
        leastRank = new long[snapshot.taskCount()];
        lastRank = new long[snapshot.taskCount()];
        for (int t = 0; t < changelogLength.length; t++) {
            changelogLength[t] = measureChangelog(t);
            long[] sorted = listRanks(t);
            leastRank[t] = sorted[0];
            lastRank[t] = sorted[snapshot.isLogged(t) ? snapshot.standbysPerTask() : 0];
        }
    }

    /** Returns the ranks of all clients that differ, and of as many others as may get a copy, sorted. */
    private long[] listRanks(int t) {
        int[] columns = snapshot.columns(t);
        int[] others = snapshot.firstOthers(columns, snapshot.standbysPerTask() + 1);
        long[] sorted = new long[columns.length + others.length];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = rank(t, i < columns.length ? columns[i] : others[i - columns.length]);
        }
        Arrays.sort(sorted);
        return sorted;
    }

    /** Returns the end offset; where that is not known, one more than the greatest lag and than the acceptable one. */
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

    /** Returns the offsets of the mean changelog, or 0 if there is none. */
    public double meanChangelog() {
        return IntStream.range(0, changelogLength.length)
                .filter(snapshot::isLogged)
                .mapToDouble(t -> changelogLength[t])
                .average()
                .orElse(0);
    }

    /** Returns the rank of client c for task t; less is better. */
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

    /** Returns the rank of the most caught up clients of task t. */
    public long leastRank(int t) {
        return leastRank[t];
    }

    /** Returns the rank of the last client that R3 to R5 give a copy of task t to, whatever the plan. */
    public long lastRank(int t) {
        return lastRank[t];
    }

    /** Returns the offsets that client c replays for the state of task t; 0 for a task without a changelog. */
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

    /** Returns the offsets to replay if a copy of task t is put on client c; 0 if the client is caught up. */
    public long cost(int t, int c) {
        return rank(t, c) == 0 ? 0 : offsets(t, c);
    }

    /** Returns the offsets of task t on the disk of client c; Kafka soon deletes state without a role. */
    public long partialState(int t, int c) {
        if (!snapshot.isLogged(t)) {
            return 0;
        }
        long lag = snapshot.lag(t, c);
        boolean hasState = snapshot.isHolder(t, c) || lag == Snapshot.RUNNING || (lag >= 0 && lag < changelogLength[t]);
        return hasState ? Math.max(0, changelogLength[t] - offsets(t, c)) : 0;
    }

    /** Returns whether client c has no more than acceptable.recovery.lag offsets more to replay than `best` (R10). */
    public boolean isHardlyWorse(int t, int c, long best) {
        return offsets(t, c) - best <= acceptable;
    }
}
