package io.github.optassign.watch.deciding;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The memory of a group between looks. Immutable.
 *
 * @param epoch the epoch of the group, or -1 before the first look
 * @param caughtUp the copies that were caught up at the last look
 * @param known the copies whose catching up an assignment has already taken into account
 * @param formerOwners the copies of processes that had the task active in an earlier target, unless they were seen to
 *     lag
 * @param members the ids of each process's members at the last look
 * @param owners the processes of each active task in the target at the last look
 * @param readySinceMs the time since which there is evidence for a trigger, ms; -1 if there is none
 * @param shape the processes and tasks of the group
 * @param progress the members' epochs and tasks at the last look
 * @param progressAtMs the time at which the group or {@code progress} last changed, or of the last action, ms
 * @param nearerAtMs the time at which the group last changed or {@code least} last fell, or of the last action, ms
 * @param least the fewest offsets that warm-ups have had left since the group last changed
 * @param tries the triggers since new evidence or a change of processes or tasks
 * @param actedAtMs the times of triggers and restorations in the last hour, ms
 * @param restores the active tasks that restore in place
 * @param configChangedAtMs the time since which the config has the mark, ms; -1 if it has none
 * @param actedAtEpoch the group's epoch at the last trigger or restoration, or -1
 */
public record WatchMemory(
        int epoch,
        Set<Copy> caughtUp,
        Set<Copy> known,
        Set<Copy> formerOwners,
        Map<String, Set<String>> members,
        Map<TaskId, List<String>> owners,
        long readySinceMs,
        Object shape,
        Object progress,
        long progressAtMs,
        long nearerAtMs,
        long least,
        Tries tries,
        List<Long> actedAtMs,
        InPlaceRestores restores,
        long configChangedAtMs,
        int actedAtEpoch) {
    private static final long HOUR_MS = 3_600_000;

    /** Returns the memory before the first look. */
    public static WatchMemory none() {
        return new WatchMemory(
                -1,
                Set.of(),
                Set.of(),
                Set.of(),
                Map.of(),
                Map.of(),
                -1,
                null,
                null,
                0,
                0,
                Long.MAX_VALUE,
                Tries.NONE,
                List.of(),
                InPlaceRestores.none(),
                -1,
                -1);
    }

    /** Returns whether there has been no look yet. */
    public boolean isEmpty() {
        return epoch < 0;
    }

    /** Returns the memory after another look. */
    WatchMemory observe(GroupView view, GroupAssessment assessment, long acceptable, long nowMs) {
        Set<Copy> nowKnown = new HashSet<>(known);
        Set<Copy> nowGiven = new HashSet<>(formerOwners);
        // The assignor may have known of copies that had caught up at the last look.
        if (view.epoch() != epoch) {
            nowKnown.addAll(caughtUp);
            // A process that has just given an active away has its state, which the assignor knew when it moved the
            // task.
            owners.forEach((task, processes) -> processes.forEach(process -> nowGiven.add(new Copy(task, process))));
        }
        // The assignor is called before a process that has just started reports the lags on its disk.
        nowKnown.removeIf(copy -> isNew(copy.process(), view));
        nowGiven.removeIf(copy -> isNew(copy.process(), view));
        if (isEmpty()) {
            nowKnown.addAll(assessment.plannedStandbys());
        }
        nowKnown.retainAll(assessment.standbys());
        nowGiven.retainAll(assessment.standbys());
        nowGiven.removeAll(assessment.lagging()); // such a process had the task in a target, but not yet its state
        Object shapeNow = List.of(view.units(), view.tasks(), view.standbys());
        boolean isReshaped = !shapeNow.equals(shape);
        boolean hasMoved =
                isReshaped || view.epoch() != epoch || !view.progress().equals(progress);
        long remaining = assessment.remaining();
        boolean isNearer = isReshaped || view.epoch() != epoch || remaining < least;
        List<Long> acted = new ArrayList<>(actedAtMs);
        acted.removeIf(at -> nowMs - at >= HOUR_MS);
        return new WatchMemory(
                view.epoch(),
                assessment.caughtUp(),
                nowKnown,
                nowGiven,
                view.members(),
                view.active(),
                readySinceMs,
                shapeNow,
                view.progress(),
                hasMoved ? nowMs : progressAtMs,
                isNearer ? nowMs : nearerAtMs,
                isNearer ? remaining : least,
                isReshaped ? Tries.NONE : tries,
                acted,
                restores.observe(view, acceptable, nowMs),
                view.isConfigChanged() ? (configChangedAtMs < 0 ? nowMs : configChangedAtMs) : -1,
                actedAtEpoch);
    }

    /** Returns whether a process has none of the members that it had at the last look. */
    private boolean isNew(String process, GroupView view) {
        return Collections.disjoint(
                members.getOrDefault(process, Set.of()), view.members().getOrDefault(process, Set.of()));
    }

    /** Returns the memory with the time since which there is evidence for a trigger, or with none. */
    WatchMemory withEvidence(boolean hasEvidence, long nowMs) {
        return with(!hasEvidence ? -1 : readySinceMs >= 0 ? readySinceMs : nowMs, restores);
    }

    /** Returns the memory with these restores marked as acted on. */
    WatchMemory actOn(Set<Copy> done) {
        return with(readySinceMs, restores.act(done));
    }

    private WatchMemory with(long readyNowMs, InPlaceRestores restoresNow) {
        return new WatchMemory(
                epoch,
                caughtUp,
                known,
                formerOwners,
                members,
                owners,
                readyNowMs,
                shape,
                progress,
                progressAtMs,
                nearerAtMs,
                least,
                tries,
                actedAtMs,
                restoresNow,
                configChangedAtMs,
                actedAtEpoch);
    }

    /** Returns whether the triggered assignment is still expected, at most for {@code longestMs}. */
    boolean isAwaiting(long longestMs, long nowMs) {
        return epoch == actedAtEpoch && !actedAtMs.isEmpty() && nowMs - actedAtMs.get(actedAtMs.size() - 1) < longestMs;
    }

    /**
     * Returns the memory after a trigger or restoration.
     *
     * @param triesNow the triggers without new evidence; none if there was new evidence
     */
    WatchMemory act(long nowMs, Tries triesNow) {
        Set<Copy> nowKnown = new HashSet<>(known);
        nowKnown.addAll(caughtUp);
        List<Long> acted = new ArrayList<>(actedAtMs);
        acted.add(nowMs);
        return new WatchMemory(
                epoch,
                caughtUp,
                nowKnown,
                formerOwners,
                members,
                owners,
                -1,
                shape,
                progress,
                nowMs,
                nowMs,
                least,
                triesNow,
                acted,
                restores,
                configChangedAtMs,
                epoch);
    }
}
