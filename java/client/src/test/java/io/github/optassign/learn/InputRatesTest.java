package io.github.optassign.learn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.model.Snapshot;
import io.github.optassign.testing.TestGroup;
import org.junit.jupiter.api.Test;

/** Rates of the input as the service measures them (tests/formats/test_weighing.py). */
class InputRatesTest {
    private static final long BEGIN = 1_767_225_600_000L;

    private final InputRates rates = new InputRates();
    private final Snapshot snapshot =
            TestGroup.of(1).tasks(0, 2, TestGroup.Kind.STATELESS, 0).snapshot();

    private void measure(long atMs, long... ends) {
        rates.measure(snapshot, ends, BEGIN + atMs);
    }

    @Test
    void rateCountsOnceItWasMeasuredForAMinute() {
        measure(0, 0, 0);
        assertEquals(60_000, rates.findWaitMs(BEGIN), 1_000);
        measure(30_000, 3_000, 30_000);
        assertArrayEquals(new double[] {-1, -1}, rates.find(snapshot));
        assertEquals(30_000, rates.findWaitMs(BEGIN + 30_000), 1_000);
        measure(61_000, 6_100, 61_000);
        assertArrayEquals(new double[] {100, 1_000}, rates.find(snapshot), 0.01);
        assertEquals(0, rates.findWaitMs(BEGIN + 61_000));
    }

    @Test
    void topicThatWasMadeAnewKeepsItsRate() {
        measure(0, 0, 0);
        measure(70_000, 7_000, 70_000);
        measure(80_000, 10, 80_000);
        assertArrayEquals(new double[] {100, 1_000}, rates.find(snapshot), 0.01);
    }

    @Test
    void twoPassesAndClocksThatGoBackTeachNothing() {
        measure(0, 0, 0);
        measure(70_000, 7_000, 70_000);
        measure(70_500, 900_000, 70_000);
        measure(10_000, 900_000, 900_000);
        assertArrayEquals(new double[] {100, 1_000}, rates.find(snapshot), 0.01);
    }

    @Test
    void hoursAgoCountsHalf() {
        measure(0, 0, 0);
        long hours = 8 * 3_600_000;
        measure(hours, hours / 10, 0);
        measure(2 * hours, hours / 10, 0);
        assertEquals(100.0 / 3, rates.find(snapshot)[0], 0.01);
    }
}
