package io.github.optassign.measuring;

import io.github.optassign.model.Snapshot;

/** How many actives each client has so far, and how far from balance that is in the three shares of actives. */
public final class ActiveCounts {
    private final Snapshot snapshot;
    private final long[] active;
    private final long[] stateful;
    private final long[][] activeIn;
    private final Shares ofActive;
    private final Shares ofStateful;
    private final Shares[] ofSubtopology;

    /** Counts of a snapshot's tasks, before any is assigned. */
    public ActiveCounts(Snapshot snapshot) {
        this.snapshot = snapshot;
        int clients = snapshot.clientCount();
        int subtopologies = snapshot.subtopologyCount();
        active = new long[clients];
        stateful = new long[clients];
        activeIn = new long[subtopologies][clients];
        long[] tasksIn = new long[subtopologies];
        long statefulTasks = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            tasksIn[snapshot.subtopology(t)]++;
            statefulTasks += snapshot.isStateful(t) ? 1 : 0;
        }
        ofActive = Shares.ofActives(snapshot);
        ofStateful = Shares.of(statefulTasks, 1, snapshot);
        ofSubtopology = Shares.ofEach(tasksIn, 1, snapshot);
    }

    public void add(int t, int c) {
        active[c]++;
        stateful[c] += snapshot.isStateful(t) ? 1 : 0;
        activeIn[snapshot.subtopology(t)][c]++;
    }

    /** Compares clients by how far from balance they would bring the counts with this task. */
    public int compare(int t, int a, int b) {
        return Long.compare(measureRise(t, a), measureRise(t, b));
    }

    /** By how much the imbalance rises if the client gets the task; negative: it falls. */
    private long measureRise(int t, int c) {
        int g = snapshot.subtopology(t);
        long rise = ofActive.rise(active, c) + ofSubtopology[g].rise(activeIn[g], c);
        return snapshot.isStateful(t) ? rise + ofStateful.rise(stateful, c) : rise;
    }
}
