package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * A local search that shortens the time for which lost tasks are down (docs/reference/rules.md, "Lost tasks"). A lost
 * task has no owner, and no client is more caught up than a client without state. A cold task runs elsewhere until its
 * planned active, which starts without state, is restored. Lost tasks trade planned clients with each other and with
 * cold tasks of their subtopology. Trades change neither counts nor costs. Lost tasks on one disk share its rate.
 *
 * <p>The objective is the sum of the cubes of the times, so that long times count most.
 */
final class Downtime extends PlanningStep implements Trades.Objective {
    private final Placement plan;
    /** The lost tasks, the longest changelog first. */
    private final int[] lost;
    /** The lost and cold tasks of each subtopology. */
    private final int[][] tradable;
    /** The offsets of each task that share a disk's rate with lost tasks; 0 if the task is not lost. */
    private final double[] size;
    /** The disk of each client, with its lost tasks. */
    private final SharedDisk[] disks;
    /** How many more searches of lost tasks are allowed, in all rounds together. */
    private int searchesLeft;

    private Downtime(PlanningStep step, Placement plan, double[] perSecond) {
        super(step);
        this.plan = plan;
        size = new double[snapshot.taskCount()];
        IntStream down = snapshot.tasks().filter(t -> isColdOrLost(t) && isLost(t));
        lost = sort(down, Comparator.comparingLong(t -> -changelogLength(t)));
        tradable = new int[lost.length == 0 ? 0 : snapshot.subtopologyCount()][];
        Arrays.setAll(
                tradable, g -> snapshot.tasksOf(g).filter(this::isColdOrLost).toArray());
        disks = new SharedDisk[snapshot.clientCount()];
        Arrays.setAll(disks, c -> new SharedDisk(perSecond == null ? 1 : perSecond[c]));
        for (int t : lost) {
            size[t] = changelogLength(t);
            int c = plan.active()[t];
            disks[c] = disks[c].with(0, size[t]);
        }
        int longest =
                Arrays.stream(disks).mapToInt(disk -> disk.sizes.length).max().orElse(0);
        searchesLeft = Math.min(TiePolicy.LOST_TURNS, TiePolicy.LOST_WORK / Math.max(1, longest));
    }

    /** Shortens the downtime in a plan, which it changes; if {@code perSecond} is null, clients are equally fast. */
    static void shorten(PlanningStep step, Placement plan, double[] perSecond) {
        Downtime times = new Downtime(step, plan, perSecond);
        if (times.lost.length > 0) {
            Trades.search(times, TiePolicy.ROUNDS);
        }
    }

    /** Returns whether a task is cold or lost: its planned active has no state and is not caught up. */
    private boolean isColdOrLost(int t) {
        int other = snapshot.poolClient(t);
        return snapshot.isLogged(t) && other >= 0 && ranks.rank(t, other) > 0 && hasNoState(t, plan.active()[t]);
    }

    /** Returns whether a client has no state of a task: the snapshot does not list it among the task's columns. */
    private boolean hasNoState(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0;
    }

    /** Returns whether a cold or lost task is lost: it has no owner, and no client ranks before its planned active. */
    private boolean isLost(int t) {
        return previous.owner(t) < 0 && ranks.isMostCaughtUp(t, snapshot.poolClient(t));
    }

    /** Returns the offsets in a task's changelogs. */
    private long changelogLength(int t) {
        return ranks.offsets(t, snapshot.poolClient(t));
    }

    /** Returns the lost tasks with the longest changelogs, as many as may still search. */
    @Override
    public int[] listSeekers() {
        int[] seekers = Arrays.copyOf(lost, Math.min(lost.length, searchesLeft));
        searchesLeft -= seekers.length;
        return seekers;
    }

    /** Returns at most {@link TiePolicy#LOST_CANDIDATES} partners: the trades after which both disks end soonest. */
    @Override
    public int[] listPartners(int t) {
        int here = plan.active()[t];
        IntStream others = Arrays.stream(tradable[snapshot.subtopology(t)])
                .filter(other -> plan.active()[other] != here && size[other] != size[t]);
        double[] ends = new double[size.length];
        IntStream measured = others.peek(other -> {
            double more = size[t] - size[other];
            ends[other] = Math.max(disks[plan.active()[other]].measureEnd(more), disks[here].measureEnd(-more));
        });
        return Arrays.stream(sort(measured, Comparator.comparingDouble(other -> ends[other])))
                .limit(TiePolicy.LOST_CANDIDATES)
                .toArray();
    }

    @Override
    public int client(int t) {
        return plan.active()[t];
    }

    @Override
    public double measureRise(int t, int place) {
        int c = plan.active()[place];
        return hasNoState(t, c) && !plan.hasStandby(t, c)
                ? disks[c].with(size[place], size[t]).cubes - disks[c].cubes
                : Double.POSITIVE_INFINITY;
    }

    /** Returns the share {@link TiePolicy#LOST_LEAST_GAIN} of the cost of the disk of the task's client. */
    @Override
    public double leastGain(int t) {
        return disks[plan.active()[t]].cubes * TiePolicy.LOST_LEAST_GAIN;
    }

    @Override
    public void move(int t, int to) {
        int from = plan.active()[t];
        disks[from] = disks[from].with(size[t], 0);
        disks[to] = disks[to].with(0, size[t]);
        plan.active()[t] = to;
    }

    /** An immutable set of lost tasks that are restored on one disk at the same time and share its rate evenly. */
    private static final class SharedDisk {
        /** The offsets that the disk restores per second, or 1 if no rate is known. */
        private final double speed;
        /** The sizes of the tasks in offsets, sorted; 0 for each task that has left. */
        private final double[] sizes;
        /** The sum of the sizes, in offsets. */
        private final double total;
        /** The sum of the cubes of the times until each task is restored. */
        private final double cubes;

        SharedDisk(double speed, double... sizes) {
            this.speed = speed;
            this.sizes = sizes;
            double sum = 0;
            double passed = 0;
            for (int k = 0; k < sizes.length; k++) { // finished copies leave their share to the others
                passed += sizes[k];
                double seconds = (passed + (sizes.length - 1 - k) * sizes[k]) / speed;
                sum += seconds * seconds * seconds;
            }
            total = passed;
            cubes = sum;
        }

        /** Returns the time until the disk has restored its tasks and {@code more} further offsets. */
        double measureEnd(double more) {
            return (total + more) / speed;
        }

        /** Returns the disk with a task of size {@code old} replaced by another task; size 0 means no task. */
        SharedDisk with(double old, double size) {
            int at = Arrays.binarySearch(sizes, old);
            double[] changed = Arrays.copyOf(sizes, sizes.length + (at < 0 ? 1 : 0));
            changed[at < 0 ? sizes.length : at] = size;
            Arrays.sort(changed);
            return new SharedDisk(speed, changed);
        }
    }
}
