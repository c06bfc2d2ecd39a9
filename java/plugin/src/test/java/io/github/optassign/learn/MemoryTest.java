package io.github.optassign.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The memory of the applications of a JVM. */
class MemoryTest {
    /** Applications that are gone do not stay in the memory of the JVM. */
    @Test
    void applicationsAreForgotten() {
        Memory.clearAll();
        Memory first = Memory.of("app-0", 0);
        for (int i = 1; i < 100; i++) {
            Memory.of("app-" + i, i);
        }
        assertEquals(Memory.MOST_APPLICATIONS, Memory.count());
        assertNotSame(first, Memory.of("app-0", 100));
        Memory last = Memory.of("app-99", 100);
        long later = 100 + TimeUnit.MILLISECONDS.toNanos(Memory.LONGEST_UNUSED_MS) + 1;
        assertSame(last, Memory.of("app-99", later), "its own rebalances may be far apart");
        assertEquals(1, Memory.count());
        Memory.clearAll();
    }
}
