package io.github.optassign.model;

/**
 * Measures of an answer, to compare it with another: moves, offsets to restore, and the imbalance of actives.
 *
 * @param activeMoved the number of active tasks that move from their owner to another client
 * @param notCaughtUp the number of actives and standbys on clients that are not caught up
 * @param restoreOffsets the offsets that these copies have to replay
 * @param warmups the number of warm-ups
 * @param activeImbalance the imbalance of the numbers of actives ({@link Shares#imbalance})
 */
public record Measures(int activeMoved, int notCaughtUp, long restoreOffsets, int warmups, long activeImbalance) {
    /** Returns the measures of a placement of a snapshot's tasks. */
    public static Measures of(Snapshot snapshot, Placement placement) {
        Ranks ranks = snapshot.ranks();
        int moved = 0;
        int cold = 0;
        long offsets = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = placement.active()[t];
            moved += snapshot.isMove(t, active) ? 1 : 0;
            cold += ranks.rank(t, active) > 0 ? 1 : 0;
            offsets = RestoreWork.addCapped(offsets, ranks.cost(t, active));
            for (int c : placement.standby()[t]) {
                cold += ranks.rank(t, c) > 0 ? 1 : 0;
                offsets = RestoreWork.addCapped(offsets, ranks.cost(t, c));
            }
        }
        long imbalance = Shares.ofActives(snapshot).imbalance(placement.countActives(snapshot.clientCount()));
        return new Measures(moved, cold, offsets, placement.warmupCount(), imbalance);
    }

    @Override
    public String toString() {
        return "active_moved=" + activeMoved + " not_caught_up=" + notCaughtUp + " restore_offsets=" + restoreOffsets
                + " warmups=" + warmups + " active_imbalance=" + activeImbalance;
    }
}
