package io.github.optassign.streams;

import io.github.optassign.service.ServiceFailure;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A question to the broker on a thread of its own, so that the caller waits no longer than its deadline. */
final class BrokerQuestion {
    private BrokerQuestion() {}

    /**
     * Asks a question, and returns the broker's answer.
     *
     * @param subject the subject of the question in error messages, in the plural
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws ServiceFailure if the broker does not answer in time or fails
     */
    static <T> T ask(String subject, Callable<T> question, long deadline) throws ServiceFailure {
        FutureTask<T> task = new FutureTask<>(question);
        Thread thread = new Thread(task, "optassign-" + subject.replace(' ', '-'));
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            // The thread is not interrupted, since Kafka would log that as a bug.
            throw new ServiceFailure("the broker did not tell " + subject + " in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for " + subject);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new ServiceFailure("the broker did not tell " + subject + ": " + e.getCause());
        }
    }
}
