package io.github.optassign.watch.deciding;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A group at one look, with its target assignment from the last call of the assignor.
 *
 * @param phase the state of the group
 * @param epoch the epoch of the group; it rises when the assignor is called
 * @param units the capacity of each process: threads × capacity of a thread in millionths; 0 if it drains
 * @param members the ids of each process's members; they are new after a restart
 * @param standbys the configured number of standbys of each task with a changelog
 * @param tasks all tasks, and whether they have a changelog
 * @param active the processes on which each task is active in the target; one, unless the target is broken
 * @param standby the processes of each task's standbys in the target
 * @param lags the lags of copies with known offsets
 * @param restoring the members' current active tasks with a changelog, and the offsets reported for them
 * @param progress the members' epochs and tasks; differs from the previous value if a member has moved towards the
 *     target
 * @param isConfigChanged whether the group's config has the mark of a trigger
 */
public record GroupView(
        Phase phase,
        int epoch,
        Map<String, Long> units,
        Map<String, Set<String>> members,
        int standbys,
        Map<TaskId, Boolean> tasks,
        Map<TaskId, List<String>> active,
        Map<TaskId, Set<String>> standby,
        Map<Copy, Long> lags,
        Map<Copy, RestoringActive> restoring,
        Object progress,
        boolean isConfigChanged) {
    /** The states of a group. */
    public enum Phase {
        /** Every member has its tasks of the target. */
        STABLE,
        /** Members move towards the target, or a new target is due. */
        CHANGING,
        /** The group has no members, or its topics are missing, so an assignment would have no effect. */
        NOT_RUNNING
    }
}
