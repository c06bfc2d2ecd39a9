package io.github.optassign;

import java.util.Arrays;

/**
 * Which clients have the copies of each task, by indices of a {@link Snapshot}.
 *
 * @param active per task its client; -1 for none
 * @param standby per task its clients, sorted
 * @param warmup per task its clients, sorted; towards Kafka they are standbys
 */
record Placement(int[] active, int[][] standby, int[][] warmup) {
    private static final int[] NOBODY = {};

    /** A placement of nothing, to be filled. */
    static Placement empty(int tasks) {
        int[] active = new int[tasks];
        Arrays.fill(active, -1);
        int[][] standby = new int[tasks][];
        int[][] warmup = new int[tasks][];
        Arrays.fill(standby, NOBODY);
        Arrays.fill(warmup, NOBODY);
        return new Placement(active, standby, warmup);
    }

    boolean hasStandby(int t, int c) {
        return Arrays.binarySearch(standby[t], c) >= 0;
    }

    boolean hasWarmup(int t, int c) {
        return Arrays.binarySearch(warmup[t], c) >= 0;
    }

    /** Whether client c has the active or a standby of task t; warm-ups are no copies that count. */
    boolean hasCopy(int t, int c) {
        return active[t] == c || hasStandby(t, c);
    }

    void addStandby(int t, int c) {
        standby[t] = with(standby[t], c);
    }

    void addWarmup(int t, int c) {
        warmup[t] = with(warmup[t], c);
    }

    void removeStandby(int t, int c) {
        standby[t] = Arrays.stream(standby[t]).filter(client -> client != c).toArray();
    }

    int warmups() {
        return Arrays.stream(warmup).mapToInt(clients -> clients.length).sum();
    }

    /** Whether actives and standbys are the same; warm-ups are on their way to a plan and do not matter. */
    boolean sameCopies(Placement other) {
        return Arrays.equals(active, other.active) && Arrays.deepEquals(standby, other.standby);
    }

    private static int[] with(int[] sorted, int c) {
        int[] more = Arrays.copyOf(sorted, sorted.length + 1);
        more[sorted.length] = c;
        Arrays.sort(more);
        return more;
    }
}
