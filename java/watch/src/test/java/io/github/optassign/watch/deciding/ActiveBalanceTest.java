package io.github.optassign.watch.deciding;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Counts of active tasks compared with the shares of processes. */
class ActiveBalanceTest {
    @Test
    void countsAreBetweenFloorAndCeilingOfTheShares() {
        Map<String, Long> units = Map.of("a", 2L, "b", 2L);
        assertTrue(ActiveBalance.ofAll(units, List.of("a", "a", "b")).isBalanced());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "a")).isBalanced());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "a", "b")).isBalanced());
    }

    @Test
    void threadsAndCapacityCount() {
        Map<String, Long> units = Map.of("a", 3L, "b", 1L);
        assertTrue(ActiveBalance.ofAll(units, List.of("a", "a", "a", "b")).isBalanced());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "b", "b")).isBalanced());
    }

    @Test
    void aDrainingProcessHasNothingUnlessAllDrain() {
        assertFalse(
                ActiveBalance.ofAll(Map.of("a", 1L, "b", 0L), List.of("a", "b")).isBalanced());
        assertTrue(
                ActiveBalance.ofAll(Map.of("a", 1L, "b", 0L), List.of("a", "a")).isBalanced());
        assertTrue(
                ActiveBalance.ofAll(Map.of("a", 0L, "b", 0L), List.of("a", "b")).isBalanced());
    }

    /**
     * The shares of ten tasks are 2.7, 2.7 and 4.6. The nearest counts are 3, 3 and 4; counts of 2, 3 and 5 are further
     * away.
     */
    @Test
    void countsAreAsNearToTheSharesAsPossible() {
        Map<String, Long> units = Map.of("a", 3L, "b", 3L, "c", 5L);
        List<String> owners = List.of("a", "a", "a", "b", "b", "b", "c", "c", "c", "c");
        assertTrue(ActiveBalance.ofAll(units, owners).isBalanced());
        assertTrue(ActiveBalance.ofStateful(units, List.of("a", "a", "b", "b", "b", "c", "c", "c", "c", "c"))
                .isBalanced());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "b", "b", "b", "c", "c", "c", "c", "c"))
                .isBalanced());
    }

    @Test
    void anUnknownOwnerDoesNotFail() {
        assertFalse(ActiveBalance.ofAll(Map.of("a", 1L), List.of("a", "gone")).isBalanced());
    }

    @Test
    void aMoveGainsFromAProcessWithTooManyOrToOneWithTooFew() {
        ActiveBalance balance =
                ActiveBalance.ofAll(Map.of("a", 1L, "b", 1L, "c", 1L), List.of("a", "a", "a", "b", "b", "b"));
        assertEquals(1, balance.above("a"));
        assertEquals(2, balance.below("c"));
        assertTrue(balance.gains("a", "c"));
        assertFalse(balance.gains("a", "b"));
        assertFalse(balance.gains("c", "a"));
    }
}
