package io.github.optassign.watch.deciding;

import java.util.Set;

/**
 * The action for a group after a reading.
 *
 * @param why a word for metrics, or what holds a trigger back; empty: there is nothing to do
 * @param text the same for people
 * @param next what to remember, if it is done
 */
public record Decision(Action action, String why, String text, WatchMemory next) {
    /** The same, with these jumps marked as dealt with. */
    Decision onlyOnceFor(Set<Copy> jumps) {
        return new Decision(action, why, text, next.actOn(jumps));
    }

    /** The possible actions. */
    public enum Action {
        NOTHING,
        /** One assignment. */
        TRIGGER,
        /** The group's config as it was, which is one assignment too. */
        RESTORE,
        /** There is something to do, but not yet. */
        HOLD
    }
}
