package io.github.optassign.model;

import java.util.Arrays;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The lags of each task on each client: offsets left to replay, {@link Snapshot#RUNNING}, {@link Snapshot#UNKNOWN} or
 * {@link Snapshot#NONE}. Clients without state of a task mostly have the same lag, the length of its changelog. So each
 * task has a common lag, and only other lags are kept by client. Memory grows with state, not with pairs of task and
 * client.
 */
public final class TaskLags {
    private final int clients;
    private final long[] common;
    /** Per task the clients with lags of their own, sorted, followed by spare capacity. */
    private final int[][] others;
    /** The lags of the clients in {@link #others}. */
    private final long[][] lags;
    /** Per task the number of its clients in {@link #others}. */
    private final int[] counts;

    /** Creates lags in which all clients have the common lag of each task. */
    public TaskLags(long[] common, int clients) {
        this.clients = clients;
        this.common = common;
        others = new int[common.length][];
        lags = new long[common.length][];
        counts = new int[common.length];
    }

    /** Sets a client's lag. For each task, clients must be passed in ascending order; a repeated client is updated. */
    public void set(int t, int c, long lag) {
        int count = counts[t];
        boolean isThere = count > 0 && others[t][count - 1] == c;
        if (isThere) {
            lags[t][count - 1] = lag;
        } else if (lag != common[t]) {
            if (count == 0) {
                others[t] = new int[2];
                lags[t] = new long[2];
            } else if (count == others[t].length) {
                others[t] = Arrays.copyOf(others[t], 2 * count);
                lags[t] = Arrays.copyOf(lags[t], 2 * count);
            }
            others[t][count] = c;
            lags[t][count] = lag;
            counts[t]++;
        }
    }

    /** Returns the lag of task t on client c. */
    public long of(int t, int c) {
        int place = find(t, c);
        return place < 0 ? common[t] : lags[t][place];
    }

    private int find(int t, int c) {
        return counts[t] == 0 ? -1 : Arrays.binarySearch(others[t], 0, counts[t], c);
    }

    /** Returns the lag of all clients without a lag of their own. */
    long common(int t) {
        return common[t];
    }

    /** Returns the clients with a lag of their own, sorted; it may equal the common lag. */
    IntStream own(int t) {
        return counts[t] == 0 ? IntStream.empty() : Arrays.stream(others[t], 0, counts[t]);
    }

    /** Returns whether the lag of task t is unknown on any client. */
    boolean isAnyUnknown(int t) {
        for (int i = 0; i < counts[t]; i++) {
            if (lags[t][i] == Snapshot.UNKNOWN) {
                return true;
            }
        }
        return common[t] == Snapshot.UNKNOWN && counts[t] < clients;
    }

    /** Returns the greatest known lag of the selected clients, offsets, or -1 if none of their lags is known. */
    public long findGreatest(int t, IntPredicate isAmong) {
        long greatest = -1;
        for (int i = 0; i < counts[t]; i++) {
            if (lags[t][i] > greatest && isAmong.test(others[t][i])) {
                greatest = lags[t][i];
            }
        }
        for (int c = 0; c < clients && common[t] > greatest; c++) {
            if (isAmong.test(c) && find(t, c) < 0) {
                greatest = common[t];
            }
        }
        return greatest;
    }
}
