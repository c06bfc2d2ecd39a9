package io.github.optassign.watch.deciding;

import io.github.optassign.policy.WatchPolicy;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Active tasks that restore in place: their state is gone, or far behind. Their group waits though another process may
 * have all of the state (KAFKA-13501). Never changed.
 *
 * <p>A thread of Kafka Streams 4.4.0 tells nothing of a task that it runs, however much comes in, and its offset of one
 * that it restores. What it tells may be from before it had the task. So an offset counts if the same thread had the
 * task at the last look, too, and told another offset, or nothing, then.
 *
 * @param seen the active tasks at the last look
 * @param jumps those of them that are behind
 */
record Jumps(Map<Copy, RestoringActive> seen, Map<Copy, Jump> jumps) {
    /**
     * One that is behind.
     *
     * @param reports how often its thread has told another offset since
     * @param sinceMs when it was first seen behind
     * @param isActedOn whether an assignment was brought about
     */
    record Jump(String member, int reports, long sinceMs, boolean isActedOn) {}

    static Jumps none() {
        return new Jumps(Map.of(), Map.of());
    }

    /** Goes on to another look. */
    Jumps see(GroupView view, long acceptable, long nowMs) {
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

    /** The jumps for which nothing was done yet, and for which another process has the state. */
    Set<Copy> helpable(Judgement judgement) {
        Set<TaskId> ready = new TreeSet<>();
        judgement.caughtUp().forEach(copy -> ready.add(copy.task()));
        Set<Copy> found = new TreeSet<>(jumps.keySet());
        found.removeIf(copy -> jumps.get(copy).isActedOn() || !ready.contains(copy.task()));
        return found;
    }

    /** The helpable ones that are sure. */
    Set<Copy> due(Judgement judgement, long nowMs) {
        Set<Copy> found = helpable(judgement);
        found.removeIf(copy -> {
            Jump jump = jumps.get(copy);
            return jump.reports() < WatchPolicy.JUMP_REPORTS && nowMs - jump.sinceMs() < WatchPolicy.JUMP_MS;
        });
        return found;
    }

    /** As it is once an assignment has been brought about for these: each jump is a reason once. */
    Jumps act(Set<Copy> done) {
        Map<Copy, Jump> after = new TreeMap<>(jumps);
        done.forEach(copy -> after.computeIfPresent(
                copy, (key, jump) -> new Jump(jump.member(), jump.reports(), jump.sinceMs(), true)));
        return new Jumps(seen, after);
    }
}
