package io.github.optassign.streams;

import io.github.optassign.service.ServiceFailure;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Asks the broker on a thread of its own, so that no caller waits longer than there is time. */
final class BrokerQuestion {
    private BrokerQuestion() {}

    /**
     * Asks, and waits for the answer.
     *
     * @param what is asked for, in the plural
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if the broker did not tell in time, or at all
     */
    static <T> T ask(String what, Callable<T> question, long deadline) throws ServiceFailure {
        FutureTask<T> task = new FutureTask<>(question);
        Thread thread = new Thread(task, "optassign-" + what.replace(' ', '-'));
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            // The thread is left to end by itself: Kafka would log an interrupt as a bug.
            throw new ServiceFailure("the broker did not tell " + what + " in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for " + what);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new ServiceFailure("the broker did not tell " + what + ": " + e.getCause());
        }
    }
}
