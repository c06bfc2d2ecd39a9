package io.github.optassign.learn;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.MemoryPolicy;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The time since a group whose follow-ups go on last came nearer to its target.
 *
 * <p>Time counts and not answers: follow-ups may be a second apart, and a second pass follows at once. Nearer is a
 * group where a planned copy has less to replay than it ever had, or a task runs where it is planned and never ran
 * before. So neither plans that take turns nor a lag that rises and falls keep a group rebalancing, and changelogs that
 * grow hide no progress.
 *
 * @param group process id to size of the client, as in {@link AppliedAnswer#sizes}
 * @param tasks how many tasks the group has
 * @param left by copy what it had to replay at least, and by task and planned client, as -1 less its number, whether it
 *     is yet to run there (1) or not (0)
 * @param sinceNanos when it last came nearer, or was first seen, as of System.nanoTime
 */
public record TimeWithoutProgress(Map<String, Long> group, int tasks, Map<Long, Long> left, long sinceNanos) {

    /**
     * Counts on with a new answer.
     *
     * @param before of the last applied answer, or null if there is none
     * @param plan of this answer
     * @param now as of System.nanoTime
     */
    public static TimeWithoutProgress after(TimeWithoutProgress before, Snapshot snapshot, Placement plan, long now) {
        Map<String, Long> group = new HashMap<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            group.put(snapshot.clientName(c), AppliedAnswer.signedSize(snapshot, c));
        }
        boolean isSameGroup = before != null && before.group.equals(group) && before.tasks == snapshot.taskCount();
        Map<Long, Long> left = isSameGroup ? new HashMap<>(before.left) : new HashMap<>();
        if (left.size() > (long) MemoryPolicy.MOST_TARGETS * snapshot.taskCount() * (2 + snapshot.standbysPerTask())) {
            left.clear();
        }
        boolean isNearer = takeDown(snapshot, plan, left);
        return new TimeWithoutProgress(
                group, snapshot.taskCount(), left, isSameGroup && !isNearer ? before.sinceNanos : now);
    }

    /** Returns how long there has been no progress. */
    public long withoutProgressMs(long now) {
        return TimeUnit.NANOSECONDS.toMillis(Math.max(0, now - sinceNanos));
    }

    /** Updates the least values. @return whether any of it has fallen */
    private static boolean takeDown(Snapshot snapshot, Placement plan, Map<Long, Long> left) {
        Ranks ranks = new Ranks(snapshot);
        boolean isNearer = false;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int active = plan.active()[t];
            long number = (long) t * snapshot.clientCount();
            isNearer |= lower(left, -1 - number - active, snapshot.wasActive(t, active) ? 0 : 1);
            isNearer |= takeDown(snapshot, ranks, t, active, left);
            for (int c : plan.standby()[t]) {
                isNearer |= takeDown(snapshot, ranks, t, c, left);
            }
        }
        return isNearer;
    }

    private static boolean takeDown(Snapshot snapshot, Ranks ranks, int t, int c, Map<Long, Long> left) {
        boolean isKnown = snapshot.isLogged(t) && snapshot.lag(t, c) != Snapshot.UNKNOWN;
        return isKnown && lower(left, (long) t * snapshot.clientCount() + c, ranks.cost(t, c));
    }

    /** Lowers a least value. @return whether it was known and has fallen */
    private static boolean lower(Map<Long, Long> least, long key, long value) {
        Long before = least.get(key);
        if (before == null || value < before) {
            least.put(key, value);
        }
        return before != null && value < before;
    }
}
