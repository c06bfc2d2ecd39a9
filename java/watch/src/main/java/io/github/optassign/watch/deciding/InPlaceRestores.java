package io.github.optassign.watch.deciding;

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
 * @param restores the active tasks that lag by more than the acceptable lag
 */
record InPlaceRestores(Map<Copy, RestoringActive> seen, Map<Copy, InPlaceRestore> restores) {
    /**
     * The number of fresh offsets after which a task counts as restoring in place. A starting task is behind in one
     * report at most.
     */
    private static final int JUMP_REPORTS = 2;
    /**
     * The time after which an unchanged offset of an active task counts, too. By default members report running tasks
     * within a minute.
     */
    private static final long JUMP_MS = 90_000;

    /**
     * An active task that lags.
     *
     * @param member the id of its thread
     * @param reports the number of new offsets that the thread has reported since
     * @param sinceMs the time of the first look at which the task lagged, ms
     * @param isActedOn whether an assignment has been triggered for it
     */
    record InPlaceRestore(String member, int reports, long sinceMs, boolean isActedOn) {}

    static InPlaceRestores none() {
        return new InPlaceRestores(Map.of(), Map.of());
    }

    /** Returns the restores after another look. */
    InPlaceRestores observe(GroupView view, long acceptable, long nowMs) {
        Map<Copy, InPlaceRestore> found = new TreeMap<>(restores);
        found.keySet().retainAll(view.restoring().keySet());
        view.restoring().forEach((copy, now) -> {
            if (now.offset() < 0 || now.lag() <= acceptable) {
                found.remove(copy);
                return;
            }
            InPlaceRestore known = found.get(copy);
            InPlaceRestore restore = known != null && known.member().equals(now.member())
                    ? known
                    : new InPlaceRestore(now.member(), 0, nowMs, false);
            RestoringActive before = seen.get(copy);
            boolean isFresh = before != null && before.member().equals(now.member()) && before.offset() != now.offset();
            found.put(
                    copy,
                    new InPlaceRestore(
                            restore.member(),
                            restore.reports() + (isFresh ? 1 : 0),
                            restore.sinceMs(),
                            restore.isActedOn()));
        });
        return new InPlaceRestores(view.restoring(), found);
    }

    /** Returns the restores without a triggered assignment whose state another process has. */
    Set<Copy> actionable(GroupAssessment assessment) {
        Set<TaskId> ready = new TreeSet<>();
        assessment.caughtUp().forEach(copy -> ready.add(copy.task()));
        Set<Copy> found = new TreeSet<>(restores.keySet());
        found.removeIf(copy -> restores.get(copy).isActedOn() || !ready.contains(copy.task()));
        return found;
    }

    /** Returns the actionable restores with enough evidence: several new offsets, or a long time. */
    Set<Copy> due(GroupAssessment assessment, long nowMs) {
        Set<Copy> found = actionable(assessment);
        found.removeIf(copy -> {
            InPlaceRestore restore = restores.get(copy);
            return restore.reports() < JUMP_REPORTS && nowMs - restore.sinceMs() < JUMP_MS;
        });
        return found;
    }

    /** Returns the restores with the given ones marked as acted on, since each restore is a reason only once. */
    InPlaceRestores act(Set<Copy> done) {
        Map<Copy, InPlaceRestore> after = new TreeMap<>(restores);
        done.forEach(copy -> after.computeIfPresent(
                copy,
                (key, restore) -> new InPlaceRestore(restore.member(), restore.reports(), restore.sinceMs(), true)));
        return new InPlaceRestores(seen, after);
    }
}
