package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The times for which lost tasks are down in a plan (docs/reference/rules.md, "Lost tasks"): no client has any state of
 * them, and copies on one disk share its rate. Lost tasks trade places with each other, and with cold tasks, whose
 * planned active of the same subtopology begins without state but which run elsewhere until then. Counts and costs
 * stay.
 *
 * <p>The objective is the sum of the cubes of the times, so that long times count most.
 */
final class Downtime extends PlanningStep implements Trades.Objective {
    private final Placement plan;
    /** The lost tasks, the longest changelog first. */
    private final int[] lost;
    /** Per subtopology its lost and cold tasks. */
    private final int[][] cold;
    /** Per task the offsets that delay others on its disk; 0 if the task is not lost. */
    private final double[] size;
    /** Per client its lost tasks. */
    private final DiskQueue[] disks;
    /** The lost tasks that may still look for a trade, in all rounds together. */
    private int turns;

    private Downtime(PlanningStep step, Placement plan, double[] perSecond) {
        super(step);
        this.plan = plan;
        size = new double[snapshot.taskCount()];
        IntStream down = IntStream.range(0, snapshot.taskCount()).filter(t -> isCold(t) && isLost(t));
        lost = sort(down, Comparator.comparingLong(t -> -measureChangelog(t)));
        cold = new int[lost.length == 0 ? 0 : snapshot.subtopologyCount()][];
        Arrays.setAll(
                cold,
                g -> IntStream.range(snapshot.firstTask(g), snapshot.firstTask(g + 1))
                        .filter(this::isCold)
                        .toArray());
        disks = new DiskQueue[snapshot.clientCount()];
        Arrays.setAll(disks, c -> new DiskQueue(perSecond == null ? 1 : perSecond[c]));
        for (int t : lost) {
            size[t] = measureChangelog(t);
            put(t, plan.active()[t]);
        }
        int longest =
                Arrays.stream(disks).mapToInt(disk -> disk.sizes.length).max().orElse(0);
        turns = Math.min(TiePolicy.LOST_TURNS, TiePolicy.LOST_WORK / Math.max(1, longest));
    }

    /** Has lost tasks of a plan trade places; without restore rates, null, clients count as equal. */
    static void shorten(PlanningStep step, Placement plan, double[] perSecond) {
        Downtime times = new Downtime(step, plan, perSecond);
        if (times.lost.length > 0) {
            Trades.search(times, TiePolicy.ROUNDS);
        }
    }

    private boolean isCold(int t) {
        int other = snapshot.poolClient(t);
        return snapshot.isLogged(t) && other >= 0 && ranks.rank(t, other) > 0 && isUnknown(t, plan.active()[t]);
    }

    private boolean isUnknown(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0;
    }

    private boolean isLost(int t) {
        return previous.owner(t) < 0 && ranks.leastRank(t) == ranks.rank(t, snapshot.poolClient(t));
    }

    private long measureChangelog(int t) {
        return ranks.offsets(t, snapshot.poolClient(t));
    }

    @Override
    public int[] listSeekers() {
        int[] seekers = Arrays.copyOf(lost, Math.min(lost.length, turns));
        turns -= seekers.length;
        return seekers;
    }

    /** Returns the tasks after a trade with which the disks of both clients are done soonest. */
    @Override
    public int[] listPartners(int t) {
        int here = plan.active()[t];
        int[] others = cold[snapshot.subtopology(t)];
        double[] ends = new double[others.length];
        for (int k = 0; k < others.length; k++) {
            int there = plan.active()[others[k]];
            double more = size[t] - size[others[k]];
            ends[k] = there == here || more == 0
                    ? Double.POSITIVE_INFINITY
                    : Math.max(disks[there].measureEnd(more), disks[here].measureEnd(-more));
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

    @Override
    public int client(int t) {
        return plan.active()[t];
    }

    @Override
    public double measureRise(int t, int place) {
        int c = plan.active()[place];
        return isUnknown(t, c) && !plan.hasStandby(t, c)
                ? disks[c].with(size[place], size[t]).cubes - disks[c].cubes
                : Double.POSITIVE_INFINITY;
    }

    @Override
    public double leastGain(int t) {
        return disks[plan.active()[t]].cubes * TiePolicy.LOST_LEAST_GAIN;
    }

    @Override
    public void take(int t) {
        int from = plan.active()[t];
        disks[from] = disks[from].with(size[t], 0);
    }

    @Override
    public void put(int t, int to) {
        disks[to] = disks[to].with(0, size[t]);
        plan.active()[t] = to;
    }

    /** Lost tasks that are restored on one client and share its rate evenly. */
    private static final class DiskQueue {
        private final double speed;
        /** The sizes of the tasks, sorted. */
        private final double[] sizes;

        private final double load;
        /** The sum of the cubes of the times after which each is restored. */
        private final double cubes;

        DiskQueue(double speed, double... sizes) {
            this.speed = speed;
            this.sizes = sizes;
            double sum = 0;
            double passed = 0;
            for (int k = 0; k < sizes.length; k++) { // finished copies leave their share to the others
                passed += sizes[k];
                double seconds = (passed + (sizes.length - 1 - k) * sizes[k]) / speed;
                sum += seconds * seconds * seconds;
            }
            load = passed;
            cubes = sum;
        }

        /** Returns the time until the disk has restored its tasks and further offsets. */
        double measureEnd(double more) {
            return (load + more) / speed;
        }

        /** Returns the queue with a size replaced by another one; 0 stands for none. */
        DiskQueue with(double old, double size) {
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
            return new DiskQueue(speed, changed);
        }
    }
}
