package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Spreads the planned actives of tasks without any state on a client (docs/reference/rules.md, "Lost tasks"): each is
 * down until it is restored, and copies on one disk share its rate. So they exchange places with each other, and with
 * other planned actives of their subtopology that are not there yet either, but run on another client until then. Every
 * count and every cost stays as it is.
 */
final class LostTasks {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    /** Per client offsets per second. */
    private final double[] speed;
    /** Tasks whose planned active begins without state, as on all other clients, and that no client has more of. */
    private final int[] lost;
    /** Per subtopology these, and the others whose planned active begins with nothing. */
    private final int[][] cold;
    /** Per task the offsets for which others on the disk have to wait; none for tasks that run elsewhere. */
    private final double[] size;
    /** Per client those of its lost tasks. */
    private final DiskQueue[] disks;

    private LostTasks(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, double[] perSecond) {
        this.snapshot = snapshot;
        this.previous = previous;
        this.ranks = ranks;
        this.plan = plan;
        size = new double[snapshot.taskCount()];
        lost = IntStream.range(0, snapshot.taskCount())
                .filter(t -> isCold(t) && isLost(t))
                .boxed()
                .sorted(Comparator.comparingLong((Integer t) -> -measureChangelog(t)))
                .mapToInt(t -> t)
                .toArray();
        cold = new int[snapshot.subtopologyCount()][];
        disks = new DiskQueue[snapshot.clientCount()];
        speed = perSecond == null ? new double[disks.length] : perSecond;
        if (lost.length == 0) {
            return;
        }
        if (perSecond == null) {
            Arrays.fill(speed, 1);
        }
        for (int g = 0; g < cold.length; g++) {
            cold[g] = IntStream.range(snapshot.firstTask(g), snapshot.firstTask(g + 1))
                    .filter(this::isCold)
                    .toArray();
        }
        Arrays.setAll(disks, c -> new DiskQueue(speed[c]));
        for (int t : lost) {
            size[t] = measureChangelog(t);
            disks[plan.active()[t]].replace(0, size[t]);
        }
    }

    /**
     * Has lost tasks of a plan exchange places while they are down for less time then, long times above all.
     *
     * @param plan changed
     * @param perSecond per client the offsets that it restores; null: not known, they are taken to be alike
     */
    static void spread(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, double[] perSecond) {
        LostTasks tasks = new LostTasks(snapshot, ranks, previous, plan, perSecond);
        boolean moved = tasks.lost.length > 0 && !tasks.areAlike();
        int turns = Math.min(TiePolicy.LOST_TURNS, TiePolicy.LOST_WORK / tasks.findLongest());
        for (int round = 0; round < TiePolicy.ROUNDS && moved; round++) {
            moved = false;
            for (int k = 0; k < Math.min(tasks.lost.length, turns); k++) {
                moved |= tasks.exchange(tasks.lost[k]);
            }
            turns -= Math.min(tasks.lost.length, turns);
        }
    }

    /**
     * Whether no exchange gains: lost tasks are of one size, and there are no others to exchange places with, or each
     * client has as many of them as any other or one more, and clients are of one speed.
     */
    private boolean areAlike() {
        if (size[lost[0]] != size[lost[lost.length - 1]]) {
            return false;
        }
        if (Arrays.stream(cold).mapToInt(tasks -> tasks.length).sum() == lost.length) {
            return true;
        }
        int[] number = new int[disks.length];
        for (int t : lost) {
            number[plan.active()[t]]++;
        }
        return Arrays.stream(speed).distinct().count() == 1
                && Arrays.stream(number).max().orElse(0)
                                - Arrays.stream(number).min().orElse(0)
                        <= 1;
    }

    /** How many lost tasks the client has that has most of them; 1 at least. */
    private int findLongest() {
        return Arrays.stream(disks)
                .mapToInt(disk -> disk == null ? 1 : Math.max(1, disk.sizes.length))
                .max()
                .orElse(1);
    }

    private boolean isCold(int t) {
        int other = snapshot.poolClient(t);
        return snapshot.isLogged(t) && other >= 0 && ranks.rank(t, other) > 0 && isInPool(t, plan.active()[t]);
    }

