package io.github.optassign.measuring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Shares, the windows around them, and how far counts are from these. */
class WindowsTest {
    @Test
    void sharesAreInProportionToThreads() {
        Windows windows = Windows.of(10, 1, new int[] {1, 2, 1});
        assertArrayEquals(new long[] {2, 5, 2}, windows.low());
        assertArrayEquals(new long[] {3, 5, 3}, windows.high());
    }

    @Test
    void nobodyHasMoreCopiesThanThereAreTasks() {
        Windows windows = Windows.of(4, 2, new int[] {1, 10, 3});
        assertArrayEquals(new long[] {1, 4, 3}, windows.low());
        assertArrayEquals(new long[] {1, 4, 3}, windows.high());
        assertArrayEquals(new long[] {4, 4}, Windows.of(4, 2, new int[] {1, 1}).low());
    }

    @Test
    void excessGrowsWithTheSquare() {
        Windows windows = Windows.of(10, 1, new int[] {1, 1, 1, 1, 1});
        assertEquals(21 + 3 + 3 + 3, windows.excess(new long[] {8, 2, 0, 0, 0}));
        assertEquals(6 + 6 + 3 + 3 + 3, windows.excess(new long[] {5, 5, 0, 0, 0}));
        assertEquals(-2, windows.rise(new long[] {8, 2, 0, 0, 0}, 2));
        assertEquals(7, windows.rise(new long[] {8, 2, 0, 0, 0}, 0));
    }
}
