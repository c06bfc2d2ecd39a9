package io.github.optassign.watch.deciding;

import io.github.optassign.policy.InputPolicy;
import io.github.optassign.policy.WatchPolicy;
import java.util.List;

/**
 * How soon and how often groups may be triggered.
 *
 * @param acceptableLag offsets; as in the broker
 * @param debounceMs after the first copy that has caught up others are waited for so long, unless all have
 * @param pauseMs between two assignments that we bring about, once there have been several: the first few come sooner
 * @param noProgressTimeoutMs a group that could be better, and in which nothing gets nearer, stands for so long before
 *     a trigger
 * @param brokenMs an assignment that is wrong stands for so long before a trigger
 * @param stuckMs one that members do not reach stands for so long
 * @param restoreConfigAfterMs a config is never left changed for longer where triggers are allowed
 * @param mostPerHour triggers and restorations, of one group
 * @param mostTries triggers without new evidence, each after twice the time of the one before
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

    /** For who looks only once: what can be seen at a glance counts, and nothing that takes time. */
    public Limits once() {
        return new Limits(acceptableLag, 0, 0, NEVER_MS, 0, NEVER_MS, NEVER_MS, mostPerHour, mostTries);
    }

    /**
     * How long the next assignment has to wait after the last one. Members tell of their warm-ups one after the other:
     * the second and third batch of a move must not wait for long, and a move of many batches must not be a storm.
     *
     * @param actedAtMs when assignments were brought about, in order
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
