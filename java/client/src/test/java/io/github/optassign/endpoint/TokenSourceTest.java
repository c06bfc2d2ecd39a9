package io.github.optassign.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.config.types.Password;
import org.junit.jupiter.api.Test;

/** The token's file is on a disk that hangs. */
class TokenSourceTest {
    /** Each caller waits until its deadline, and only one thread blocks on the file. */
    @Test
    void fileThatCannotBeReadInTime() throws Exception {
        FutureTask<Password> hanging = new FutureTask<>(() -> new Password("late"));
        TokenSource.READING.put("/mnt/gone/token", hanging);
        TokenSource source = TokenSource.of(null, "/mnt/gone/token");
        for (int i = 0; i < 3; i++) {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(5);
            assertThrows(TimeoutException.class, () -> source.read(deadline));
        }
        assertEquals(0, countReaders(), "a thread reads the file a second time");
        hanging.run();
        assertEquals("late", source.read(System.nanoTime()).value());
        TokenSource.READING.clear();
    }

    private static long countReaders() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("optassign-token"))
                .count();
    }
}
