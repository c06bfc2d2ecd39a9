package io.github.optassign.watch.deciding;

import io.github.optassign.policy.WatchPolicy;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The active tasks that restore in place because their state is lost or far behind, although another process may have
 * all of it (KAFKA-13501). Immutable.
 *
 * <p>A thread of Kafka Streams 4.4.0 reports an offset for a task that it restores, and none for a task that it runs.
 * The report may be older than its assignment of the task. So an offset counts if the same thread had the task at the
 * last look and reported another offset or none.
 *
 * @param seen the active tasks at the last look
 * @param jumps the active tasks that lag by more than the acceptable lag
 */
record Jumps(Map<Copy, RestoringActive> seen, Map<Copy, Jump> jumps) {
    /**
     * An active task that lags.
     *
     * @param member the id of its thread
     * @param reports the number of new offsets that the thread has reported since
     * @param sinceMs the time of the first look at which the task lagged, ms
     * @param isActedOn whether an assignment has been triggered for it
     */
    record Jump(String member, int reports, long sinceMs, boolean isActedOn) {}

    static Jumps none() {
        return new Jumps(Map.of(), Map.of());
    }

    /** Returns the jumps after another look. */
    Jumps observe(GroupView view, long acceptable, long nowMs) {
        Map<Copy, Jump> found = new TreeMap<>(jumps);
        found.keySet().retainAll(view.restoring().keySet());
        view.restoring().forEach((copy, now) -> {
            if (now.offset() < 0 || now.lag() <= acceptable) {
                found.remove(copy);
                return;
            }
            Jump known = found.get(copy);
            Jump jump = known != null && known.member().equals(now.member())
                    ? known
                    : new Jump(now.member(), 0, nowMs, false);
            RestoringActive before = seen.get(copy);
            boolean isFresh = before != null && before.member().equals(now.member()) && before.offset() != now.offset();
            found.put(
                    copy,
                    new Jump(jump.member(), jump.reports() + (isFresh ? 1 : 0), jump.sinceMs(), jump.isActedOn()));
        });
        return new Jumps(view.restoring(), found);
    }

    /** Returns the jumps without a triggered assignment whose state another process has. */
    Set<Copy> helpable(Judgement judgement) {
        Set<TaskId> ready = new TreeSet<>();
        judgement.caughtUp().forEach(copy -> ready.add(copy.task()));
        Set<Copy> found = new TreeSet<>(jumps.keySet());
        found.removeIf(copy -> jumps.get(copy).isActedOn() || !ready.contains(copy.task()));
        return found;
    }

    /** Returns the helpable jumps with enough evidence: several new offsets, or a long time. */
    Set<Copy> due(Judgement judgement, long nowMs) {
        Set<Copy> found = helpable(judgement);
        found.removeIf(copy -> {
            Jump jump = jumps.get(copy);
            return jump.reports() < WatchPolicy.JUMP_REPORTS && nowMs - jump.sinceMs() < WatchPolicy.JUMP_MS;
        });
        return found;
    }

    /** Returns the jumps with the given ones marked as acted on, since each jump is a reason only once. */
    Jumps act(Set<Copy> done) {
        Map<Copy, Jump> after = new TreeMap<>(jumps);
        done.forEach(copy -> after.computeIfPresent(
                copy, (key, jump) -> new Jump(jump.member(), jump.reports(), jump.sinceMs(), true)));
        return new Jumps(seen, after);
    }
}
