package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TagSpread;
import java.util.Arrays;
import java.util.List;

/** Plans where the copies of logged tasks are, in any role or around given actives: with the least restore work. */
final class CopyPlanner {
    private static final int NOT_CAUGHT_UP = 1 << 15;
    private static final int IS_NEW = 1 << 13;
    private static final int HAS_STATE = (1 << 13) - (1 << 11);
    private static final int WAS_STANDBY = 1 << 12;
    private static final int CROSSING = 1 << 4;
    private static final int MOST_CROSSINGS = (1 << 7) - 1;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final RackTraffic traffic;

    CopyPlanner(Snapshot snapshot, Ranks ranks, Previous previous, RackTraffic traffic) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.traffic = traffic;
    }

    /** Plans all copies of logged tasks. @return per task its clients, sorted; none if the task is not logged */
    int[][] planCopies() {
        int[][] none = new int[snapshot.taskCount()][0];
        int copies = snapshot.standbysPerTask() + 1;
        return choose(copies, copies, none, true);
    }

    /**
     * Plans standbys around actives. With several tags one standby after the other is planned: a network can tell which
     * values are new to a task only next to copies that it knows.
     */
    Placement planStandbys(int[] active) {
        Placement plan = Placement.empty(active.length);
        System.arraycopy(active, 0, plan.active(), 0, active.length);
        int[][] fixed = new int[active.length][];
        Arrays.setAll(fixed, t -> snapshot.isLogged(t) ? new int[] {active[t]} : new int[0]);
        int standbys = snapshot.standbysPerTask();
        int step = snapshot.tagCount() > 1 ? 1 : Math.max(1, standbys);
        for (int planned = step; planned <= standbys; planned += step) {
            int[][] more = choose(step, planned + 1, fixed, false);
            for (int t = 0; t < active.length; t++) {
                plan.standby()[t] = Snapshot.and(plan.standby()[t], more[t]);
                fixed[t] = Snapshot.and(fixed[t], more[t]);
            }
        }
        return plan;
    }

    /**
     * Chooses clients for copies.
     *
     * @param copies how many each logged task gets
     * @param copiesPerTask how many it has then
     */
    private int[][] choose(int copies, int copiesPerTask, int[][] fixed, boolean withActives) {
        int tasks = snapshot.taskCount();
        int[] need = new int[tasks];
        int[][] columns = new int[tasks][];
        boolean[] mayPool = new boolean[tasks];
        long[] logged = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < tasks; t++) {
            need[t] = snapshot.isLogged(t) ? copies : 0;
            mayPool[t] = true;
            columns[t] = Snapshot.and(snapshot.columnsAnd(t, previous.owner(t)), previous.standbys(t));
            logged[snapshot.subtopology(t)] += snapshot.isLogged(t) ? 1 : 0;
        }
        boolean[] all = new boolean[logged.length];
        Arrays.fill(all, true);
        Shares bounds = Shares.of(Arrays.stream(logged).sum(), copiesPerTask, snapshot);
        PairChoice choice = new PairChoice(
                need,
                columns,
                mayPool,
                fixed,
                new CopyCosts(withActives),
                Shares.ofEach(logged, copiesPerTask, snapshot),
                List.of(new PairChoice.Level(bounds, all)),
                new TagSpread(snapshot));
        return PairChooser.choose(snapshot, choice, ClientKinds.of(snapshot, traffic));
    }

    /** Restore work, then copies not caught up, then copies that move. */
    private final class CopyCosts extends RestoreSteps implements PairChoice.Costs {
        private final boolean withActives;

        CopyCosts(boolean withActives) {
            super(snapshot, ranks);
            this.withActives = withActives;
        }

        @Override
        public long of(int t, int c) {
            int crossings = traffic.crossingsOfStandby(t, c) + (withActives ? traffic.crossingsOfActive(t, c) : 0);
            long cost = count(t, c) * PairChoice.STEP;
            cost += ranks.rank(t, c) > 0 ? NOT_CAUGHT_UP : 0;
            boolean stays = previous.owner(t) == c;
            cost += stays ? 0 : previous.hadStandby(t, c) ? WAS_STANDBY : snapshot.isHolder(t, c) ? HAS_STATE : IS_NEW;
            return cost + CROSSING * Math.min(MOST_CROSSINGS, crossings);
        }
    }
}
