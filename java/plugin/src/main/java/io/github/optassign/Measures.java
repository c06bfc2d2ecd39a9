package io.github.optassign;

/**
 * How an answer compares with another: what moves, what has to be restored, how far actives are from balance.
 *
 * @param activeMoved tasks that had an owner and get another
 * @param notCaughtUp actives and standbys on clients that are not caught up
 * @param restoreOffsets offsets these have to replay
 * @param warmups warm-ups
 * @param activeExcess half of e (e + 1) at distance e from a client's balanced number of actives, summed over the
 *     clients
 */
record Measures(int activeMoved, int notCaughtUp, long restoreOffsets, int warmups, long activeExcess) {
    /** Measures an answer. */
    static Measures of(Snapshot snapshot, Placement placement) {
        Ranks ranks = new Ranks(snapshot);
        int moved = 0;
        int cold = 0;
        long offsets = 0;
        long[] actives = new long[snapshot.clientCount()];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = placement.active()[t];
            actives[active]++;
            moved += moved(snapshot, t, active) ? 1 : 0;
            cold += ranks.of(t, active) > 0 ? 1 : 0;
            offsets = plus(offsets, ranks.cost(t, active));
            for (int c : placement.standby()[t]) {
                cold += ranks.of(t, c) > 0 ? 1 : 0;
                offsets = plus(offsets, ranks.cost(t, c));
            }
        }
        long excess = Windows.of(snapshot.taskCount(), 1, snapshot.threads()).excess(actives);
        return new Measures(moved, cold, offsets, placement.warmups(), excess);
    }

    private static long plus(long sum, long more) {
        return sum > Long.MAX_VALUE - more ? Long.MAX_VALUE : sum + more;
    }

    /** Whether others claim the task and this client does not: where two claim it, keeping either is no move. */
    private static boolean moved(Snapshot snapshot, int t, int active) {
        if (snapshot.previousActive(active, t)) {
            return false;
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (snapshot.previousActive(c, t)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return "active_moved=" + activeMoved + " not_caught_up=" + notCaughtUp + " restore_offsets=" + restoreOffsets
                + " warmups=" + warmups + " active_excess=" + activeExcess;
    }
}
