package io.github.optassign.model;

import java.util.Arrays;
import java.util.BitSet;
import java.util.stream.IntStream;

/**
 * The columns of each task: clients with state or a lag of their own. The other clients are interchangeable and form
 * the task's pool. Arrays are per task, sorted.
 *
 * @param owners the clients that list the task as active
 * @param holders the clients that list the task among their previous active or standby tasks
 * @param of the columns: the holders, and the clients whose lag differs from that of the pool
 * @param isAnyLagUnknown whether the lag of any task on any client is unknown
 */
record Columns(int[][] owners, int[][] holders, int[][] of, boolean isAnyLagUnknown) {
    /** Returns the columns of {@code tasks} tasks. */
    static Columns find(int tasks, Snapshot.Clients clients) {
        BitSet[] held = new BitSet[clients.names().length];
        for (int c = 0; c < held.length; c++) {
            held[c] = (BitSet) clients.previousActive()[c].clone();
            held[c].or(clients.previousStandby()[c]);
        }
        int[][] holders = listClients(tasks, held);
        int[][] columns = new int[tasks][];
        boolean isAnyLagUnknown = false;
        for (int t = 0; t < tasks; t++) {
            columns[t] = findColumns(t, clients, holders[t]);
            isAnyLagUnknown |= clients.lags().isAnyUnknown(t);
        }
        return new Columns(listClients(tasks, clients.previousActive()), holders, columns, isAnyLagUnknown);
    }

    /** Returns, for each task, the clients whose set contains the task. Takes time in proportion to the sets. */
    private static int[][] listClients(int tasks, BitSet[] sets) {
        int[] size = new int[tasks];
        for (BitSet set : sets) {
            for (int t = set.nextSetBit(0); t >= 0; t = set.nextSetBit(t + 1)) {
                size[t]++;
            }
        }
        int[][] listed = new int[tasks][];
        for (int t = 0; t < tasks; t++) {
            listed[t] = new int[size[t]];
            size[t] = 0;
        }
        for (int c = 0; c < sets.length; c++) {
            for (int t = sets[c].nextSetBit(0); t >= 0; t = sets[c].nextSetBit(t + 1)) {
                listed[t][size[t]++] = c;
            }
        }
        return listed;
    }

    /** Returns the holders and the clients whose lag differs from that of the first other client, sorted. */
    private static int[] findColumns(int t, Snapshot.Clients clients, int[] holders) {
        TaskLags lags = clients.lags();
        int count = clients.names().length;
        int other = findOther(holders, count);
        long ofOthers = other < 0 ? Snapshot.NONE : lags.of(t, other);
        int[] own = (lags.common(t) == ofOthers ? lags.own(t) : IntStream.range(0, count))
                .filter(c -> lags.of(t, c) != ofOthers)
                .toArray();
        return own.length == 0
                ? holders
                : IntStream.concat(Arrays.stream(holders), Arrays.stream(own))
                        .sorted()
                        .distinct()
                        .toArray();
    }

    /** Returns the first client that is not in {@code sorted}, or -1 if all are. */
    static int findOther(int[] sorted, int clients) {
        int first = 0;
        while (first < sorted.length && sorted[first] == first) {
            first++;
        }
        return first < clients ? first : -1;
    }
}
