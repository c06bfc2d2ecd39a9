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
 * Plans the clients of copies with the least restore work, balanced per client and subtopology: of actives alone, of
 * all copies in any role, or of standbys around given actives.
 */
public final class CopyPlanner extends PlanningStep {
    private static final int MOVES = 1 << 13;
    /** The price of a copy in place of {@link #MOVES} on a client with state of the task. */
    private static final int HAS_STATE = MOVES - (1 << 11);
    /** The price of a copy that was a standby, or takes the role of a standby. */
    private static final int WAS_STANDBY = 1 << 12;

    private static final int CROSSING = 1 << 4;
    private static final int MOST_CROSSINGS = (1 << 8) - 1;

    private final RackTraffic traffic;
    private final RestoreCosts restoreCosts;
    /** Per client its active tasks above its share before this rebalance, cut off at a few bits. */
    private final int[] crowding;

    /** Takes the facts of a rebalance. */
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
        return chooseActives(columns, mayPool, new int[columns.length][0], new ActiveCosts(this::costAnywhere));
    }

    /** Plans which of its copies leads each logged task, with the fewest moves; the other copies are standbys. */
    Placement planRoles(int[][] copies) {
        int[][] columns = new int[snapshot.taskCount()][];
        boolean[] mayPool = new boolean[columns.length];
        for (int t = 0; t < columns.length; t++) {
            mayPool[t] = !snapshot.isLogged(t);
            columns[t] = snapshot.isLogged(t) ? copies[t] : snapshot.columnsAnd(t, previous.owner(t));
        }
        int[] active = chooseActives(columns, mayPool, new int[columns.length][0], new ActiveCosts(this::costOfRole));
        Placement plan = Placement.ofActives(active);
        for (int t = 0; t < columns.length; t++) {
            int leads = active[t];
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
        return chooseActives(columns, mayPool, fixed, (t, c) -> {
            boolean mayLead = candidates[t] != null || ranks.rank(t, c) == ranks.leastRank(t);
            return mayLead ? 0 : PairChoice.NEVER;
        });
    }

    private int[] chooseActives(int[][] columns, boolean[] mayPool, int[][] fixed, PairChoice.Costs costs) {
        int[] need = new int[columns.length];
        Arrays.setAll(need, t -> 1 - fixed[t].length);
        List<PairChoice.Level> levels = new ArrayList<>();
        if (snapshot.standbysPerTask() == 0 && costs instanceof ActiveCosts) { // then actives of a plan are its copies
            levels.add(countLevel(snapshot::isLogged));
        }
        if (!IntStream.range(0, need.length).allMatch(snapshot::isStateful)) {
            levels.add(countLevel(snapshot::isStateful));
        }
        levels.add(new PairChoice.Level(Shares.ofActives(snapshot), g -> true));
        long[] tasks = new long[snapshot.subtopologyCount()];
        Arrays.setAll(tasks, g -> snapshot.firstTask(g + 1) - snapshot.firstTask(g));
        Shares[] cells = Shares.ofEach(tasks, 1, snapshot);
        int[][] chosen = choose(new PairChoice(need, columns, mayPool, fixed, costs, cells, levels, null));
        return IntStream.range(0, need.length)
                .map(t -> need[t] > 0 ? chosen[t][0] : fixed[t][0])
                .toArray();
    }

    private int[][] choose(PairChoice choice) {
        return PairChooser.choose(snapshot, choice, ClientKinds.of(snapshot, traffic));
    }

    /** Counts the tasks of some subtopologies, and bounds their actives by the shares of these. */
    private PairChoice.Level countLevel(IntPredicate isCounted) {
        boolean[] counted = new boolean[snapshot.subtopologyCount()];
        int[] tasks = IntStream.range(0, snapshot.taskCount()).filter(isCounted).toArray();
        for (int t : tasks) {
            counted[snapshot.subtopology(t)] = true;
        }
        return new PairChoice.Level(Shares.of(tasks.length, 1, snapshot), g -> counted[g]);
    }

    /** Plans all copies of logged tasks. @return per task its clients, sorted; none if the task is not logged */
    int[][] planCopies() {
        int copies = snapshot.standbysPerTask() + 1;
        return chooseCopies(copies, copies, new int[snapshot.taskCount()][0], true);
    }

    /**
     * Plans standbys around actives. With several tags one standby after the other is planned: a network can tell which
     * values are new to a task only next to copies that it knows.
     */
    Placement planStandbys(int[] active) {
        Placement plan = Placement.ofActives(active);
        int[][] fixed = new int[active.length][];
        Arrays.setAll(fixed, t -> snapshot.isLogged(t) ? new int[] {active[t]} : new int[0]);
        int standbys = snapshot.standbysPerTask();
        int step = snapshot.tagCount() > 1 ? 1 : Math.max(1, standbys);
        for (int planned = step; planned <= standbys; planned += step) {
            int[][] more = chooseCopies(step, planned + 1, fixed, false);
            for (int t = 0; t < active.length; t++) {
                plan.standby()[t] = Snapshot.and(plan.standby()[t], more[t]);
                fixed[t] = Snapshot.and(fixed[t], more[t]);
            }
        }
        return plan;
    }

    /** Chooses clients for some copies of each logged task, which then has {@code copiesPerTask}. */
    private int[][] chooseCopies(int copies, int copiesPerTask, int[][] fixed, boolean withActives) {
        int[] need = new int[snapshot.taskCount()];
        int[][] columns = new int[need.length][];
        boolean[] mayPool = new boolean[need.length];
        Arrays.fill(mayPool, true);
        long[] logged = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < need.length; t++) {
            need[t] = snapshot.isLogged(t) ? copies : 0;
            columns[t] = Snapshot.and(snapshot.columnsAnd(t, previous.owner(t)), previous.standbys(t));
            logged[snapshot.subtopology(t)] += snapshot.isLogged(t) ? 1 : 0;
        }
        Shares bounds = Shares.of(Arrays.stream(logged).sum(), copiesPerTask, snapshot);
        List<PairChoice.Level> levels = List.of(new PairChoice.Level(bounds, g -> true));
        Shares[] cells = Shares.ofEach(logged, copiesPerTask, snapshot);
        PairChoice.Costs costs = new CopyCosts(withActives);
        return choose(new PairChoice(need, columns, mayPool, fixed, costs, cells, levels, new TagSpread(snapshot)));
    }

    /** Costs of a plan's actives. */
    private final class ActiveCosts implements PairChoice.Costs {
        private final PairChoice.Costs costs;

        ActiveCosts(PairChoice.Costs costs) {
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

    /** Returns the cost of an active on any client: its restore work, its move and its reads across racks. */
    private long costAnywhere(int t, int c) {
        int crossings = Math.min(MOST_CROSSINGS, traffic.crossingsOfActive(t, c));
        return restoreCosts.of(t, c) + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /** Returns the cost of an active on a client with a copy: its move, and the reads by which the roles differ. */
    private long costOfRole(int t, int c) {
        long cost = ranks.rank(t, c) > 0 ? RestoreCosts.NOT_CAUGHT_UP : 0;
        int crossings = traffic.crossingsOfActive(t, c) - traffic.crossingsOfStandby(t, c);
        crossings = Math.max(-MOST_CROSSINGS / 2, Math.min(MOST_CROSSINGS / 2, crossings)) + MOST_CROSSINGS / 2;
        cost += snapshot.isLogged(t) && (previous.hadStandby(t, c) || snapshot.wasStandby(t, c)) ? WAS_STANDBY : 0;
        cost += previous.owner(t) < 0 ? crowding[c] : 0;
        return cost + (previous.owner(t) == c ? 0 : MOVES) + CROSSING * crossings;
    }

    /** Restore work, then copies not caught up, then copies that move. */
    private final class CopyCosts extends RestoreCosts {
        private final boolean withActives;

        CopyCosts(boolean withActives) {
            super(snapshot, ranks);
            this.withActives = withActives;
        }

        @Override
        public long of(int t, int c) {
            int crossings = traffic.crossingsOfStandby(t, c) + (withActives ? traffic.crossingsOfActive(t, c) : 0);
            boolean stays = previous.owner(t) == c;
            int move =
                    stays ? 0 : previous.hadStandby(t, c) ? WAS_STANDBY : snapshot.isHolder(t, c) ? HAS_STATE : MOVES;
            return super.of(t, c) + move + CROSSING * Math.min(MOST_CROSSINGS / 2, crossings);
        }
    }
}
