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
        assertTrue(ActiveBalance.ofAll(units, List.of("a", "a", "b")).isKept());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "a")).isKept());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "a", "b")).isKept());
    }

    @Test
    void threadsAndCapacityCount() {
        Map<String, Long> units = Map.of("a", 3L, "b", 1L);
        assertTrue(ActiveBalance.ofAll(units, List.of("a", "a", "a", "b")).isKept());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "b", "b")).isKept());
    }

    @Test
    void aDrainingProcessHasNothingUnlessAllDrain() {
        assertFalse(
                ActiveBalance.ofAll(Map.of("a", 1L, "b", 0L), List.of("a", "b")).isKept());
        assertTrue(
                ActiveBalance.ofAll(Map.of("a", 1L, "b", 0L), List.of("a", "a")).isKept());
        assertTrue(
                ActiveBalance.ofAll(Map.of("a", 0L, "b", 0L), List.of("a", "b")).isKept());
    }

    /**
     * The shares of ten tasks are 2.7, 2.7 and 4.6: three, three and four are nearest, and 2, 3 and 5 are further away.
     */
    @Test
    void allTasksAreAsNearToTheSharesAsMayBe() {
        Map<String, Long> units = Map.of("a", 3L, "b", 3L, "c", 5L);
        List<String> owners = List.of("a", "a", "a", "b", "b", "b", "c", "c", "c", "c");
        assertTrue(ActiveBalance.ofAll(units, owners).isKept());
        assertTrue(ActiveBalance.ofStateful(units, List.of("a", "a", "b", "b", "b", "c", "c", "c", "c", "c"))
                .isKept());
        assertFalse(ActiveBalance.ofAll(units, List.of("a", "a", "b", "b", "b", "c", "c", "c", "c", "c"))
                .isKept());
    }

    @Test
    void anOwnerThatIsGoneIsNoReasonToFail() {
        assertFalse(ActiveBalance.ofAll(Map.of("a", 1L), List.of("a", "gone")).isKept());
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
