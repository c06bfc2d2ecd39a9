package io.github.optassign.watch.deciding;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The result of one reading of a group for the next; never changed.
 *
 * @param epoch of the group, -1: there was no look yet
 * @param caughtUp what was caught up at the last look
 * @param known what an assignment has already seen caught up
 * @param gaveAway copies of processes that had the task active in a target before, unless they were seen to lag
 * @param owners task to its processes in the target at the last look
 * @param readySinceMs since when there is evidence that no assignment has seen; -1: there is none
 * @param shape processes and tasks of the group
 * @param progress what members had done, and when that last was another
 * @param nearerAtMs when something last was new, or a warm-up got nearer
 * @param least offsets that warm-ups had left, the fewest since then
 * @param tries triggers since then that had no new evidence
 * @param actedAtMs when assignments were brought about, of the last hour
 * @param jumps active tasks that restore in place
 * @param configChangedAtMs since when the config is changed; -1: it is not
 * @param actedAtEpoch the group's epoch when we last brought an assignment about
 */
public record WatchMemory(
        int epoch,
        Set<Copy> caughtUp,
        Set<Copy> known,
        Set<Copy> gaveAway,
        Map<TaskId, List<String>> owners,
        long readySinceMs,
        Object shape,
        Object progress,
        long progressAtMs,
        long nearerAtMs,
        long least,
        int tries,
        List<Long> actedAtMs,
        Jumps jumps,
        long configChangedAtMs,
        int actedAtEpoch) {
    private static final long HOUR_MS = 3_600_000;

    public static WatchMemory none() {
        return new WatchMemory(
                -1,
                Set.of(),
                Set.of(),
                Set.of(),
                Map.of(),
                -1,
                null,
                null,
                0,
                0,
                Long.MAX_VALUE,
                0,
                List.of(),
                Jumps.none(),
                -1,
                -1);
    }

    /** Whether there was no look yet. */
    public boolean isEmpty() {
        return epoch < 0;
    }

    /** Goes on to another look. */
    WatchMemory see(GroupView view, Judgement judgement, long acceptable, long nowMs) {
        Set<Copy> seen = new HashSet<>(known);
        Set<Copy> given = new HashSet<>(gaveAway);
        // The assignor may have been told of copies that had caught up at the last reading.
        if (view.epoch() != epoch) {
            seen.addAll(caughtUp);
            // A process that has just given an active away has its state, and the assignor knew that when it moved the
            // task.
            owners.forEach((task, processes) -> processes.forEach(process -> given.add(new Copy(task, process))));
        }
        if (isEmpty()) {
            seen.addAll(judgement.orderedStandbys());
        }
        seen.retainAll(judgement.standbys());
        given.retainAll(judgement.standbys());
        given.removeAll(judgement.lagging()); // it had been given the task, and had yet to restore it
        Object shapeNow = List.of(view.units(), view.tasks(), view.standbys());
        boolean isOther = !shapeNow.equals(shape);
        boolean hasMoved = isOther || view.epoch() != epoch || !view.progress().equals(progress);
        long remaining = judgement.remaining();
        boolean isNearer = isOther || view.epoch() != epoch || remaining < least;
        List<Long> acted = new ArrayList<>(actedAtMs);
        acted.removeIf(at -> nowMs - at >= HOUR_MS);
        return new WatchMemory(
                view.epoch(),
                judgement.caughtUp(),
                seen,
                given,
                view.active(),
                readySinceMs,
                shapeNow,
                view.progress(),
                hasMoved ? nowMs : progressAtMs,
                isNearer ? nowMs : nearerAtMs,
                isNearer ? remaining : least,
                isOther ? 0 : tries,
                acted,
                jumps.see(view, acceptable, nowMs),
                view.isConfigChanged() ? (configChangedAtMs < 0 ? nowMs : configChangedAtMs) : -1,
                actedAtEpoch);
    }

    /** The same with evidence that no assignment has seen, or without any. */
    WatchMemory withEvidence(boolean isThere, long nowMs) {
        long since = !isThere ? -1 : readySinceMs >= 0 ? readySinceMs : nowMs;
        return new WatchMemory(
                epoch,
                caughtUp,
                known,
                gaveAway,
                owners,
                since,
                shape,
                progress,
                progressAtMs,
                nearerAtMs,
                least,
                tries,
                actedAtMs,
                jumps,
                configChangedAtMs,
                actedAtEpoch);
    }

    /** Whether the assignment that we brought about has yet to be seen; after so long it is not waited for. */
    boolean isAwaiting(long longestMs, long nowMs) {
        return epoch == actedAtEpoch && !actedAtMs.isEmpty() && nowMs - actedAtMs.get(actedAtMs.size() - 1) < longestMs;
    }

    /**
     * As it is once an assignment has been brought about.
     *
     * @param triesNow 0: there was new evidence
     */
    WatchMemory act(long nowMs, int triesNow) {
        Set<Copy> seen = new HashSet<>(known);
        seen.addAll(caughtUp);
        List<Long> acted = new ArrayList<>(actedAtMs);
        acted.add(nowMs);
        return new WatchMemory(
                epoch,
                caughtUp,
                seen,
                gaveAway,
                owners,
                -1,
                shape,
                progress,
                nowMs,
                nowMs,
                least,
                triesNow,
                acted,
                jumps,
                configChangedAtMs,
                epoch);
    }

    /** The same once an assignment has been brought about for these jumps. */
    WatchMemory actOn(Set<Copy> done) {
        return new WatchMemory(
                epoch,
                caughtUp,
                known,
                gaveAway,
                owners,
                readySinceMs,
                shape,
                progress,
                progressAtMs,
                nearerAtMs,
                least,
                tries,
                actedAtMs,
                jumps.act(done),
                configChangedAtMs,
                actedAtEpoch);
    }
}
