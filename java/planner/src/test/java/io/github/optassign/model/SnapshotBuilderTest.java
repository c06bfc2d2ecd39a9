package io.github.optassign.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Snapshots contain the description of a group, whatever its order. */
class SnapshotBuilderTest {
    private static final GroupConfigs CONFIGS = new GroupConfigs(10_000, 2, 1, 600_000, false, false);

    @Test
    void tasksAreInTheOrderOfSubtopologiesAndPartitions() {
        SnapshotBuilder builder = new SnapshotBuilder(CONFIGS, List.of());
        for (String subtopology : List.of("orders__0", "10", "2", "b", "a")) {
            for (int partition : new int[] {10, 9}) {
                builder.addTask(subtopology, partition, false, false, -1);
            }
        }
        builder.addClient("a", 1);
        Snapshot snapshot = builder.build();
        List<String> names = IntStream.range(0, snapshot.taskCount())
                .mapToObj(snapshot::taskName)
                .toList();
        assertEquals(
                List.of("2_9", "2_10", "10_9", "10_10", "a_9", "a_10", "b_9", "b_10", "orders__0_9", "orders__0_10"),
                names);
        assertEquals(5, snapshot.subtopologyCount());
        assertEquals(4, snapshot.firstTask(2));
    }

    @Test
    void whatIsNotSaidOfALagIsTheWholeChangelog() {
        SnapshotBuilder builder = new SnapshotBuilder(CONFIGS, List.of());
        String known = builder.addTask("0", 0, true, true, 500_000);
        String unknown = builder.addTask("0", 1, true, true, -1);
        String unlogged = builder.addTask("0", 2, true, false, 7);
        builder.addClient("z", 1).runs(known).holds(unknown).lags(unknown, -3).lags("9_9", 1);
        builder.addClient("a", 1).lags(unlogged, 5);
        Snapshot snapshot = builder.build();
        assertArrayEquals(new int[] {1}, snapshot.owners(0));
        assertTrue(snapshot.wasStandby(1, 1));
        assertEquals(Snapshot.RUNNING, snapshot.lag(0, 1));
        assertEquals(500_000, snapshot.lag(0, 0));
        assertEquals(Snapshot.UNKNOWN, snapshot.lag(1, 1));
        assertEquals(Snapshot.NONE, snapshot.lag(1, 0));
        assertEquals(Snapshot.NONE, snapshot.lag(2, 0));
        assertTrue(snapshot.isStateful(2));
        assertFalse(snapshot.isLogged(2));
        assertEquals(-1, snapshot.endOffset(2));
    }

    @Test
    void clientsHaveTheirTraits() {
        SnapshotBuilder builder = new SnapshotBuilder(CONFIGS, List.of("zone", "rack", "zone"));
        builder.addClient("b", 2).tag("zone", "west").capacity(500_000);
        builder.addClient("a", 0).tag("zone", "east").tag("rack", "1").drains();
        Snapshot snapshot = builder.build();
        assertEquals(1, snapshot.threads(0));
        assertEquals(1_000_000, snapshot.size(1));
        assertTrue(snapshot.isDraining(0));
        assertEquals(2, snapshot.tagCount());
        assertEquals(1, snapshot.tag(1, 0));
        assertEquals(-1, snapshot.tag(1, 1));
    }

    @Test
    void nothingIsThereTwice() {
        SnapshotBuilder builder = new SnapshotBuilder(CONFIGS, List.of());
        builder.addTask("0", 0, false, false, -1);
        builder.addClient("a", 1);
        assertThrows(IllegalArgumentException.class, () -> builder.addTask("0", 0, true, true, 1));
        assertThrows(IllegalArgumentException.class, () -> builder.addClient("a", 1));
    }
}
