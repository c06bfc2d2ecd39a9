package io.github.optassign.watch.deciding;

import io.github.optassign.policy.InputPolicy;
import io.github.optassign.policy.WatchPolicy;
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
    public static final Limits DEFAULT = new Limits(
            InputPolicy.ACCEPTABLE_LAG,
            WatchPolicy.DEBOUNCE_MS,
            WatchPolicy.PAUSE_MS,
            WatchPolicy.NO_PROGRESS_TIMEOUT_MS,
            WatchPolicy.BROKEN_MS,
            WatchPolicy.STUCK_MS,
            WatchPolicy.RESTORE_CONFIG_AFTER_MS,
            WatchPolicy.MOST_PER_HOUR,
            WatchPolicy.MOST_TRIES);
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
                .filter(at -> nowMs - at < WatchPolicy.PAUSES_OF_REST * pauseMs)
                .count();
        return recent == 0
                ? 0
                : Math.min(pauseMs, pauseMs / WatchPolicy.FIRST_PART << Math.min(recent - 1, WatchPolicy.FIRST_PART));
    }
}
