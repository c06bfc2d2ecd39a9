package io.github.optassign.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Shares of clients, their bounds, and the imbalance of counts. */
class SharesTest {
    private static Shares of(long tasks, int copiesPerTask, long... sizes) {
        return Shares.of(tasks, copiesPerTask, sizes, new boolean[sizes.length]);
    }

    @Test
    void whoDrainsGetsOnlyWhatTheOthersHaveNoRoomFor() {
        boolean[] draining = {false, true, false};
        Shares shares = Shares.of(10, 1, new long[] {1, 5, 3}, draining);
        assertArrayEquals(new long[] {2, 0, 7}, shares.low());
        assertArrayEquals(new long[] {3, 0, 8}, shares.high());
        assertArrayEquals(
                new long[] {10, 10, 10},
                Shares.of(10, 3, new long[] {1, 5, 3}, draining).high());
    }

    /** Large capacities in millionths: their products exceed 64 bits. */
    @Test
    void sharesAreExact() {
        long size = 1_000_000_000_000_000L;
        Shares shares = of(100_000, 3, size, size, size, size + 1);
        assertArrayEquals(new long[] {74_999, 74_999, 74_999, 75_000}, shares.low());
        assertArrayEquals(new long[] {75_000, 75_000, 75_000, 75_001}, shares.high());
    }

    @Test
    void sharesAreInProportionToThreads() {
        Shares shares = of(10, 1, 1, 2, 1);
        assertArrayEquals(new long[] {2, 5, 2}, shares.low());
        assertArrayEquals(new long[] {3, 5, 3}, shares.high());
    }

    /** A thread that joins late leaves no instance without a task; Kafka's default gives the same numbers. */
    @Test
    void nearlyEqualClientsHaveNearlyEqualNumbersOfActives() {
        assertActives(2, List.of(40, 39), new long[] {1, 1}, new long[] {1, 1});
        assertActives(4, List.of(40, 39), new long[] {2, 2}, new long[] {2, 2});
        assertActives(2, List.of(2, 1), new long[] {1, 1}, new long[] {1, 1});
        assertActives(7, List.of(2, 2, 1), new long[] {3, 3, 1}, new long[] {3, 3, 1});
        assertActives(7, List.of(2, 2, 2), new long[] {2, 2, 2}, new long[] {3, 3, 3});
    }

    private static void assertActives(int tasks, List<Integer> threads, long[] low, long[] high) {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 2, 0, 600_000, false, false), List.of());
        for (int t = 0; t < tasks; t++) {
            builder.addTask("0", t, false, false, -1);
        }
        for (int c = 0; c < threads.size(); c++) {
            builder.addClient("client-" + c, threads.get(c));
        }
        Shares shares = Shares.ofActives(builder.build());
        assertArrayEquals(low, shares.low(), tasks + " tasks, threads " + threads);
        assertArrayEquals(high, shares.high(), tasks + " tasks, threads " + threads);
    }

    @Test
    void nobodyHasMoreCopiesThanThereAreTasks() {
        Shares shares = of(4, 2, 1, 10, 3);
        assertArrayEquals(new long[] {1, 4, 3}, shares.low());
        assertArrayEquals(new long[] {1, 4, 3}, shares.high());
        assertArrayEquals(new long[] {4, 4}, of(4, 2, 1, 1).low());
    }

    @Test
    void imbalanceGrowsWithTheSquare() {
        Shares shares = of(10, 1, 1, 1, 1, 1, 1);
        assertEquals(21 + 3 + 3 + 3, shares.imbalance(new long[] {8, 2, 0, 0, 0}));
        assertEquals(6 + 6 + 3 + 3 + 3, shares.imbalance(new long[] {5, 5, 0, 0, 0}));
    }
}