    private boolean isInPool(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0;
    }

    private boolean isLost(int t) {
        return previous.owner(t) < 0 && ranks.leastRank(t) == ranks.rank(t, snapshot.poolClient(t));
    }

    private long measureChangelog(int t) {
        return ranks.offsets(t, snapshot.poolClient(t));
    }

    /** Lost task t and that with which it best exchanges places do so; whether there is one. */
    private boolean exchange(int t) {
        int here = plan.active()[t];
        int best = -1;
        double most = 0;
        for (int other : findSoonest(t)) {
            int there = plan.active()[other];
            if (size[other] == size[t] || !mayHave(t, there) || !mayHave(other, here)) {
                continue;
            }
            double before = disks[there].sumCubes() + disks[here].sumCubes();
            double after =
                    disks[there].sumCubesWith(size[other], size[t]) + disks[here].sumCubesWith(size[t], size[other]);
            if (before - after > Math.max(most, before * TiePolicy.LOST_LEAST_GAIN)) {
                most = before - after;
                best = other;
            }
        }
        if (best < 0) {
            return false;
        }
        int there = plan.active()[best];
        disks[there].replace(size[best], size[t]);
        disks[here].replace(size[t], size[best]);
        plan.active()[t] = there;
        plan.active()[best] = here;
        return true;
    }

    /** The tasks on other clients that leave both clients soonest done if they exchange places with task t. */
    private int[] findSoonest(int t) {
        int here = plan.active()[t];
        int[] others = cold[snapshot.subtopology(t)];
        double[] ends = new double[others.length];
        for (int k = 0; k < others.length; k++) {
            int there = plan.active()[others[k]];
            double more = size[t] - size[others[k]];
            ends[k] = there == here
                    ? Double.POSITIVE_INFINITY
                    : Math.max((disks[there].load + more) / speed[there], (disks[here].load - more) / speed[here]);
        }
        double[] sorted = ends.clone();
        Arrays.sort(sorted);
        double last = sorted[Math.min(TiePolicy.LOST_CANDIDATES, sorted.length) - 1];
        return IntStream.range(0, others.length)
                .filter(k -> ends[k] <= last && ends[k] < Double.POSITIVE_INFINITY)
                .limit(TiePolicy.LOST_CANDIDATES)
                .map(k -> others[k])
                .toArray();
    }

    /** Whether it would begin with nothing there as well, and no standby is in the way. */
    private boolean mayHave(int t, int c) {
        return isInPool(t, c) && !plan.hasStandby(t, c);
    }

    /** The sizes of lost tasks that are restored on one client and share its rate evenly. */
    private static final class DiskQueue {
        private final double speed;
        private double[] sizes = {};
        private double load;

        DiskQueue(double speed) {
            this.speed = speed;
        }

        /** Takes out one that has the old size, if that is not 0, and puts in the new one, if that is not. */
        void replace(double old, double size) {
            sizes = with(old, size);
            load = Arrays.stream(sizes).sum();
        }

        double sumCubes() {
            return sumCubes(sizes);
        }

        double sumCubesWith(double old, double size) {
            return sumCubes(with(old, size));
        }

        private double[] with(double old, double size) {
            int at = old > 0 ? Arrays.binarySearch(sizes, old) : sizes.length;
            double[] changed = new double[sizes.length + 1];
            int number = 0;
            for (int k = 0; k < sizes.length; k++) {
                if (k != at) {
                    changed[number++] = sizes[k];
                }
            }
            if (size > 0) {
                changed[number++] = size;
            }
            changed = Arrays.copyOf(changed, number);
            Arrays.sort(changed);
            return changed;
        }

        /** Sums up the times after which each is restored: finished ones leave their share to the others. */
        private double sumCubes(double[] ascending) {
            double sum = 0;
            double passed = 0;
            for (int k = 0; k < ascending.length; k++) {
                passed += ascending[k];
                double seconds = (passed + (ascending.length - 1 - k) * ascending[k]) / speed;
                sum += seconds * seconds * seconds;
            }
            return sum;
        }
    }
}
