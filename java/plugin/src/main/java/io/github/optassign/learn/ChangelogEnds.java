package io.github.optassign.learn;

import io.github.optassign.model.Snapshot;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The end offsets of an application's changelogs, derived from lags, since Kafka's API does not offer them.
 *
 * <p>The lag of a client without any state of a task is the whole changelog. Once every client has state of the task,
 * no lag shows the end offset, so the last known end offset is kept. It may be older than the current lags.
 */
public final class ChangelogEnds {
    private final Map<String, Long> lastSeen = new ConcurrentHashMap<>();

    /**
     * Updates the ends with the lags of a rebalance.
     *
     * @return per task the end offset as last seen, or -1 if never seen
     */
    public long[] update(Snapshot.Tasks tasks, Snapshot.Clients clients) {
        lastSeen.keySet().retainAll(Set.of(tasks.names()));
        long[] ends = new long[tasks.names().length];
        for (int t = 0; t < ends.length; t++) {
            ends[t] = tasks.logged()[t] ? update(tasks.names()[t], greatestLagWithoutState(t, clients)) : -1;
        }
        return ends;
    }

    private long update(String task, long shown) {
        if (shown >= 0) {
            lastSeen.put(task, shown);
        }
        return lastSeen.getOrDefault(task, -1L);
    }

    /** Returns the greatest lag of a client without state of the task, or -1 if all clients have state of it. */
    private static long greatestLagWithoutState(int t, Snapshot.Clients clients) {
        return clients.lags().findGreatest(t, c -> !clients.isHolder(t, c));
    }
}
