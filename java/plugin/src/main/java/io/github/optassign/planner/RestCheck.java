package io.github.optassign.planner;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;

/**
 * Checks whether what was assigned before may simply stay (R7): no lag is unknown, it keeps R1 to R5, and it is
 * balanced in all five windows (actives, stateful actives and copies of logged tasks per client; actives and copies of
 * logged tasks per client and subtopology). Then any other arrangement would move tasks for nothing.
 */
final class RestCheck {
    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Placement before;

    private RestCheck(Snapshot snapshot, Ranks ranks, Placement before) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.before = before;
    }

    /**
     * Whether a placement may stay.
     *
     * @param before what was assigned before: every task active, and with all its standbys
     */
    static boolean mayStay(Snapshot snapshot, Ranks ranks, Placement before) {
        RestCheck check = new RestCheck(snapshot, ranks, before);
        return !snapshot.hasUnknownLag() && check.keepsRules() && check.isBalanced();
    }

    private boolean keepsRules() {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = before.active()[t];
            if (ranks.rank(t, active) != ranks.leastRank(t)) {
                return false;
            }
            long worst = -1;
            for (int c : before.standby()[t]) {
                worst = Math.max(worst, ranks.rank(t, c));
            }
            for (int c = 0; c < snapshot.clientCount() && worst > 0; c++) {
                if (!before.hasCopy(t, c) && ranks.rank(t, c) < worst) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean isBalanced() {
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
            if (snapshot.isStateful(t)) {
                stateful[c]++;
                statefulTasks++;
            }
            if (snapshot.isLogged(t)) {
                loggedTasks++;
                loggedIn[g]++;
                copies[c]++;
                copiesIn[g][c]++;
                for (int standby : before.standby()[t]) {
                    copies[standby]++;
                    copiesIn[g][standby]++;
                }
            }
        }
        int copiesPerTask = snapshot.standbysPerTask() + 1;
        boolean balanced = areInWindows(snapshot.taskCount(), 1, active)
                && areInWindows(statefulTasks, 1, stateful)
                && areInWindows(loggedTasks, copiesPerTask, copies);
        for (int g = 0; g < subtopologies && balanced; g++) {
            balanced =
                    areInWindows(tasksIn[g], 1, activeIn[g]) && areInWindows(loggedIn[g], copiesPerTask, copiesIn[g]);
        }
        return balanced;
    }

    private boolean areInWindows(long tasks, int copiesPerTask, long[] counts) {
        return Windows.of(tasks, copiesPerTask, snapshot.threads()).excess(counts) == 0;
    }
}
