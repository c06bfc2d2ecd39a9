package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Spreads the planned standbys of each client's tasks over many others, so that these do not all go on on one of them
 * when it dies (docs/reference/rules.md, "Failover"). Standbys of one subtopology exchange places where the clients
 * know nothing of either task. Every count and every cost stays as it is.
 */
final class FailoverSpread {
    private final Snapshot snapshot;
    private final Previous previous;
    private final Placement plan;
    private final double[] perUnit;
    /** The tasks that are active on one of two clients and have a standby on the other. */
    private final int[][] count;
    /** The least fair count for two clients. */
    private final double[][] fair;
    /** Tasks of the standbys that may move, by subtopology, and where they are. */
    private final int[] task;

    private final int[] client;

    private FailoverSpread(Snapshot snapshot, Previous previous, Placement plan) {
        this.snapshot = snapshot;
        this.previous = previous;
        this.plan = plan;
        int clients = snapshot.clientCount();
        double total = Arrays.stream(snapshot.sizes()).sum();
        perUnit = Arrays.stream(snapshot.sizes())
                .mapToDouble(size -> total / clients / size)
                .toArray();
        count = new int[clients][clients];
        int[] led = new int[clients];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : plan.standby()[t]) {
                count[plan.active()[t]][c]++;
                led[plan.active()[t]]++;
            }
        }
        fair = new double[clients][clients];
        for (int a = 0; a < clients; a++) {
            double share = led[a] / Math.max(1, total - snapshot.sizes()[a]);
            for (int b = 0; b < clients; b++) {
                fair[a][b] = Math.max(1, share * snapshot.sizes()[b]);
            }
        }
        int[][] slots = IntStream.range(0, snapshot.taskCount())
                .boxed()
                .flatMap(t -> Arrays.stream(plan.standby()[t])
                        .filter(c -> isUnknown(t, c))
                        .mapToObj(c -> new int[] {t, c}))
                .toArray(int[][]::new);
        task = Arrays.stream(slots).mapToInt(slot -> slot[0]).toArray();
        client = Arrays.stream(slots).mapToInt(slot -> slot[1]).toArray();
    }

    /**
     * Has standbys of a plan exchange places, if it is balanced: otherwise the exchanges might find another way from
     * there at the next rebalance, and it would not stay.
     *
     * @param plan changed
     */
    static void spread(Snapshot snapshot, Previous previous, Placement plan) {
        int clients = snapshot.clientCount();
        if (clients < 3 || clients > TiePolicy.FAILOVER_MOST_CLIENTS || snapshot.standbysPerTask() == 0) {
            return;
        }
        if (Balance.imbalance(snapshot, plan) > 0) {
            return;
        }
        FailoverSpread standbys = new FailoverSpread(snapshot, previous, plan);
        boolean moved = true;
        for (int round = 0; round < TiePolicy.ROUNDS && moved; round++) {
            moved = standbys.turn();
        }
    }

    private boolean isUnknown(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0 && !previous.hadAnyCopy(t, c);
    }

    private boolean turn() {
        boolean moved = false;
        for (int first = 0, end = 0; first < task.length; first = end) {
            while (end < task.length && snapshot.subtopology(task[end]) == snapshot.subtopology(task[first])) {
                end++;
            }
            for (int slot = first; slot < end; slot++) {
                int a = plan.active()[task[slot]];
                if (count[a][client[slot]] > fair[a][client[slot]]) {
                    int[] near = listOthers(slot, first, end);
                    moved |= exchange(slot, near)
                            || rotate(slot, Arrays.copyOf(near, Math.min(near.length, TiePolicy.FAILOVER_ROTATED)));
                }
            }
        }
        return moved;
    }

    /** The next ones of its subtopology, which ends where it begins. */
    private static int[] listOthers(int slot, int first, int end) {
        int length = end - first;
        return IntStream.rangeClosed(1, Math.min(TiePolicy.FAILOVER_CANDIDATES, length - 1))
                .map(k -> first + (slot - first + k) % length)
                .toArray();
    }

    private boolean exchange(int slot, int[] others) {
        int best = -1;
        double least = -TiePolicy.FAILOVER_LEAST_GAIN;
        for (int other : others) {
            if (isApart(slot, other)) {
                double rise = measureRise(slot, other) + measureRise(other, slot);
                if (rise < least && mayTake(slot, other) && mayTake(other, slot)) {
                    least = rise;
                    best = other;
                }
            }
        }
        if (best >= 0) {
            move(slot, best);
        }
        return best >= 0;
    }

    /** Lets three change places in a circle: of three clients that are each other's, no two can. */
    private boolean rotate(int slot, int[] others) {
        int second = -1;
        int third = -1;
        double least = -TiePolicy.FAILOVER_LEAST_GAIN;
        for (int one : others) {
            if (!isApart(slot, one) || !mayTake(slot, one)) {
                continue;
            }
            for (int other : others) {
                if (!isApart(slot, other) || !isApart(one, other)) {
                    continue;
                }
                double rise = measureRise(slot, one) + measureRise(one, other) + measureRise(other, slot);
                if (rise < least && mayTake(one, other) && mayTake(other, slot)) {
                    least = rise;
                    second = one;
                    third = other;
                }
            }
        }
        if (second >= 0) {
            move(slot, second, third);
        }
        return second >= 0;
    }

    /** Whether they are of different pairs of clients altogether, so that what they gain adds up. */
    private boolean isApart(int slot, int other) {
        return plan.active()[task[slot]] != plan.active()[task[other]] && client[slot] != client[other];
    }

    /** Whether the standby may be where the other one is. */
    private boolean mayTake(int slot, int other) {
        return isUnknown(task[slot], client[other]) && !plan.hasCopy(task[slot], client[other]);
    }

    /** By how much half of the sum rises if the standby is where the other one is. */
    private double measureRise(int slot, int other) {
        int[] of = count[plan.active()[task[slot]]];
        int from = client[slot];
        int to = client[other];
        return perUnit[to] * (of[to] + 0.5) - perUnit[from] * (of[from] - 0.5);
    }

    /** Puts each where the next one is, and the last where the first one was. */
    private void move(int... slots) {
        int[] to = new int[slots.length];
        Arrays.setAll(to, k -> client[slots[(k + 1) % slots.length]]);
        for (int slot : slots) {
            count[plan.active()[task[slot]]][client[slot]]--;
            plan.removeStandby(task[slot], client[slot]);
        }
        for (int k = 0; k < slots.length; k++) {
            int slot = slots[k];
            client[slot] = to[k];
            count[plan.active()[task[slot]]][to[k]]++;
            plan.addStandby(task[slot], to[k]);
        }
    }
}
