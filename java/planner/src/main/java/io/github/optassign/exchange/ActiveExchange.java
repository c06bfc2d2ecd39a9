package io.github.optassign.exchange;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.measuring.Shares;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Snapshot;

/** Has clients exchange planned actives where less is restored then, or fewer tasks move. */
public class ActiveExchange extends Exchange {
    private final Snapshot snapshot;
    private final Previous previous;
    private final PlanCosts costs;
    /** Per task its client. */
    private final int[] active;

    private final int[][] columns;

    /**
     * Reads planned actives.
     *
     * @param active per task its client; changed
     */
    public ActiveExchange(Snapshot snapshot, Ranks ranks, Previous previous, int[] active) {
        super(snapshot, count(snapshot, active), new int[snapshot.clientCount()]);
        this.snapshot = snapshot;
        this.previous = previous;
        this.active = active;
        costs = new PlanCosts(ranks);
        columns = new int[active.length][];
        for (int t = 0; t < columns.length; t++) {
            columns[t] = snapshot.columnsAnd(t, previous.owner(t));
        }
    }

    private static Counts count(Snapshot snapshot, int[] active) {
        int clients = snapshot.clientCount();
        int subtopologies = snapshot.subtopologyCount();
        long[][] in = new long[subtopologies][clients];
        long[] inStateful = new long[clients];
        long[] inAll = new long[clients];
        boolean[] stateful = new boolean[subtopologies];
        long[] tasks = new long[subtopologies];
        long statefulTasks = 0;
        for (int t = 0; t < active.length; t++) {
            int g = snapshot.subtopology(t);
            stateful[g] = snapshot.isStateful(t);
            tasks[g]++;
            in[g][active[t]]++;
            inAll[active[t]]++;
            inStateful[active[t]] += stateful[g] ? 1 : 0;
            statefulTasks += stateful[g] ? 1 : 0;
        }
        return new Counts(
                Shares.ofEach(tasks, 1, snapshot),
                in,
                stateful,
                Shares.of(statefulTasks, 1, snapshot),
                inStateful,
                Shares.ofActives(snapshot),
                inAll);
    }

    @Override
    int[] givers(int t) {
        return new int[] {active[t]};
    }

    @Override
    int[] columns(int t) {
        return columns[t];
    }

    @Override
    long measureChange(int t, int from, int to) {
        return costs.weigh(t, to, previous.owner(t) == to) - costs.weigh(t, from, previous.owner(t) == from);
    }

    @Override
    boolean mayTake(int t, int from, int to) {
        return true;
    }

    @Override
    void move(int t, int from, int to) {
        active[t] = to;
    }
}
