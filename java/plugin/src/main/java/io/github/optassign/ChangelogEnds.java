package io.github.optassign;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.processor.TaskId;

/**
 * End offsets of changelogs, which Kafka's API does not offer, as one application's rebalances have shown them.
 *
 * <p>The lag of a client without any state of a task is the whole changelog. Once every client has some state nobody
 * shows it any more, so what was seen last is remembered. It may be older than the lags at hand.
 */
final class ChangelogEnds {
    private final Map<TaskId, Long> seen = new ConcurrentHashMap<>();

    /**
     * Takes in what the clients of a snapshot show.
     *
     * @return per task of the snapshot the end offset as last seen; -1 where it never was
     */
    long[] update(Snapshot snapshot) {
        long[] ends = new long[snapshot.taskCount()];
        for (int t = 0; t < ends.length; t++) {
            long shown = -1;
            if (snapshot.logged(t)) {
                for (int c = 0; c < snapshot.clientCount(); c++) {
                    if (!snapshot.holder(c, t)) {
                        shown = Math.max(shown, snapshot.lag(c, t));
                    }
                }
            }
            if (shown >= 0) {
                seen.put(snapshot.task(t), shown);
            }
            ends[t] = snapshot.logged(t) ? seen.getOrDefault(snapshot.task(t), -1L) : -1;
        }
        return ends;
    }
}
