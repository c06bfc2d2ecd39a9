package io.github.optassign.learn;

import io.github.optassign.policy.MemoryPolicy;
import java.util.concurrent.TimeUnit;

/**
 * A circuit breaker for a service that answers wrongly or not in time. Such a service does so again, and each attempt
 * costs the group its time, so the pause before the next attempt doubles with each failure in a row. The first pause is
 * short, and a repaired service is asked again soon.
 */
public final class Breaker {

    private int failures;
    private long askAgain;
    private String last = "";

    /**
     * Returns how long the service is not to be asked.
     *
     * @param now as of System.nanoTime
     * @return milliseconds; 0 if the service may be asked
     */
    public synchronized long pauseMs(long now) {
        return failures == 0 ? 0 : Math.max(0, TimeUnit.NANOSECONDS.toMillis(askAgain - now));
    }

    /** Describes the failures since the last right answer: their number and the last message. */
    public synchronized String describe() {
        return failures + (failures == 1 ? " failure" : " failures") + " in a row, the last: " + last;
    }

    /** Lets time pass. Visible for testing. */
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
        note(why, now, MemoryPolicy.BREAKER_LONGEST_PAUSE_MS);
    }

    /**
     * Notes an attempt that took its time without an answer. Its pauses have a lower bound than those of wrong answers:
     * load passes, and a bug stays.
     *
     * @param now as of System.nanoTime
     */
    public synchronized void noteLate(String why, long now) {
        note(why, now, MemoryPolicy.BREAKER_LONGEST_LATE_PAUSE_MS);
    }

    private void note(String why, long now, long longestMs) {
        long pauseMs = Math.min(longestMs, MemoryPolicy.BREAKER_FIRST_PAUSE_MS << Math.min(failures, Short.SIZE));
        failures++;
        last = why;
        askAgain = now + TimeUnit.MILLISECONDS.toNanos(pauseMs);
    }
}
