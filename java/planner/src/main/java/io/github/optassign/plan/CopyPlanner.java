package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * A chooser of clients for actives, for all copies in any role, or for standbys next to given actives. Restore work is
 * least, and copies are balanced over clients, in total and in each subtopology.
 */
public final class CopyPlanner extends PlanningStep {
    /** The cost of a copy that moves to a client without state of the task. */
    private static final int MOVES = 1 << 13;
    /** The cost of a copy that moves to a client with state of the task. */
    private static final int HAS_STATE = MOVES - (1 << 11);
    /** The cost of a copy on a client that had a standby of the task; {@link #costOfRole} adds it to other costs. */
    private static final int WAS_STANDBY = 1 << 12;
    /** The cost of reading a partition across racks. */
    private static final int CROSSING = 1 << 4;
    /** The cost of one restore step, greater than the sum of the costs of a pair that only break ties. */
    private static final long RESTORE_STEP = 1L << 16;
    /** The cost, half a restore step, of a copy on a client that is not caught up, in addition to its restore steps. */
    private static final int NOT_CAUGHT_UP = 1 << 15;
    /** The bound that restore costs in steps stay below, so that potentials of a large network have at most 62 bits. */
    private static final long MOST_RESTORE_STEPS = 1L << 24;

    /** The greatest number of counted reads; half of it costs less than the difference between two kinds of moves. */
    private static final int MOST_CROSSINGS = (1 << 8) - 1;

    private final RackTraffic traffic;
    private final ClientKinds kinds;
    /** A restore step is 2<sup>shift</sup> offsets: the least power that keeps costs below 2<sup>24</sup> steps. */
    private final int shift;
    /** The tasks that a client owns less its share of actives, plus 8, cut to [0, {@link PairProblem#MOST_CROWDED}]. */
    private final int[] crowding;

