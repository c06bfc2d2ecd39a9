package io.github.optassign.watch.deciding;

/**
 * The action for a group after a reading.
 *
 * @param why a word for metrics, or what holds a trigger back; empty: there is nothing to do
 * @param text the same for people
 * @param next what to remember, if it is done
 */
public record Decision(Action action, String why, String text, WatchMemory next) {
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
