package io.github.optassign.model;

import java.util.Arrays;
import java.util.BitSet;

/** Per task the clients with facts of their own: owners, holders, clients with a lag. */
final class Columns {
    private final Snapshot.Clients clients;
    private final int[][] owners;
    private final int[][] holders;
    private final int[][] columns;
    private boolean unknownLag;

    Columns(int tasks, Snapshot.Clients clients) {
        this.clients = clients;
        owners = listClients(tasks, clients.previousActive());
        BitSet[] held = new BitSet[clients.names().length];
        for (int c = 0; c < held.length; c++) {
            held[c] = (BitSet) clients.previousActive()[c].clone();
            held[c].or(clients.previousStandby()[c]);
        }
        holders = listClients(tasks, held);
        columns = new int[tasks][];
        for (int t = 0; t < tasks; t++) {
            columns[t] = findColumns(t);
        }
    }

    int[] owners(int t) {
        return owners[t];
    }

    int[] holders(int t) {
        return holders[t];
    }

    /** The clients that are not in the task's pool, sorted. */
    int[] of(int t) {
        return columns[t];
    }

    boolean isAnyLagUnknown() {
        return unknownLag;
    }

    /** Per task the clients whose set has it: work follows what is listed, not all pairs of task and client. */
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

    /** Finds the clients that differ from the others in a known fact; records unknown lags. */
    private int[] findColumns(int t) {
        long[] ofTask = clients.lags()[t];
        long common = findCommonLag(t);
        int[] held = holders[t];
        int[] more = held;
        int count = 0;
        int next = 0;
        for (int c = 0; c < ofTask.length; c++) {
            boolean isHeld = next < held.length && held[next] == c;
            next += isHeld ? 1 : 0;
            unknownLag |= ofTask[c] == Snapshot.UNKNOWN;
            if (isHeld || ofTask[c] != common) {
                if (!isHeld && more == held) {
                    more = Arrays.copyOf(held, ofTask.length);
                }
                if (more != held) {
                    more[count] = c;
                }
                count++;
            }
        }
        return more == held ? held : Arrays.copyOf(more, count);
    }

    /** The lag of the first client without state; of tasks that all have state it does not matter. */
    private long findCommonLag(int t) {
        int[] held = holders[t];
        int first = 0;
        while (first < held.length && held[first] == first) {
            first++;
        }
        return first < clients.lags()[t].length ? clients.lags()[t][first] : Snapshot.NONE;
    }
}
