package io.github.optassign.model;

/**
 * How many partitions of a task have no replica in a client's rack: what each copy reads across racks (KIP-925).
 *
 * @param partitions per task and rack how many of its partitions have a replica there
 * @param total per task how many partitions it has
 * @param racks per client the number of its rack; -1: none, or one without any replica
 */
public record RackTraffic(int[][] partitions, int[] total, int[] racks) {
    /** Racks do not matter, or are not known. */
    public static final RackTraffic NONE = new RackTraffic(new int[0][], new int[0], new int[0]);

    /** Partitions that a copy of task t on client c reads from another rack; 0 where racks do not matter. */
    public int crossings(int t, int c) {
        if (total.length == 0) {
            return 0;
        }
        return racks[c] < 0 ? total[t] : total[t] - partitions[t][racks[c]];
    }

    public boolean matters() {
        return total.length > 0;
    }
}
