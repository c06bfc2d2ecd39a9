package io.github.optassign.learn;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The time since the last progress of a group that keeps asking for follow-ups.
 *
 * <p>A group makes progress if a planned copy has less to replay than ever before, or a task runs on its planned client
 * for the first time. So alternating plans and oscillating lags are no progress, and growing changelogs of other copies
 * do not hide progress. Time is counted, not answers, since follow-ups may be a second apart.
 *
 * @param group by process id, the profile of each client, as in {@link AppliedAnswer#profiles}
 * @param tasks the number of tasks of the group
 * @param left the least values so far: by n = t * clients + c, the offsets to replay of planned copy (t, c); by
 *     {@code ~n}, 0 once task t has run on its planned client c, and 1 before
 * @param sinceNanos the time of the last progress, or of the first answer to this group, as of System.nanoTime
 */
public record TimeWithoutProgress(Map<String, ClientProfile> group, int tasks, Map<Long, Long> left, long sinceNanos) {
    /**
     * The number of targets whose copies without progress are remembered. Forgotten copies count as without progress,
     * and memory is bounded.
     */
    private static final int MOST_TARGETS = 8;

    /**
     * Returns the time without progress after a new answer; it starts anew if the group's clients or tasks changed.
     *
     * @param before the time as of the last applied answer, or null if there is none
     * @param plan the plan of the new answer
     * @param now as of System.nanoTime
     */
    public static TimeWithoutProgress after(TimeWithoutProgress before, Snapshot snapshot, Placement plan, long now) {
        Map<String, ClientProfile> group = ClientProfile.listByClient(snapshot);
        boolean isSameGroup = before != null && before.group.equals(group) && before.tasks == snapshot.taskCount();
        Map<Long, Long> left = isSameGroup ? new HashMap<>(before.left) : new HashMap<>();
        if (left.size() > (long) MOST_TARGETS * snapshot.taskCount() * (2 + snapshot.standbysPerTask())) {
            left.clear();
        }
        boolean isNearer = lowerAll(snapshot, plan, left);
        return new TimeWithoutProgress(
                group, snapshot.taskCount(), left, isSameGroup && !isNearer ? before.sinceNanos : now);
    }

    /** Returns the milliseconds from the last progress until {@code now}, as of System.nanoTime. */
    public long withoutProgressMs(long now) {
        return TimeUnit.NANOSECONDS.toMillis(Math.max(0, now - sinceNanos));
    }

    /** Lowers the least values of a plan's copies. Returns whether any known value has fallen. */
    private static boolean lowerAll(Snapshot snapshot, Placement plan, Map<Long, Long> left) {
        boolean isNearer = false;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = plan.active()[t];
            long number = (long) t * snapshot.clientCount();
            isNearer |= lower(left, -1 - number - active, snapshot.wasActive(t, active) ? 0 : 1);
            isNearer |= lowerAll(snapshot, t, active, left);
            for (int c : plan.standby()[t]) {
                isNearer |= lowerAll(snapshot, t, c, left);
            }
        }
        return isNearer;
    }

    private static boolean lowerAll(Snapshot snapshot, int t, int c, Map<Long, Long> left) {
        boolean isKnown = snapshot.isLogged(t) && snapshot.lag(t, c) != Snapshot.UNKNOWN;
        return isKnown
                && lower(
                        left,
                        (long) t * snapshot.clientCount() + c,
                        snapshot.ranks().cost(t, c));
    }

    /** Lowers the least value of a key. Returns whether the value was known and has fallen. */
    private static boolean lower(Map<Long, Long> least, long key, long value) {
        Long before = least.get(key);
        if (before == null || value < before) {
            least.put(key, value);
        }
        return before != null && value < before;
    }
}
