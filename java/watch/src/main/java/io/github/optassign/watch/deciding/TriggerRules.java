package io.github.optassign.watch.deciding;

import io.github.optassign.watch.deciding.Decision.Action;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The rules on when a group is triggered. A decision is a function of the look, the memory of earlier looks, and the
 * time.
 *
 * <ul>
 *   <li>{@code caught_up}: a copy has caught up since the last assignment, and its task has a warm-up, or balance would
 *       improve if the copy became active. Each copy is evidence once.
 *   <li>{@code in_place_restore}: an active task restores in place, and another process has its state. Each such
 *       restore is a reason once.
 *   <li>{@code broken}: the target is wrong, or members do not reach it.
 *   <li>{@code no_progress}: the group could be better and makes no progress, for example because the assignor kept
 *       tasks on their owners after a failover of the coordinator.
 * </ul>
 *
 * <p>Each of the last two is repeated a few times, after twice the previous wait, until processes or tasks change.
 */
public final class TriggerRules {
    private final Limits limits;

    public TriggerRules(Limits limits) {
        this.limits = limits;
    }

    /** Decides on the action after a look. */
    public Decision decide(GroupView view, WatchMemory before, long nowMs) {
        GroupAssessment assessment = new GroupAssessment(view, limits.acceptableLag());
        WatchMemory seen = before.observe(view, assessment, limits.acceptableLag(), nowMs);
        Set<Copy> evidence = new HashSet<>(assessment.promotable());
        evidence.removeAll(seen.known());
        evidence.removeAll(seen.formerOwners());
        WatchMemory memory = seen.withEvidence(!evidence.isEmpty(), nowMs);
        if (view.phase() == GroupView.Phase.NOT_RUNNING) {
            return memory.configChangedAtMs() >= 0
                    ? act(Action.RESTORE, "empty", "the group does not run", memory, Tries.NONE, nowMs)
                    : doNothing(memory);
        }
        if (memory.isAwaiting(limits.stuckMs(), nowMs)) {
            return doNothing(memory);
        }
        String broken = describeBroken(view, assessment, memory, nowMs);
        if (!broken.isEmpty()) {
            return act(Action.TRIGGER, "broken", broken, memory, memory.tries().addBroken(), nowMs);
        }
        if (view.phase() == GroupView.Phase.CHANGING) {
            return doNothing(memory);
        }
        Set<Copy> restores = memory.restores().due(assessment, nowMs);
        if (!restores.isEmpty()) {
            String text = restores.size() + " restore in place though another process has the state, the first of them "
                    + restores.iterator().next();
            Decision decision = act(Action.TRIGGER, "in_place_restore", text, memory, Tries.NONE, nowMs);
            return decision.action() == Action.HOLD ? decision : decision.onlyOnceFor(restores);
        }
        if (assessment.isDone()) {
            return memory.configChangedAtMs() >= 0
                    ? act(Action.RESTORE, "done", "nothing is left to do", memory, Tries.NONE, nowMs)
                    : doNothing(memory);
        }
        if (!evidence.isEmpty()) {
            String text = evidence.size() + " caught up, the first of them " + Collections.min(evidence);
            if (!assessment.isAllCaughtUp() && nowMs - memory.readySinceMs() < limits.debounceMs()) {
                return new Decision(Action.HOLD, "debounce", text, memory);
            }
            return act(Action.TRIGGER, "caught_up", text, memory, Tries.NONE, nowMs);
        }
        if (isDue(
                memory.nearerAtMs(),
                limits.noProgressTimeoutMs(),
                memory.tries().noProgress(),
                nowMs)) {
            String text = assessment.tasksWithWarmups().isEmpty()
                    ? "the group could be better, and no task moves"
                    : assessment.tasksWithWarmups().size() + " tasks warm up without progress";
            return act(
                    Action.TRIGGER, "no_progress", text, memory, memory.tries().addNoProgress(), nowMs);
        }
        boolean isConfigChangedForLong =
                memory.configChangedAtMs() >= 0 && nowMs - memory.configChangedAtMs() >= limits.restoreConfigAfterMs();
        return isConfigChangedForLong
                ? act(Action.RESTORE, "long", "the config has had the mark for long", memory, memory.tries(), nowMs)
                : doNothing(memory);
    }

    /**
     * Returns whether an action may soon be due: an assignment is expected or in progress, the config has to be
     * restored, or the group could be better and has recently made progress.
     *
     * @param memory the memory after the look
     */
    public boolean isUnderWay(GroupView view, WatchMemory memory, long nowMs) {
        GroupAssessment assessment = new GroupAssessment(view, limits.acceptableLag());
        return switch (view.phase()) {
            case NOT_RUNNING -> false;
            case CHANGING -> nowMs - memory.progressAtMs() < limits.stuckMs();
            case STABLE ->
                memory.isAwaiting(limits.stuckMs(), nowMs)
                        || !memory.restores().actionable(assessment).isEmpty()
                        || (assessment.isDone()
                                ? memory.configChangedAtMs() >= 0
                                : nowMs - memory.nearerAtMs() < limits.noProgressTimeoutMs());
        };
    }

    /**
     * Describes how the target is broken or stuck.
     *
     * @return an empty text if it is not, or not for long enough
     */
    private String describeBroken(GroupView view, GroupAssessment assessment, WatchMemory memory, long nowMs) {
        List<String> faults = assessment.faults();
        int tries = memory.tries().broken();
        if (!faults.isEmpty() && isDue(memory.progressAtMs(), limits.brokenMs(), tries, nowMs)) {
            return String.join(", ", faults);
        }
        boolean isStuck = view.phase() == GroupView.Phase.CHANGING
                && isDue(memory.progressAtMs(), limits.stuckMs(), tries, nowMs);
        return isStuck ? "members make no progress towards the assignment" : "";
    }

    private boolean isDue(long sinceMs, long forMs, int tries, long nowMs) {
        return tries < limits.mostTries() && nowMs - sinceMs >= forMs << tries;
    }

    private Decision act(Action action, String why, String text, WatchMemory memory, Tries tries, long nowMs) {
        List<Long> acted = memory.actedAtMs();
        if (!acted.isEmpty() && nowMs - acted.get(acted.size() - 1) < limits.pauseAfter(acted, nowMs)) {
            return new Decision(Action.HOLD, "pause", text, memory);
        }
        // One action per hour is reserved for restoring the config.
        int limit = limits.mostPerHour() - (memory.configChangedAtMs() >= 0 ? 0 : 1);
        if (acted.size() >= limit) {
            return new Decision(Action.HOLD, "hour", text, memory);
        }
        return new Decision(action, why, text, memory.act(nowMs, tries));
    }

    private static Decision doNothing(WatchMemory memory) {
        return new Decision(Action.NOTHING, "", "", memory);
    }
}
