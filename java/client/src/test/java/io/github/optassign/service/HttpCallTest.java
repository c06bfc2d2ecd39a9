package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is read of a response. */
class HttpCallTest {
    /** A body that does not fit into the heap, which is small here (pom.xml): one that goes on for ever. */
    @Test
    void bodyThatDoesNotFitIntoTheHeap() {
        InputStream endless = new InputStream() {
            @Override
            public int read() {
                return 0;
            }

            @Override
            public int read(byte[] into, int from, int most) {
                return most;
            }
        };
        FutureTask<byte[]> reading = new FutureTask<>(
                () -> HttpCall.readAll(endless, Integer.MAX_VALUE, System.nanoTime() + TimeUnit.HOURS.toNanos(1)));
        reading.run();
        ExecutionException e = assertThrows(ExecutionException.class, reading::get);
        assertTrue(e.getCause() instanceof OutOfMemoryError || e.getCause() instanceof HttpCall.TooLong, e.toString());
    }
}
