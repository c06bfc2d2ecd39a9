package io.github.optassign.memory;

import io.github.optassign.policy.MemoryPolicy;
import java.util.concurrent.TimeUnit;

/**
 * Says when a service that gave wrong answers is asked again: after a pause that doubles with each wrong answer in a
 * row. A service that answers wrongly once does so again, and each time costs the group its time. The first pause is
 * short, so that a repaired service is not left alone for long.
 */
public final class Breaker {

    private int wrong;
    private long askAgain;
    private String last = "";

    /**
     * How long the service is not to be asked.
     *
     * @param now as of System.nanoTime
     * @return milliseconds; 0: it is to be asked
     */
    public synchronized long pauseMs(long now) {
        return wrong == 0 ? 0 : Math.max(0, TimeUnit.NANOSECONDS.toMillis(askAgain - now));
    }

    /** How many answers in a row were wrong, and what the last one was, in words. */
    public synchronized String describe() {
        return wrong + (wrong == 1 ? " wrong answer" : " wrong answers") + " in a row, the last: " + last;
    }

    /** Lets the pause be over. For tests. */
    synchronized void endPause() {
        askAgain = System.nanoTime();
    }

    /** The service has answered, and its answer may be applied. */
    public synchronized void noteRight() {
        wrong = 0;
    }

    /**
     * The service has answered wrongly.
     *
     * @param now as of System.nanoTime
     */
    public synchronized void noteWrong(String why, long now) {
        long pauseMs = Math.min(
                MemoryPolicy.BREAKER_LONGEST_PAUSE_MS,
                MemoryPolicy.BREAKER_FIRST_PAUSE_MS << Math.min(wrong, Short.SIZE));
        wrong++;
        last = why;
        askAgain = now + TimeUnit.MILLISECONDS.toNanos(pauseMs);
    }
}
