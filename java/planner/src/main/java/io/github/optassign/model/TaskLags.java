package io.github.optassign.model;

import java.util.Arrays;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Per task and client the offsets left to replay, or {@link Snapshot#RUNNING}, {@link Snapshot#UNKNOWN},
 * {@link Snapshot#NONE} in place of them. Clients without state of a task mostly have one lag, the length of its
 * changelog, so this keeps one lag per task and the other lags by client: as many as there is state, and not as there
 * are pairs.
 */
public final class TaskLags {
    private final int clients;
    private final long[] common;
    /** Per task the clients with lags of their own, sorted, and behind them room for more. */
    private final int[][] others;
    /** The lags of these clients. */
    private final long[][] lags;
    /** Per task how many these are. */
    private final int[] counts;

    /** Creates lags that are alike for all clients: per task the lag of each client that gets no other. */
    public TaskLags(long[] common, int clients) {
        this.clients = clients;
        this.common = common;
        others = new int[common.length][];
        lags = new long[common.length][];
        counts = new int[common.length];
    }

    /** Sets a lag of a client, maybe the common one. Clients of each task come in order; the last lag stays. */
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

    /** Returns the lag of a client. */
    public long of(int t, int c) {
        int place = find(t, c);
        return place < 0 ? common[t] : lags[t][place];
    }

    private int find(int t, int c) {
        return counts[t] == 0 ? -1 : Arrays.binarySearch(others[t], 0, counts[t], c);
    }

    /** Returns the lag of each client that has no other. */
    long common(int t) {
        return common[t];
    }

    /** Returns the clients with a lag of their own, sorted; it is mostly another than the common one. */
    IntStream own(int t) {
        return counts[t] == 0 ? IntStream.empty() : Arrays.stream(others[t], 0, counts[t]);
    }

    /** Returns whether the lag of any client is not known. */
    boolean isAnyUnknown(int t) {
        for (int i = 0; i < counts[t]; i++) {
            if (lags[t][i] == Snapshot.UNKNOWN) {
                return true;
            }
        }
        return common[t] == Snapshot.UNKNOWN && counts[t] < clients;
    }

    /** Returns the greatest lag of some clients, or -1 if their lags are unknown. */
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
