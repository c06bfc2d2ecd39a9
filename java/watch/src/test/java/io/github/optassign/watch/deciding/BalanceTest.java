package io.github.optassign.watch.deciding;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Counts of active tasks beside the shares of processes. */
class BalanceTest {
    @Test
    void countsAreBetweenFloorAndCeilingOfTheShares() {
        Map<String, Double> units = Map.of("a", 2.0, "b", 2.0);
        assertTrue(new Balance(units, List.of("a", "a", "b")).isKept());
        assertFalse(new Balance(units, List.of("a", "a", "a")).isKept());
        assertFalse(new Balance(units, List.of("a", "a", "a", "b")).isKept());
    }

    @Test
    void threadsAndCapacityCount() {
        Map<String, Double> units = Map.of("a", 3.0, "b", 1.0);
        assertTrue(new Balance(units, List.of("a", "a", "a", "b")).isKept());
        assertFalse(new Balance(units, List.of("a", "a", "b", "b")).isKept());
    }

    @Test
    void whoDrainsHasNothingUnlessAllDo() {
        assertFalse(new Balance(Map.of("a", 1.0, "b", 0.0), List.of("a", "b")).isKept());
        assertTrue(new Balance(Map.of("a", 1.0, "b", 0.0), List.of("a", "a")).isKept());
        assertTrue(new Balance(Map.of("a", 0.0, "b", 0.0), List.of("a", "b")).isKept());
    }

    @Test
    void anOwnerThatIsGoneIsNoReasonToFail() {
        assertFalse(new Balance(Map.of("a", 1.0), List.of("a", "gone")).isKept());
    }

    @Test
    void aMoveGainsFromWhoHasTooManyOrToWhoHasTooFew() {
        Balance balance = new Balance(Map.of("a", 1.0, "b", 1.0, "c", 1.0), List.of("a", "a", "a", "b", "b", "b"));
        assertEquals(1, balance.above("a"));
        assertEquals(2, balance.below("c"));
        assertTrue(balance.gains("a", "c"));
        assertFalse(balance.gains("a", "b"));
        assertFalse(balance.gains("c", "a"));
    }
}
