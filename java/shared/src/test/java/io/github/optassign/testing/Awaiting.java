package io.github.optassign.testing;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Assertions that wait for another thread's results. */
public final class Awaiting {
    private static final long MOST_SECONDS = 60;

    private Awaiting() {}

    /**
     * Waits until a condition holds.
     *
     * @throws AssertionError if the condition does not hold within a minute; the message names the state found
     */
    public static void until(BooleanSupplier condition, Supplier<String> found) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + MOST_SECONDS + " s: found " + found.get());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }
}
