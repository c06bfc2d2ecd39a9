package io.github.optassign.watch.deciding;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A group at one look, with its target assignment: what the last call of the assignor wanted.
 *
 * @param phase what the coordinator says of the group
 * @param epoch of the group; a higher one than before: the assignor was called, or will be at once
 * @param units process to the number of its threads × its capacity in millionths; 0: it drains
 * @param standbys asked for, of each task that has a changelog
 * @param tasks all tasks, and whether they have a changelog
 * @param active task to the processes that should process it: one, unless the plan is broken
 * @param standby task to the processes that should have a standby of it
 * @param lags of the copies with known offsets
 * @param restoring the active tasks with a changelog that members have, and the offsets that they tell of them
 * @param progress another object than before if any member has taken a step towards the target
 * @param isConfigChanged whether the group's config has what a trigger leaves there
 */
public record GroupView(
        Phase phase,
        int epoch,
        Map<String, Long> units,
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
        /** Every member has what the target gives it. */
        STABLE,
        /** On its way to the target, or about to get one. */
        CHANGING,
        /** It has no members, or its topics are missing: no assignment would change anything. */
        NOT_RUNNING
    }
}