    /** Creates a planner for the rebalance of another step. */
    public CopyPlanner(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
        kinds = ClientKinds.of(snapshot, traffic);
        crowding = new int[snapshot.clientCount()];
        long greatest = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : snapshot.columnsAnd(t, snapshot.poolClient(t))) {
                greatest = Math.max(greatest, ranks.cost(t, c));
            }
            if (previous.owner(t) >= 0) {
                crowding[previous.owner(t)]++;
            }
        }
        shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(greatest / MOST_RESTORE_STEPS));
        long[] share = Shares.ofActives(snapshot).high();
        int even = (PairProblem.MOST_CROWDED + 1) / 2;
        Arrays.setAll(crowding, c ->
                (int) Math.max(0, Math.min(PairProblem.MOST_CROWDED, crowding[c] - share[c] + even)));
    }

    /** Returns the client of each task's active; any client may have it, and restore work is least. */
    int[] planActives() {
        return chooseActives(this::listColumns, t -> true, avoidCrowded(this::costAnywhere), true);
    }

    /**
     * Returns a plan in which one of the copies of each logged task is active, with the fewest moves, and the others
     * are standbys. Any client may have the active of another task.
     */
    Placement planRoles(int[][] copies) {
        int[] active = chooseActives(
                t -> snapshot.isLogged(t) ? copies[t] : listColumns(t),
                t -> !snapshot.isLogged(t),
                avoidCrowded(this::costOfRole),
                true);
        Placement plan = Placement.ofActives(active);
        Arrays.setAll(
                plan.standby(),
                t -> Arrays.stream(copies[t]).filter(c -> c != active[t]).toArray());
        return plan;
    }

    /** Returns a task's columns and its owner. */
    private int[] listColumns(int t) {
        return snapshot.columnsAnd(t, previous.owner(t));
    }

    /**
     * Chooses the clients of actives for this rebalance, on the way to the plan, with the least imbalance.
     *
     * @param candidates the sorted clients that may have each task's active, or null for all its most caught up clients
     * @return the client of each task's active
     */
    public int[] chooseAmong(int[][] candidates) {
        return chooseActives(
                t -> candidates[t] == null ? snapshot.columns(t) : candidates[t],
                t -> candidates[t] == null
                        && snapshot.poolClient(t) >= 0
                        && ranks.isMostCaughtUp(t, snapshot.poolClient(t)),
                (t, c) -> candidates[t] != null || ranks.isMostCaughtUp(t, c) ? 0 : PairProblem.NEVER,
                false);
    }

    /**
     * Returns each active's client: one of its columns or, if {@code mayUsePool}, any. Actives are balanced;
     * {@code isPlan} is whether they are those of a plan.
     */
    private int[] chooseActives(
            IntFunction<int[]> columnsOf, IntPredicate mayUsePool, PairProblem.Costs costs, boolean isPlan) {
        int[][] columns = new int[snapshot.taskCount()][];
        Arrays.setAll(columns, columnsOf);
        boolean[] mayPool = new boolean[columns.length];
        for (int t = 0; t < columns.length; t++) {
            mayPool[t] = mayUsePool.test(t);
        }
        int[][] fixed = new int[columns.length][];
        Arrays.setAll(fixed, t -> columns[t].length == 1 && !mayPool[t] ? columns[t] : new int[0]);
        int[] need =
                Arrays.stream(fixed).mapToInt(clients -> 1 - clients.length).toArray();
        List<PairProblem.Scope> scopes = new ArrayList<>();
        if (snapshot.standbysPerTask() == 0 && isPlan) { // then the actives of a plan are all its copies
            scopes.add(createScope(snapshot::isLogged));
        }
        if (!IntStream.range(0, need.length).allMatch(snapshot::isStateful)) {
            scopes.add(createScope(snapshot::isStateful));
        }
        scopes.add(new PairProblem.Scope(Shares.ofActives(snapshot), g -> true));
        long[] tasks = new long[snapshot.subtopologyCount()];
        Arrays.setAll(tasks, g -> snapshot.tasksOf(g).count());
        Shares[] cells = Shares.ofEach(tasks, 1, snapshot);
        PairProblem problem = new PairProblem(need, columns, mayPool, fixed, costs, cells, scopes, false);
        int[][] chosen = PairChooser.choose(snapshot, problem, kinds);
        return IntStream.range(0, need.length)
                .map(t -> need[t] > 0 ? chosen[t][0] : fixed[t][0])
                .toArray();
    }

    /** Returns a scope of all subtopologies with selected tasks, bounded by the shares of the selected tasks. */
    private PairProblem.Scope createScope(IntPredicate isCounted) {
        boolean[] counted = new boolean[snapshot.subtopologyCount()];
        int[] tasks = snapshot.tasks().filter(isCounted).toArray();
        for (int t : tasks) {
            counted[snapshot.subtopology(t)] = true;
        }
        return new PairProblem.Scope(Shares.of(tasks.length, 1, snapshot), g -> counted[g]);
    }

    /** Returns the clients of each task's copies in any role, sorted; an empty array if the task is not logged. */
    int[][] planCopies() {
        int copies = snapshot.standbysPerTask() + 1;
        return chooseCopies(copies, copies, new int[snapshot.taskCount()][0], true);
    }

    /**
     * Returns a plan with the given actives and standbys. With several tags, each task gets one standby at a time: the
     * network tells which values are new only by fixed copies.
     */
    Placement planStandbys(int[] active) {
        Placement plan = Placement.ofActives(active);
        int[][] fixed = new int[active.length][];
        Arrays.setAll(fixed, t -> snapshot.isLogged(t) ? new int[] {active[t]} : new int[0]);
        int standbys = snapshot.standbysPerTask();
        int perRound = snapshot.tagCount() > 1 ? 1 : Math.max(1, standbys);
        for (int planned = perRound; planned <= standbys; planned += perRound) {
            int[][] more = chooseCopies(perRound, planned + 1, fixed, false);
            for (int t = 0; t < active.length; t++) {
                plan.standby()[t] = Snapshot.union(plan.standby()[t], more[t]);
                fixed[t] = Snapshot.union(fixed[t], more[t]);
            }
        }
        return plan;
    }

    /**
     * Returns {@code copies} clients for each logged task, in addition to its fixed clients. {@code copiesPerTask}
     * counts both and sets the shares; {@code withActives} is whether a copy may become active.
     */
    private int[][] chooseCopies(int copies, int copiesPerTask, int[][] fixed, boolean withActives) {
        int[] need = new int[snapshot.taskCount()];
        int[][] columns = new int[need.length][];
        boolean[] mayPool = new boolean[need.length];
        Arrays.fill(mayPool, true);
        long[] logged = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < need.length; t++) {
            need[t] = snapshot.isLogged(t) ? copies : 0;
            columns[t] = Snapshot.union(listColumns(t), previous.possibleStandbys(t));
            logged[snapshot.subtopology(t)] += snapshot.isLogged(t) ? 1 : 0;
        }
        Shares bounds = Shares.of(Arrays.stream(logged).sum(), copiesPerTask, snapshot);
        List<PairProblem.Scope> scopes = List.of(new PairProblem.Scope(bounds, g -> true));
        Shares[] cells = Shares.ofEach(logged, copiesPerTask, snapshot);
        PairProblem.Costs costs = (t, c) -> costOfCopy(t, c, withActives);
        boolean isSpread = snapshot.hasTagsToSpread() && !kinds.tags().isEmpty();
        PairProblem problem = new PairProblem(need, columns, mayPool, fixed, costs, cells, scopes, isSpread);
        return PairChooser.choose(snapshot, problem, kinds);
    }

    /** Returns the given costs of a plan's actives, with tie-breaking against crowded clients. */
    private PairProblem.Costs avoidCrowded(PairProblem.Costs costs) {
        return new PairProblem.Costs() {
            @Override
            public long of(int t, int c) {
                return costs.of(t, c);
            }

            @Override
            public int crowding(int c) {
                return crowding[c];
            }

            /** Returns whether the task has no owner, so that its active starts in this rebalance. */
            @Override
            public boolean isAtOnce(int t) {
                return previous.owner(t) < 0;
            }
        };
    }

    /**
     * Returns the cost of an active on any client: restore work, the cost of a move, and reads across racks. Tied
     * clients cost no restore steps, since they may get a copy now.
     */
    private long costAnywhere(int t, int c) {
        int crossings = Math.min(MOST_CROSSINGS, traffic.crossingsOfActive(t, c));
        long restoring = costOfRestoring(t, c, ranks.rank(t, c) > ranks.lastRank(t));
        return restoring + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /** Returns the cost of making a copy the active: a move, and the reads across racks that standbys do not do. */
    private long costOfRole(int t, int c) {
        long cost = costOfRestoring(t, c, false);
        int crossings = traffic.crossingsOfActive(t, c) - traffic.crossingsOfStandby(t, c);
        crossings = Math.max(-MOST_CROSSINGS / 2, Math.min(MOST_CROSSINGS / 2, crossings)) + MOST_CROSSINGS / 2;
        cost += snapshot.isLogged(t) && (previous.hadStandby(t, c) || snapshot.wasStandby(t, c)) ? WAS_STANDBY : 0;
        cost += previous.owner(t) < 0 ? crowding[c] : 0;
        return cost + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /**
     * Returns the cost of a copy: restore work; ties are broken by moves, then by reads across racks. An active's reads
     * count too if {@code withActives}: the copy may become active. Tied clients cost restore steps if only some of
     * them get a copy now.
     */
    private long costOfCopy(int t, int c, boolean withActives) {
        int crossings = traffic.crossingsOfStandby(t, c) + (withActives ? traffic.crossingsOfActive(t, c) : 0);
        boolean stays = previous.owner(t) == c;
        int move = stays ? 0 : previous.hadStandby(t, c) ? WAS_STANDBY : snapshot.isHolder(t, c) ? HAS_STATE : MOVES;
        long rank = ranks.rank(t, c);
        boolean withSteps = rank > ranks.lastRank(t) || (rank == ranks.lastRank(t) && ranks.hasSpareTied(t));
        return costOfRestoring(t, c, withSteps) + move + CROSSING * Math.min(MOST_CROSSINGS / 2, crossings);
    }

    /**
     * Returns the restore cost of a planned copy; {@code withSteps} is whether its restore steps count. R3 to R5 give a
     * copy to the most caught up clients whatever the plan is, so planned copies on these cost no steps. The clients of
     * rank {@link Ranks#lastRank}, which get the last of these copies, are tied: only some of them may get a copy now.
     * A cost for each tied copy is exact if all planned copies of the task are tied, and approximate otherwise.
     */
    private long costOfRestoring(int t, int c, boolean withSteps) {
        long steps = withSteps ? ranks.cost(t, c) >> shift : 0;
        return steps * RESTORE_STEP + (ranks.rank(t, c) > 0 ? NOT_CAUGHT_UP : 0);
    }
}
