package io.github.optassign.model;

/**
 * How many partitions each copy reads across racks (KIP-925): an active its task's source partitions, a standby its
 * changelogs, as Kafka's RackAwareTaskAssignor counts them.
 *
 * @param ofActives what actives read
 * @param ofStandbys what standbys read
 * @param racks per client the number of its rack; -1: one without any replica
 */
public record RackTraffic(Reads ofActives, Reads ofStandbys, int[] racks) {
    /** Racks do not matter, or are not known. */
    public static final RackTraffic NONE = new RackTraffic(Reads.NOTHING, Reads.NOTHING, new int[0]);

    /**
     * The reads of the copies of one role.
     *
     * @param inRack per task and rack how many of the partitions have a replica there
     * @param total per task how many partitions there are
     */
    public record Reads(int[][] inRack, int[] total) {
        private static final Reads NOTHING = new Reads(new int[0][], new int[0]);

        private int crossings(int t, int rack) {
            if (total.length == 0) {
                return 0;
            }
            return rack < 0 ? total[t] : total[t] - inRack[t][rack];
        }
    }

    /** Partitions that the active of task t reads from another rack on client c; 0 where racks do not matter. */
    public int crossingsOfActive(int t, int c) {
        return matters() ? ofActives.crossings(t, racks[c]) : 0;
    }

    /** Returns the partitions that a standby reads across racks. */
    public int crossingsOfStandby(int t, int c) {
        return matters() ? ofStandbys.crossings(t, racks[c]) : 0;
    }

    public boolean matters() {
        return racks.length > 0;
    }
}
