package io.github.optassign.model;

/**
 * The numbers of partitions that copies read across racks (KIP-925). As in Kafka's RackAwareTaskAssignor, an active
 * reads its task's source partitions and a standby its changelogs.
 *
 * @param ofActives the reads of actives
 * @param ofStandbys the reads of standbys
 * @param racks the number of each client's rack, or -1 for a rack without any replica; empty if racks do not matter
 */
public record RackTraffic(Reads ofActives, Reads ofStandbys, int[] racks) {
    /** The traffic if racks do not matter or are unknown: no copy reads across racks. */
    public static final RackTraffic NONE = new RackTraffic(Reads.NOTHING, Reads.NOTHING, new int[0]);

    /**
     * The reads of the copies of one role.
     *
     * @param inRack per task and rack the number of the task's partitions with a replica in the rack
     * @param total per task the number of its partitions
     */
    public record Reads(int[][] inRack, int[] total) {
        private static final Reads NOTHING = new Reads(new int[0][], new int[0]);

        private int crossings(int t, int rack) {
            return rack < 0 ? total[t] : total[t] - inRack[t][rack];
        }
    }

    /** Returns the number of partitions that an active of task t on client c reads across racks. */
    public int crossingsOfActive(int t, int c) {
        return matters() ? ofActives.crossings(t, racks[c]) : 0;
    }

    /** Returns the number of partitions that a standby of task t on client c reads across racks. */
    public int crossingsOfStandby(int t, int c) {
        return matters() ? ofStandbys.crossings(t, racks[c]) : 0;
    }

    public boolean matters() {
        return racks.length > 0;
    }
}
