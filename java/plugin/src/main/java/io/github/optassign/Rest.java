package io.github.optassign;

/**
 * Whether what was assigned before may simply stay (R7): it is known, keeps R1 to R5, no lag is unknown, and it is
 * balanced in all five windows. Then any other arrangement would be movement for nothing.
 */
final class Rest {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Placement before;

    private Rest(Snapshot snapshot, Ranks ranks, Placement before) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.before = before;
    }

    /** What was assigned before, if it may stay; null: it may not, or nobody knows it. */
    static Placement placement(Snapshot snapshot, Ranks ranks, Previous previous) {
        Placement before = previous.assigned();
        if (before == null || snapshot.unknownLag()) {
            return null;
        }
        Rest rest = new Rest(snapshot, ranks, before);
        return rest.keepsRules() && rest.balanced() ? before : null;
    }

    private boolean keepsRules() {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = before.active()[t];
            if (ranks.of(t, active) != ranks.least(t)) {
                return false;
            }
            long worst = -1;
            for (int c : before.standby()[t]) {
                worst = Math.max(worst, ranks.of(t, c));
            }
            for (int c = 0; c < snapshot.clientCount() && worst > 0; c++) {
                if (!before.hasCopy(t, c) && ranks.of(t, c) < worst) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean balanced() {
        int clients = snapshot.clientCount();
        int subtopologies = snapshot.subtopologyCount();
        long[] active = new long[clients];
        long[] stateful = new long[clients];
        long[] copies = new long[clients];
        long[][] activeIn = new long[subtopologies][clients];
        long[][] copiesIn = new long[subtopologies][clients];
        long[] tasksIn = new long[subtopologies];
        long[] loggedIn = new long[subtopologies];
        long statefulTasks = 0;
        long loggedTasks = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int g = snapshot.subtopology(t);
            int c = before.active()[t];
            active[c]++;
            activeIn[g][c]++;
            tasksIn[g]++;
            if (snapshot.stateful(t)) {
                stateful[c]++;
                statefulTasks++;
            }
            if (snapshot.logged(t)) {
                loggedTasks++;
                loggedIn[g]++;
                copies[c]++;
                copiesIn[g][c]++;
                for (int s : before.standby()[t]) {
                    copies[s]++;
                    copiesIn[g][s]++;
                }
            }
        }
        int perTask = snapshot.standbysPerTask() + 1;
        boolean balanced = inside(snapshot.taskCount(), 1, active)
                && inside(statefulTasks, 1, stateful)
                && inside(loggedTasks, perTask, copies);
        for (int g = 0; g < subtopologies && balanced; g++) {
            balanced = inside(tasksIn[g], 1, activeIn[g]) && inside(loggedIn[g], perTask, copiesIn[g]);
        }
        return balanced;
    }

    private boolean inside(long tasks, int copiesPerTask, long[] counts) {
        return Windows.of(tasks, copiesPerTask, snapshot.threads()).excess(counts) == 0;
    }
}
