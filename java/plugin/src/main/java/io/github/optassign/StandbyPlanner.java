package io.github.optassign;

/**
 * The standbys of the fallback's plan, once its actives are decided. What is in place stays where it fits; the rest
 * goes where it costs least among clients that still have room; then clients below their share take over from those
 * above theirs.
 */
final class StandbyPlanner {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final Windows windows;
    private final Windows[] ofSubtopology;
    private final long[] copies;
    private final long[][] subtopologyCopies;

    private StandbyPlanner(Snapshot snapshot, Ranks ranks, Previous previous, int[] active) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        plan = Placement.empty(snapshot.taskCount());
        System.arraycopy(active, 0, plan.active(), 0, active.length);
        copies = new long[snapshot.clientCount()];
        subtopologyCopies = new long[snapshot.subtopologyCount()][snapshot.clientCount()];
        long logged = 0;
        long[] loggedIn = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < active.length; t++) {
            if (snapshot.logged(t)) {
                logged++;
                loggedIn[snapshot.subtopology(t)]++;
                count(t, active[t], 1);
            }
        }
        int perTask = snapshot.standbysPerTask() + 1;
        windows = Windows.of(logged, perTask, snapshot.threads());
        ofSubtopology = new Windows[loggedIn.length];
        for (int g = 0; g < loggedIn.length; g++) {
            ofSubtopology[g] = Windows.of(loggedIn[g], perTask, snapshot.threads());
        }
    }

    /** The plan with these actives. */
    static Placement plan(Snapshot snapshot, Ranks ranks, Previous previous, int[] active) {
        StandbyPlanner planner = new StandbyPlanner(snapshot, ranks, previous, active);
        if (snapshot.standbysPerTask() > 0) {
            planner.keep();
            planner.fill();
            planner.even();
        }
        return planner.plan;
    }

    private void count(int t, int c, int copiesMore) {
        copies[c] += copiesMore;
        subtopologyCopies[snapshot.subtopology(t)][c] += copiesMore;
    }

    private void add(int t, int c) {
        plan.addStandby(t, c);
        count(t, c, 1);
    }

    private boolean room(int t, int c) {
        int g = snapshot.subtopology(t);
        return copies[c] < windows.high()[c]
                && subtopologyCopies[g][c] < ofSubtopology[g].high()[c];
    }

    /**
     * Caught up copies stay: first those known to have been standbys, then other state on a disk, such as that of
     * former actives. Without memory nobody knows which directories were standbys; what lags least was most likely one.
     */
    private void keep() {
        for (boolean standbys : new boolean[] {true, false}) {
            for (int t = 0; t < snapshot.taskCount(); t++) {
                while (lacks(t)) {
                    int best = -1;
                    for (int c = 0; c < snapshot.clientCount(); c++) {
                        boolean was = standbys ? previous.hadStandby(t, c) : snapshot.holder(c, t);
                        boolean fits =
                                was && !plan.hasCopy(t, c) && ranks.of(t, c) == 0 && copies[c] < windows.high()[c];
                        if (fits && (best < 0 || ranks.offsets(t, c) < ranks.offsets(t, best))) {
                            best = c;
                        }
                    }
                    if (best < 0) {
                        break;
                    }
                    add(t, best);
                }
            }
        }
    }

    private boolean lacks(int t) {
        return snapshot.logged(t) && plan.standby()[t].length < snapshot.standbysPerTask();
    }

    private void fill() {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            while (lacks(t)) {
                int best = -1;
                for (int c = 0; c < snapshot.clientCount(); c++) {
                    if (!plan.hasCopy(t, c) && (best < 0 || compare(t, c, best) < 0)) {
                        best = c;
                    }
                }
                add(t, best);
            }
        }
    }

    private int compare(int t, int a, int b) {
        int order = Boolean.compare(copies[a] >= windows.high()[a], copies[b] >= windows.high()[b]);
        order = order != 0 ? order : Boolean.compare(!room(t, a), !room(t, b));
        order = order != 0 ? order : Long.compare(ranks.cost(t, a), ranks.cost(t, b));
        return order != 0
                ? order
                : Long.compare((copies[a] + 1) * snapshot.threads(b), (copies[b] + 1) * snapshot.threads(a));
    }

    /**
     * Standbys to clients below their windows from those that can spare one, then from clients above to those with
     * room.
     */
    private void even() {
        for (int c = 0; c < snapshot.clientCount(); c++) {
            boolean moved = true;
            while (moved && copies[c] < windows.low()[c]) {
                moved = moveCheapest(-1, c);
            }
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            boolean moved = true;
            while (moved && copies[c] > windows.high()[c]) {
                moved = moveCheapest(c, -1);
            }
        }
    }

    /**
     * Moves the cheapest standby from one client to another, either of which may be -1: any that stays in its window.
     */
    private boolean moveCheapest(int from, int to) {
        int task = -1;
        int giver = -1;
        int taker = -1;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int g : plan.standby()[t]) {
                if (from >= 0 ? g != from : copies[g] <= windows.low()[g]) {
                    continue;
                }
                for (int c = Math.max(to, 0); c < (to >= 0 ? to + 1 : snapshot.clientCount()); c++) {
                    boolean takes = !plan.hasCopy(t, c) && (to >= 0 || copies[c] < windows.high()[c]);
                    if (takes && (task < 0 || ranks.cost(t, c) < ranks.cost(task, taker))) {
                        task = t;
                        giver = g;
                        taker = c;
                    }
                }
            }
        }
        if (task < 0) {
            return false;
        }
        plan.removeStandby(task, giver);
        count(task, giver, -1);
        add(task, taker);
        return true;
    }
}
