package io.github.optassign.model;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** R11: whether a new plan replaces a remembered plan. */
class RestoreWorkTest {
    private static final RestoreWork REMEMBERED = new RestoreWork(10_300, 103);

    private static boolean isLeftFor(long offsets, int notCaughtUp, int moreMigrations) {
        return REMEMBERED.isWorthReplacingBy(new RestoreWork(offsets, notCaughtUp), moreMigrations, 100);
    }

    @Test
    void forMoreThanALittle() {
        assertTrue(isLeftFor(10_000, 103, 0));
        assertTrue(isLeftFor(10_300, 100, 0));
        assertFalse(isLeftFor(10_100, 103, 0), "2% of offsets");
        assertFalse(isLeftFor(10_300, 101, 0), "2% of copies");
        assertFalse(isLeftFor(20_000, 200, 0));
    }

    @Test
    void notForWhatItsMigrationsCost() {
        assertTrue(isLeftFor(10_000, 103, 14), "300 offsets are three changelogs, and fifteen migrations");
        assertFalse(isLeftFor(10_000, 103, 15));
        assertTrue(isLeftFor(10_300, 100, 14));
        assertFalse(isLeftFor(10_300, 100, 15));
    }

    @Test
    void largestNumbersAreNoTrouble() {
        RestoreWork endless = new RestoreWork(Long.MAX_VALUE, Integer.MAX_VALUE);
        assertTrue(endless.isWorthReplacingBy(new RestoreWork(0, 0), 1_000, Long.MAX_VALUE / 1e3));
        assertFalse(new RestoreWork(0, 0).isWorthReplacingBy(endless, 0, 1));
    }
}
