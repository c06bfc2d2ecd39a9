package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TagSpread;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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

    /** The greatest number of counted reads; half of it costs less than the difference between two kinds of moves. */
    private static final int MOST_CROSSINGS = (1 << 8) - 1;

    private final RackTraffic traffic;
    private final RestoreCosts restoreCosts;
    /** The tasks that a client owns less its share of actives, plus 8, cut to [0, {@link PairProblem#MOST_CROWDED}]. */
    private final int[] crowding;

    /** Creates a planner for the rebalance of another step. */
    public CopyPlanner(PlanningStep step, RackTraffic traffic) {
        super(step);
        this.traffic = traffic;
        restoreCosts = new RestoreCosts(snapshot, ranks);
        crowding = new int[snapshot.clientCount()];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (previous.owner(t) >= 0) {
                crowding[previous.owner(t)]++;
            }
        }
        long[] share = Shares.ofActives(snapshot).high();
        int even = (PairProblem.MOST_CROWDED + 1) / 2;
        Arrays.setAll(crowding, c ->
                (int) Math.max(0, Math.min(PairProblem.MOST_CROWDED, crowding[c] - share[c] + even)));
    }

    /** Returns the client of each task's active; any client may have it, and restore work is least. */
    int[] planActives() {
        int[][] columns = new int[snapshot.taskCount()][];
        boolean[] mayPool = new boolean[columns.length];
        Arrays.fill(mayPool, true);
        Arrays.setAll(columns, t -> snapshot.columnsAnd(t, previous.owner(t)));
        return chooseActives(columns, mayPool, new ActiveCosts(this::costAnywhere));
    }

    /**
     * Returns a plan in which one of the copies of each logged task is active, with the fewest moves, and the others
     * are standbys. Any client may have the active of another task.
     */
    Placement planRoles(int[][] copies) {
        int[][] columns = new int[snapshot.taskCount()][];
        boolean[] mayPool = new boolean[columns.length];
        for (int t = 0; t < columns.length; t++) {
            mayPool[t] = !snapshot.isLogged(t);
            columns[t] = snapshot.isLogged(t) ? copies[t] : snapshot.columnsAnd(t, previous.owner(t));
        }
        int[] active = chooseActives(columns, mayPool, new ActiveCosts(this::costOfRole));
        Placement plan = Placement.ofActives(active);
        for (int t = 0; t < columns.length; t++) {
            int client = active[t];
            plan.standby()[t] = snapshot.isLogged(t)
                    ? Arrays.stream(copies[t]).filter(c -> c != client).toArray()
                    : plan.standby()[t];
        }
        return plan;
    }

    /**
     * Chooses the clients of actives for this rebalance, on the way to the plan, with the least imbalance.
     *
     * @param candidates the sorted clients that may have each task's active, or null for all its most caught up clients
     * @return the client of each task's active
     */
    public int[] chooseAmong(int[][] candidates) {
        int[][] columns = new int[candidates.length][];
        boolean[] mayPool = new boolean[candidates.length];
        for (int t = 0; t < candidates.length; t++) {
            boolean isOpen = candidates[t] == null;
            int other = snapshot.poolClient(t);
            columns[t] = isOpen ? snapshot.columns(t) : candidates[t];
            mayPool[t] = isOpen && other >= 0 && ranks.rank(t, other) == ranks.leastRank(t);
        }
        return chooseActives(columns, mayPool, (t, c) -> {
            boolean mayLead = candidates[t] != null || ranks.rank(t, c) == ranks.leastRank(t);
            return mayLead ? 0 : PairProblem.NEVER;
        });
    }

    /** Returns each active's client: one of its {@code columns} or, if {@code mayPool}, any; actives are balanced. */
    private int[] chooseActives(int[][] columns, boolean[] mayPool, PairProblem.Costs costs) {
        int[][] fixed = new int[columns.length][];
        Arrays.setAll(fixed, t -> columns[t].length == 1 && !mayPool[t] ? columns[t] : new int[0]);
        int[] need =
                Arrays.stream(fixed).mapToInt(clients -> 1 - clients.length).toArray();
        List<PairProblem.Scope> scopes = new ArrayList<>();
        if (snapshot.standbysPerTask() == 0
                && costs instanceof ActiveCosts) { // then the actives of a plan are all its copies
            scopes.add(createScope(snapshot::isLogged));
        }
        if (!IntStream.range(0, need.length).allMatch(snapshot::isStateful)) {
            scopes.add(createScope(snapshot::isStateful));
        }
        scopes.add(new PairProblem.Scope(Shares.ofActives(snapshot), g -> true));
        long[] tasks = new long[snapshot.subtopologyCount()];
        Arrays.setAll(tasks, g -> snapshot.firstTask(g + 1) - snapshot.firstTask(g));
        Shares[] cells = Shares.ofEach(tasks, 1, snapshot);
        int[][] chosen = choose(new PairProblem(need, columns, mayPool, fixed, costs, cells, scopes, null));
        return IntStream.range(0, need.length)
                .map(t -> need[t] > 0 ? chosen[t][0] : fixed[t][0])
                .toArray();
    }

    /** Returns the clients that {@link PairChooser} chooses for each task, sorted. */
    private int[][] choose(PairProblem problem) {
        return PairChooser.choose(snapshot, problem, ClientKinds.of(snapshot, traffic));
    }

    /** Returns a scope of all subtopologies with selected tasks, bounded by the shares of the selected tasks. */
    private PairProblem.Scope createScope(IntPredicate isCounted) {
        boolean[] counted = new boolean[snapshot.subtopologyCount()];
        int[] tasks = IntStream.range(0, snapshot.taskCount()).filter(isCounted).toArray();
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
            columns[t] = Snapshot.union(snapshot.columnsAnd(t, previous.owner(t)), previous.possibleStandbys(t));
            logged[snapshot.subtopology(t)] += snapshot.isLogged(t) ? 1 : 0;
        }
        Shares bounds = Shares.of(Arrays.stream(logged).sum(), copiesPerTask, snapshot);
        List<PairProblem.Scope> scopes = List.of(new PairProblem.Scope(bounds, g -> true));
        Shares[] cells = Shares.ofEach(logged, copiesPerTask, snapshot);
        PairProblem.Costs costs = (t, c) -> costOfCopy(t, c, withActives);
        return choose(new PairProblem(need, columns, mayPool, fixed, costs, cells, scopes, new TagSpread(snapshot)));
    }

    /** The given costs of a plan's actives, with tie-breaking against crowded clients. */
    private final class ActiveCosts implements PairProblem.Costs {
        private final PairProblem.Costs costs;

        ActiveCosts(PairProblem.Costs costs) {
            this.costs = costs;
        }

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
    }

    /** Returns the cost of an active on any client: restore work, the cost of a move, and reads across racks. */
    private long costAnywhere(int t, int c) {
        int crossings = Math.min(MOST_CROSSINGS, traffic.crossingsOfActive(t, c));
        return restoreCosts.ofActive(t, c) + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /** Returns the cost of making a copy the active: a move, and the reads across racks that standbys do not do. */
    private long costOfRole(int t, int c) {
        long cost = ranks.rank(t, c) > 0 ? RestoreCosts.NOT_CAUGHT_UP : 0;
        int crossings = traffic.crossingsOfActive(t, c) - traffic.crossingsOfStandby(t, c);
        crossings = Math.max(-MOST_CROSSINGS / 2, Math.min(MOST_CROSSINGS / 2, crossings)) + MOST_CROSSINGS / 2;
        cost += snapshot.isLogged(t) && (previous.hadStandby(t, c) || snapshot.wasStandby(t, c)) ? WAS_STANDBY : 0;
        cost += previous.owner(t) < 0 ? crowding[c] : 0;
        return cost + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /**
     * Returns the cost of a copy: restore work; ties are broken by moves, then by reads across racks. An active's reads
     * count too if {@code withActives}: the copy may become active.
     */
    private long costOfCopy(int t, int c, boolean withActives) {
        int crossings = traffic.crossingsOfStandby(t, c) + (withActives ? traffic.crossingsOfActive(t, c) : 0);
        boolean stays = previous.owner(t) == c;
        int move = stays ? 0 : previous.hadStandby(t, c) ? WAS_STANDBY : snapshot.isHolder(t, c) ? HAS_STATE : MOVES;
        return restoreCosts.ofCopy(t, c) + move + CROSSING * Math.min(MOST_CROSSINGS / 2, crossings);
    }
}
