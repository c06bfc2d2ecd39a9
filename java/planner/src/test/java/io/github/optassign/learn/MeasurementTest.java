package io.github.optassign.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import org.junit.jupiter.api.Test;

/**
 * Measurements over ten seconds whose later lags may be three seconds old, as in tests/models/solving/test_rates.py.
 */
class MeasurementTest {
    private static Pace.Restored update(long knownOffsets, long knownMs, long offsets) {
        Pace.Restored known = new Pace.Restored(knownOffsets, knownMs, Evidence.ONCE);
        return new Measurement(offsets, 10_000, 3_000, false, false).update(known);
    }

    @Test
    void agreeingMeasurementsCountEquallyWithinTheWindow() {
        assertEquals(new Pace.Restored(24_000, 12_000, Evidence.STEADY), update(10_000, 5_000, 14_000));
        assertEquals(new Pace.Restored(50_000, 25_000, Evidence.STEADY), update(40_000, 20_000, 14_000));
        assertEquals(new Pace.Restored(50_001, 25_000, Evidence.STEADY), update(1_800_099, 900_001, 14_000));
    }

    @Test
    void knownRateThatDisagreesCountsNoMoreThanTheMeasurement() {
        assertEquals(new Pace.Restored(75_000, 9_500, Evidence.ONCE), update(10_000, 5_000, 70_000));
        assertEquals(new Pace.Restored(84_000, 14_000, Evidence.ONCE), update(40_000, 20_000, 70_000));
        assertEquals(new Pace.Restored(70_000, 7_000, Evidence.ONCE), update(1, 1, 70_000));
    }

    @Test
    void largestRatesFitALong() {
        long most = Long.MAX_VALUE / 4_000;
        assertEquals(
                new Pace.Restored(2_236_667_718_937_281L, 25_000, Evidence.STEADY), update(most, 25_000, most / 4));
    }
}
