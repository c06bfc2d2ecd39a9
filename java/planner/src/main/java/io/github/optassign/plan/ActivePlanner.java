package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/** Plans the actives, balanced per client and subtopology: on any client, or on a copy of each logged task. */
public final class ActivePlanner {
    private static final int NOT_CAUGHT_UP = 1 << 15;
    private static final int MOVES = 1 << 13;
    private static final int LOSES_STANDBY = 1 << 12;
    private static final int CROSSING = 1 << 4;
    private static final int MOST_CROSSINGS = (1 << 8) - 1;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final RackTraffic traffic;
    private final RestoreSteps steps;
    /** Per client its active tasks above its share before this rebalance, cut off at a few bits. */
    private final int[] crowding;

    /** Reads a snapshot. */
    public ActivePlanner(Snapshot snapshot, Ranks ranks, Previous previous, RackTraffic traffic) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.traffic = traffic;
        steps = new RestoreSteps(snapshot, ranks);
        crowding = new int[snapshot.clientCount()];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (previous.owner(t) >= 0) {
                crowding[previous.owner(t)]++;
            }
        }
        long[] share = Shares.ofActives(snapshot).high();
        int even = (PairChoice.MOST_CROWDED + 1) / 2;
        Arrays.setAll(crowding, c ->
                (int) Math.max(0, Math.min(PairChoice.MOST_CROWDED, crowding[c] - share[c] + even)));
    }

    /** Plans actives on any clients, with the least restore work. @return per task its client */
    int[] planAnywhere() {
        int[][] columns = new int[snapshot.taskCount()][];
        boolean[] mayPool = new boolean[columns.length];
        Arrays.fill(mayPool, true);
        Arrays.setAll(columns, t -> snapshot.columnsAnd(t, previous.owner(t)));
        return choose(columns, mayPool, new int[columns.length][0], new Costs(this::costAnywhere));
    }

    /**
     * Plans which copy of each logged task is active, with the fewest moves.
     *
     * @param copies per task the clients of its copies, sorted
     */
    Placement planRoles(int[][] copies) {
        int[][] columns = new int[snapshot.taskCount()][];
        boolean[] mayPool = new boolean[columns.length];
        for (int t = 0; t < columns.length; t++) {
            mayPool[t] = !snapshot.isLogged(t);
            columns[t] = snapshot.isLogged(t) ? copies[t] : snapshot.columnsAnd(t, previous.owner(t));
        }
        Placement plan = Placement.empty(columns.length);
        int[] active = choose(columns, mayPool, new int[columns.length][0], new Costs(this::costOfRole));
        for (int t = 0; t < columns.length; t++) {
            int leads = active[t];
            plan.active()[t] = leads;
            plan.standby()[t] = snapshot.isLogged(t)
                    ? Arrays.stream(copies[t]).filter(c -> c != leads).toArray()
                    : plan.standby()[t];
        }
        return plan;
    }

    /**
     * Chooses actives of this rebalance with the least imbalance.
     *
     * @param candidates per task the clients that may lead it, sorted; null if each of its most caught up clients may
     * @return per task its client
     */
    public int[] chooseAmong(int[][] candidates) {
        int[][] columns = new int[candidates.length][];
        int[][] fixed = new int[candidates.length][0];
        boolean[] mayPool = new boolean[candidates.length];
        for (int t = 0; t < candidates.length; t++) {
            boolean isOpen = candidates[t] == null;
            int other = snapshot.poolClient(t);
            columns[t] = isOpen ? snapshot.columns(t) : candidates[t];
            mayPool[t] = isOpen && other >= 0 && ranks.rank(t, other) == ranks.leastRank(t);
            fixed[t] = !isOpen && candidates[t].length == 1 ? candidates[t] : fixed[t];
        }
        return choose(columns, mayPool, fixed, (t, c) -> isOpenTo(candidates, t, c) ? 0 : PairChoice.NEVER);
    }

    private boolean isOpenTo(int[][] candidates, int t, int c) {
        return candidates[t] != null || ranks.rank(t, c) == ranks.leastRank(t);
    }

    private int[] choose(int[][] columns, boolean[] mayPool, int[][] fixed, PairChoice.Costs costs) {
        int[] need = new int[columns.length];
        Arrays.setAll(need, t -> 1 - fixed[t].length);
        List<PairChoice.Level> levels = new ArrayList<>();
        if (snapshot.standbysPerTask() == 0 && costs instanceof Costs) { // then actives of a plan are its copies
            levels.add(countLevel(snapshot::isLogged));
        }
        if (!IntStream.range(0, need.length).allMatch(snapshot::isStateful)) {
            levels.add(countLevel(snapshot::isStateful));
        }
        boolean[] all = new boolean[snapshot.subtopologyCount()];
        Arrays.fill(all, true);
        levels.add(new PairChoice.Level(Shares.ofActives(snapshot), all));
        long[] tasks = new long[all.length];
        Arrays.setAll(tasks, g -> snapshot.firstTask(g + 1) - snapshot.firstTask(g));
        PairChoice choice =
                new PairChoice(need, columns, mayPool, fixed, costs, Shares.ofEach(tasks, 1, snapshot), levels, null);
        int[][] chosen = PairChooser.choose(snapshot, choice, ClientKinds.of(snapshot, traffic));
        return IntStream.range(0, need.length)
                .map(t -> need[t] > 0 ? chosen[t][0] : fixed[t][0])
                .toArray();
    }

    /** Counts the tasks of some subtopologies, and bounds their actives by the shares of these. */
    private PairChoice.Level countLevel(IntPredicate isCounted) {
        boolean[] counted = new boolean[snapshot.subtopologyCount()];
        int[] tasks = IntStream.range(0, snapshot.taskCount()).filter(isCounted).toArray();
        for (int t : tasks) {
            counted[snapshot.subtopology(t)] = true;
        }
        return new PairChoice.Level(Shares.of(tasks.length, 1, snapshot), counted);
    }

    /** Costs of a plan's actives. */
    private final class Costs implements PairChoice.Costs {
        private final PairChoice.Costs costs;

        Costs(PairChoice.Costs costs) {
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

        @Override
        public boolean isAtOnce(int t) {
            return previous.owner(t) < 0;
        }
    }

    /**
     * Returns the cost of an active if it may be on any client: its restore work, then a price if it is not caught up,
     * leaves its owner or crosses racks.
     */
    private long costAnywhere(int t, int c) {
        long cost = steps.count(t, c) * PairChoice.STEP;
        cost += ranks.rank(t, c) > 0 ? NOT_CAUGHT_UP : 0;
        int crossings = Math.min(MOST_CROSSINGS, traffic.crossingsOfActive(t, c));
        return cost + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /**
     * Returns the cost of an active on a client that has a copy anyway: its move, and the reads by which the roles
     * differ.
     */
    private long costOfRole(int t, int c) {
        long cost = ranks.rank(t, c) > 0 ? NOT_CAUGHT_UP : 0;
        int crossings = traffic.crossingsOfActive(t, c) - traffic.crossingsOfStandby(t, c);
        crossings = Math.max(-MOST_CROSSINGS / 2, Math.min(MOST_CROSSINGS / 2, crossings)) + MOST_CROSSINGS / 2;
        cost += snapshot.isLogged(t) && (previous.hadStandby(t, c) || snapshot.wasStandby(t, c)) ? LOSES_STANDBY : 0;
        cost += previous.owner(t) < 0 ? crowding[c] : 0;
        return cost + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }
}
