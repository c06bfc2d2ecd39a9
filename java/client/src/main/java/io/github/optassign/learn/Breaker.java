package io.github.optassign.learn;

import java.util.concurrent.TimeUnit;

/**
 * A circuit breaker for a service that answers wrongly or not in time. Such a service is likely to fail again, and each
 * attempt delays the group. So the pause before the next attempt doubles with each failure in a row. The first pause is
 * short, so a service that recovers is asked again soon.
 */
public final class Breaker {
    /**
     * The first pause after an answer that was refused or late. Each later pause takes twice as long; the planner
     * answers meanwhile.
     */
    private static final long FIRST_PAUSE_MS = 5_000;
    /** The longest pause after refused answers. A repaired service answers again within it. */
    private static final long LONGEST_PAUSE_MS = 3_600_000;
    /**
     * The longest pause after late answers. A group at rest asks again as often. Each attempt delays a rebalance by the
     * time-out of 2 s, a three-hundredth of the pause.
     */
    private static final long LONGEST_LATE_PAUSE_MS = 600_000;

    private int failures;
    private long askAgain;
    private String last = "";

    /**
     * Returns the time until the service may be asked.
     *
     * @param now as of System.nanoTime
     * @return milliseconds; 0 if the service may be asked now
     */
    public synchronized long pauseMs(long now) {
        return failures == 0 ? 0 : Math.max(0, TimeUnit.NANOSECONDS.toMillis(askAgain - now));
    }

    /** Returns the number of failures since the last right answer and the last message, as text. */
    public synchronized String describe() {
        return failures + (failures == 1 ? " failure" : " failures") + " in a row, the last: " + last;
    }

    /** Shortens the current pause by {@code ms}. Visible for testing. */
    synchronized void advance(long ms) {
        askAgain -= TimeUnit.MILLISECONDS.toNanos(ms);
    }

    /** Notes an answer that may be applied, which ends the pauses. */
    public synchronized void noteRight() {
        failures = 0;
    }

    /**
     * Notes an answer that must not be applied.
     *
     * @param now as of System.nanoTime
     */
    public synchronized void noteWrong(String why, long now) {
        note(why, now, LONGEST_PAUSE_MS);
    }

    /**
     * Notes an attempt that timed out. The longest pause is shorter than after wrong answers, since overload passes and
     * a bug stays.
     *
     * @param now as of System.nanoTime
     */
    public synchronized void noteLate(String why, long now) {
        note(why, now, LONGEST_LATE_PAUSE_MS);
    }

    private void note(String why, long now, long longestMs) {
        long pauseMs = Math.min(longestMs, FIRST_PAUSE_MS << Math.min(failures, Short.SIZE));
        failures++;
        last = why;
        askAgain = now + TimeUnit.MILLISECONDS.toNanos(pauseMs);
    }
}
