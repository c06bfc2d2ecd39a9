package io.github.optassign.watch.deciding;

import java.util.Set;

/**
 * The action for a group after a look.
 *
 * @param why the reason as a word for metrics, or the reason for holding back; empty if there is nothing to do
 * @param text the reason in words
 * @param next the memory after the action
 */
public record Decision(Action action, String why, String text, WatchMemory next) {
    /** Returns this decision with these restores marked as acted on. */
    Decision onlyOnceFor(Set<Copy> restores) {
        return new Decision(action, why, text, next.actOn(restores));
    }

    /** The possible actions. */
    public enum Action {
        /** Does nothing. */
        NOTHING,
        /** Triggers an assignment. */
        TRIGGER,
        /** Restores the group's config, which triggers an assignment, too. */
        RESTORE,
        /** Waits before an action. */
        HOLD
    }
}
