package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shares, windows, and the flow that keeps them. */
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
        assertEquals(6, windows.gain(new long[] {8, 2, 0, 0, 0}, 0, 2) - 2);
    }

    @Test
    void circulationMendsWithFewChanges() {
        // Two ways round: one over an arc that itself has too little, one over an arc that is content.
        Circulation flow = new Circulation(4);
        int over = flow.add(0, 1, 0, 1, 2);
        int content = flow.add(0, 2, 0, 9, 1);
        int under = flow.add(0, 3, 1, 9, 0);
        flow.add(1, 0, 2, 9, 2);
        flow.add(2, 0, 0, 9, 1);
        flow.add(3, 0, 0, 9, 0);
        flow.add(2, 1, 0, 9, 0);
        flow.add(3, 1, 0, 9, 0);
        assertTrue(flow.repair());
        assertEquals(1, flow.flow(over));
        assertEquals(1, flow.flow(under));
        assertEquals(1, flow.flow(content));
    }

    @Test
    void circulationSaysWhenThereIsNone() {
        Circulation flow = new Circulation(2);
        flow.add(0, 1, 2, 3, 0);
        flow.add(1, 0, 0, 1, 0);
        assertFalse(flow.repair());
    }
}
