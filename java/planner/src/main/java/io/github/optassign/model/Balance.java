package io.github.optassign.model;

/**
 * How far a placement is from balance: its imbalance in all five shares, summed (actives, stateful actives and copies
 * of logged tasks per client; actives and copies of logged tasks per client and subtopology).
 */
public final class Balance {
    private final Snapshot snapshot;
    private final long[] active;
    private final long[] stateful;
    private final long[] copies;
    private final long[][] activeIn;
    private final long[][] copiesIn;
    private final long[] tasksIn;
    private final long[] loggedIn;
    private long statefulTasks;
    private long loggedTasks;

    private Balance(Snapshot snapshot, Placement placement) {
        this.snapshot = snapshot;
        int clients = snapshot.clientCount();
        int subtopologies = snapshot.subtopologyCount();
        active = new long[clients];
        stateful = new long[clients];
        copies = new long[clients];
        activeIn = new long[subtopologies][clients];
        copiesIn = new long[subtopologies][clients];
        tasksIn = new long[subtopologies];
        loggedIn = new long[subtopologies];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            count(placement, t);
        }
    }

    private void count(Placement placement, int t) {
        int g = snapshot.subtopology(t);
        int c = placement.active()[t];
        active[c]++;
        activeIn[g][c]++;
        tasksIn[g]++;
        if (snapshot.isStateful(t)) {
            stateful[c]++;
            statefulTasks++;
        }
        if (snapshot.isLogged(t)) {
            loggedTasks++;
            loggedIn[g]++;
            copies[c]++;
            copiesIn[g][c]++;
            for (int standby : placement.standby()[t]) {
                copies[standby]++;
                copiesIn[g][standby]++;
            }
        }
    }

    /**
     * Returns whether a client has more than twice the actives that it should have at most: no preset makes such a
     * plan.
     */
    public static boolean isLopsided(Snapshot snapshot, Placement placement) {
        long[] active = placement.countActives(snapshot.clientCount());
        long[] most = Shares.ofActives(snapshot).high();
        for (int c = 0; c < active.length; c++) {
            if (active[c] > 2 * most[c]) {
                return true;
            }
        }
        return false;
    }

    /** Returns the imbalance of a placement in which every task is active, or 0 if it is balanced. */
    public static long imbalance(Snapshot snapshot, Placement placement) {
        return new Balance(snapshot, placement).imbalance();
    }

    private long imbalance() {
        int copiesPerTask = snapshot.standbysPerTask() + 1;
        long sum = Shares.ofActives(snapshot).imbalance(active)
                + imbalance(statefulTasks, 1, stateful)
                + imbalance(loggedTasks, copiesPerTask, copies);
        Shares[] ofActives = Shares.ofEach(tasksIn, 1, snapshot);
        Shares[] ofCopies = Shares.ofEach(loggedIn, copiesPerTask, snapshot);
        for (int g = 0; g < tasksIn.length; g++) {
            sum += ofActives[g].imbalance(activeIn[g]) + ofCopies[g].imbalance(copiesIn[g]);
        }
        return sum;
    }

    private long imbalance(long tasks, int copiesPerTask, long[] counts) {
        return Shares.of(tasks, copiesPerTask, snapshot).imbalance(counts);
    }
}
