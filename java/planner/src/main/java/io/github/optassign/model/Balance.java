package io.github.optassign.model;

import java.util.Arrays;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Measures of a placement's balance. The imbalance is the sum over five families of counts: actives, stateful actives
 * and copies of logged tasks per client; actives and copies of logged tasks per client and subtopology.
 */
public final class Balance {
    private Balance() {}

    /** Returns whether a client has over twice the upper bound of its share of actives; no preset makes such a plan. */
    public static boolean isLopsided(Snapshot snapshot, Placement placement) {
        long[] active = placement.countActives(snapshot.clientCount());
        long[] most = Shares.ofActives(snapshot).high();
        return IntStream.range(0, active.length).anyMatch(c -> active[c] > 2 * most[c]);
    }

    /** Returns, per client, the upper bound of its share of actives less its actives; negative for too many. */
    public static long[] measureRoom(Snapshot snapshot, Placement placement) {
        long[] room = Shares.ofActives(snapshot).high().clone();
        for (int c : placement.active()) {
            room[c]--;
        }
        return room;
    }

    /** Returns whether any client has more actives than its share allows. */
    public static boolean isAnyAboveShare(Snapshot snapshot, Placement placement) {
        return Arrays.stream(measureRoom(snapshot, placement)).anyMatch(room -> room < 0);
    }

    /** Returns the imbalance of a placement in which every task has an active; 0 if it is balanced. */
    public static long imbalance(Snapshot snapshot, Placement placement) {
        int copies = snapshot.standbysPerTask() + 1;
        return Shares.ofActives(snapshot).imbalance(placement.countActives(snapshot.clientCount()))
                + measure(snapshot, placement, false, snapshot::isStateful, 1)
                + measure(snapshot, placement, false, snapshot::isLogged, copies)
                + measure(snapshot, placement, true, t -> true, 1)
                + measure(snapshot, placement, true, snapshot::isLogged, copies);
    }

    /** Returns the imbalance of the copies of the counted tasks, or of their actives if {@code copiesPerTask} is 1. */
    private static long measure(
            Snapshot snapshot, Placement placement, boolean bySubtopology, IntPredicate isCounted, int copiesPerTask) {
        int families = bySubtopology ? snapshot.subtopologyCount() : 1;
        long[][] count = new long[families][snapshot.clientCount()];
        long[] tasks = new long[families];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (isCounted.test(t)) {
                int g = bySubtopology ? snapshot.subtopology(t) : 0;
                tasks[g]++;
                count[g][placement.active()[t]]++;
                for (int i = 0; i < placement.standby()[t].length && copiesPerTask > 1; i++) {
                    count[g][placement.standby()[t][i]]++;
                }
            }
        }
        Shares[] shares = Shares.ofEach(tasks, copiesPerTask, snapshot);
        return IntStream.range(0, families)
                .mapToLong(g -> shares[g].imbalance(count[g]))
                .sum();
    }
}
