package io.github.optassign.watch.deciding;

import io.github.optassign.policy.InputPolicy;
import java.util.List;

/**
 * The limits on how soon and how often groups are triggered.
 *
 * @param acceptableLag the lag up to which a copy counts as caught up, offsets; as in the broker
 * @param debounceMs the wait for further copies after the first has caught up, ms
 * @param pauseMs the pause between two triggers after several in a row, ms; the first pauses are shorter
 * @param noProgressTimeoutMs the time without progress before an unfinished group is triggered, ms
 * @param brokenMs the time before a group with a wrong target is triggered, ms
 * @param stuckMs the time before a group whose members do not reach the target is triggered, ms
 * @param restoreConfigAfterMs the longest time for which a config keeps the mark, ms
 * @param mostPerHour the maximum number of triggers and restorations of a group in an hour
 * @param mostTries the maximum number of triggers without new evidence, each after twice the previous wait
 */
public record Limits(
        long acceptableLag,
        long debounceMs,
        long pauseMs,
        long noProgressTimeoutMs,
        long brokenMs,
        long stuckMs,
        long restoreConfigAfterMs,
        int mostPerHour,
        int mostTries) {
    /** The longest wait for further copies after the first has caught up. Each trigger is a rebalance of the group. */
    private static final long DEBOUNCE_MS = 2_000;
    /** The time between two triggered assignments after several. Each trigger is a rebalance of the group. */
    private static final long PAUSE_MS = 10_000;
    /** The time until the watcher triggers a group that could be better and does not change. */
    private static final long NO_PROGRESS_TIMEOUT_MS = 180_000;
    /**
     * The time until the watcher triggers a group with a wrong assignment. Members may be about to reach the right one.
     */
    private static final long BROKEN_MS = 30_000;
    /**
     * The time until the watcher triggers a group whose members do not reach their assignment. They revoke and restore
     * in between.
     */
    private static final long STUCK_MS = 120_000;
    /**
     * The longest time that a config stays changed where triggers are allowed. A dead watcher leaves it changed until
     * then.
     */
    private static final long RESTORE_CONFIG_AFTER_MS = 300_000;
    /**
     * The most triggers and restorations of one group in an hour. A fault of the watcher must not keep a group busy.
     */
    private static final int MOST_PER_HOUR = 60;
    /**
     * The most triggers without new evidence, each after twice the time of the previous. Four failed tries show that
     * triggers do not help.
     */
    private static final int MOST_TRIES = 4;
    /** The number of pauses without a trigger after which a group has rested, and the next trigger comes sooner. */
    private static final int PAUSES_OF_REST = 6;
    /** The full pause divided by the first pause. The first steps of a scale-out are short. */
    private static final int FIRST_PART = 5;

    public static final Limits DEFAULT = new Limits(
            InputPolicy.ACCEPTABLE_LAG,
            DEBOUNCE_MS,
            PAUSE_MS,
            NO_PROGRESS_TIMEOUT_MS,
            BROKEN_MS,
            STUCK_MS,
            RESTORE_CONFIG_AFTER_MS,
            MOST_PER_HOUR,
            MOST_TRIES);
    private static final long NEVER_MS = 1L << 50;

    /**
     * Returns the limits for {@code --once}: evidence of a single look triggers at once, and lack of progress never
     * does.
     */
    public Limits once() {
        return new Limits(acceptableLag, 0, 0, NEVER_MS, 0, NEVER_MS, NEVER_MS, mostPerHour, mostTries);
    }

    /**
     * Returns the pause after the last trigger, ms; 0 if no action was recent. Members report their warm-ups one after
     * the other, so the second and third batch of a move get short pauses, and further batches longer ones.
     *
     * @param actedAtMs the times of triggers and restorations, in order
     */
    long pauseAfter(List<Long> actedAtMs, long nowMs) {
        long recent = actedAtMs.stream()
                .filter(at -> nowMs - at < PAUSES_OF_REST * pauseMs)
                .count();
        return recent == 0 ? 0 : Math.min(pauseMs, pauseMs / FIRST_PART << Math.min(recent - 1, FIRST_PART));
    }
}
