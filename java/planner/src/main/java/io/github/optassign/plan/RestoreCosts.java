package io.github.optassign.plan;

import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;

/**
 * Restore costs of planned copies; a restore step costs {@link PairProblem#RESTORE_STEP}. R3 to R5 give a copy to the
 * most caught up clients whatever the plan is, so planned copies on these cost no steps. The clients of rank
 * {@link Ranks#lastRank}, which get the last of these copies, are tied: only some of them may get a copy now. A cost
 * for each tied copy is exact if all planned copies of the task are tied, and approximate otherwise.
 */
final class RestoreCosts {
    /** The cost, half a restore step, of a copy on a client that is not caught up, in addition to its restore steps. */
    static final int NOT_CAUGHT_UP = 1 << 15;

    private final Snapshot snapshot;
    private final Ranks ranks;
    /** A restore step is 2<sup>shift</sup> offsets: the least power that keeps costs below 2<sup>24</sup> steps. */
    private final int shift;
    /** Whether each task has more clients up to {@link Ranks#lastRank} than copies: some tied clients get none. */
    private final boolean[] hasSpareTied;

    RestoreCosts(Snapshot snapshot, Ranks ranks) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        long greatest = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : Snapshot.union(snapshot.columns(t), snapshot.poolClient(t))) {
                greatest = Math.max(greatest, ranks.cost(t, c));
            }
        }
        shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(greatest / PairProblem.MOST_RESTORE_STEPS));
        hasSpareTied = new boolean[snapshot.taskCount()];
        int copies = snapshot.standbysPerTask() + 1;
        for (int t = 0; t < hasSpareTied.length; t++) {
            int task = t;
            int[] columns = snapshot.columns(t);
            int[] some = Snapshot.union(columns, snapshot.firstOthers(columns, copies + 1));
            long forced = Arrays.stream(some)
                    .filter(c -> ranks.rank(task, c) <= ranks.lastRank(task))
                    .count();
            hasSpareTied[t] = forced > copies;
        }
    }

    /** Returns the cost of an active. Tied clients cost no restore steps, since they may get a copy now. */
    long ofActive(int t, int c) {
        return cost(t, c, ranks.rank(t, c) > ranks.lastRank(t));
    }

    /** Returns the cost of a copy in any role. Tied clients cost restore steps if only some of them get a copy now. */
    long ofCopy(int t, int c) {
        long rank = ranks.rank(t, c);
        return cost(t, c, rank > ranks.lastRank(t) || (rank == ranks.lastRank(t) && hasSpareTied[t]));
    }

    /** Returns the cost of a copy; {@code withSteps} is whether its restore steps count. */
    private long cost(int t, int c, boolean withSteps) {
        long steps = withSteps ? ranks.cost(t, c) >> shift : 0;
        return steps * PairProblem.RESTORE_STEP + (ranks.rank(t, c) > 0 ? NOT_CAUGHT_UP : 0);
    }
}
