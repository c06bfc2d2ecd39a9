package io.github.optassign.model;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Measures of a placement's balance. The imbalance is the sum over five families of counts: actives, stateful actives
 * and copies of logged tasks per client; actives and copies of logged tasks per client and subtopology.
 */
public final class Balance {
    private final Snapshot snapshot;
    private final Placement placement;
    /** The shares by the number of tasks and the number of copies per task. */
    private final Map<List<Long>, Shares> shares = new HashMap<>();

    private Balance(Snapshot snapshot, Placement placement) {
        this.snapshot = snapshot;
        this.placement = placement;
    }

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

    /** Returns the imbalance of a placement in which every task has an active; 0 if it is balanced. */
    public static long imbalance(Snapshot snapshot, Placement placement) {
        Balance balance = new Balance(snapshot, placement);
        int copies = snapshot.standbysPerTask() + 1;
        int tasks = snapshot.taskCount();
        long sum = Shares.ofActives(snapshot).imbalance(placement.countActives(snapshot.clientCount()))
                + balance.measure(0, tasks, snapshot::isStateful, 1)
                + balance.measure(0, tasks, snapshot::isLogged, copies);
        for (int g = 0; g < snapshot.subtopologyCount(); g++) {
            int first = snapshot.firstTask(g);
            int end = snapshot.firstTask(g + 1);
            sum += balance.measure(first, end, t -> true, 1) + balance.measure(first, end, snapshot::isLogged, copies);
        }
        return sum;
    }

    /** Returns the imbalance of the copies of the counted tasks, or of their actives if {@code copiesPerTask} is 1. */
    private long measure(int first, int end, IntPredicate isCounted, int copiesPerTask) {
        long[] count = new long[snapshot.clientCount()];
        long tasks = 0;
        for (int t = first; t < end; t++) {
            if (isCounted.test(t)) {
                tasks++;
                count[placement.active()[t]]++;
                for (int i = 0; i < placement.standby()[t].length && copiesPerTask > 1; i++) {
                    count[placement.standby()[t][i]]++;
                }
            }
        }
        return shares.computeIfAbsent(
                        List.of(tasks, (long) copiesPerTask),
                        numbers -> Shares.of(numbers.get(0), copiesPerTask, snapshot))
                .imbalance(count);
    }
}
