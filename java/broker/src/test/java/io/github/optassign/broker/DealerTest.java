package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.dealing.Dealer;
import io.github.optassign.broker.group.TaskTable;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Copies are balanced over threads, with as few changes of threads as possible. */
class DealerTest {
    private final TaskTable tasks =
            new TaskTable(new BrokerTestGroup(0).logged("0", 30).logged("1", 30));

    @Test
    void balancedCopiesStay() {
        int[] copies = {0, 1, 2, 30, 31};
        int[] before = {0, 0, 0, 1, 1};
        int[] nowhere = {-1, -1, -1, -1, -1};
        assertArrayEquals(before, new Dealer(tasks, 2).deal(copies, before, nowhere, new int[2]));
    }

    @Test
    void aNewThreadGetsItsShareAndOfEachSubtopology() {
        int[] copies = {0, 1, 2, 30, 31, 32};
        int[] before = {0, 0, 0, 0, 0, 0};
        int[] nowhere = {-1, -1, -1, -1, -1, -1};
        int[] dealt = new Dealer(tasks, 2).deal(copies, before, nowhere, new int[2]);
        assertEquals(3, Arrays.stream(dealt).filter(m -> m == 0).count());
        long ofFirst = IntStream.range(0, 3).filter(i -> dealt[i] == 0).count();
        assertTrue(ofFirst == 1 || ofFirst == 2, () -> Arrays.toString(dealt));
    }

    @Test
    void aThreadWithTheTaskInAnotherRoleIsPreferred() {
        int[] dealt = new Dealer(tasks, 2).deal(new int[] {4, 5}, new int[] {-1, -1}, new int[] {1, 0}, new int[2]);
        assertArrayEquals(new int[] {1, 0}, dealt);
    }

    @Test
    void aRemainingCopyGoesToTheThreadWithLessWork() {
        int[] dealt = new Dealer(tasks, 2).deal(new int[] {4}, new int[] {-1}, new int[] {-1}, new int[] {3, 2});
        assertArrayEquals(new int[] {1}, dealt);
    }

    @Test
    void aNewCopyGoesToTheThreadWithMostRoom() {
        int[] nowhere = {-1, -1, -1};
        int[] dealt = new Dealer(tasks, 3).dealWithin(new int[] {1, 3, 2}, new int[] {0, 30, 59}, nowhere, nowhere);
        assertArrayEquals(new int[] {1, 1, 2}, dealt);
    }

    @Test
    void aQuotaPrecedesTheOwner() {
        int[] before = {0, 0, 0};
        int[] nowhere = {-1, -1, -1};
        int[] dealt = new Dealer(tasks, 2).dealWithin(new int[] {2, 2}, new int[] {0, 1, 2}, before, nowhere);
        assertEquals(2, Arrays.stream(dealt).filter(m -> m == 0).count());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void copiesAreBalancedWithTheFewestMoves(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            int members = 1 + random.nextInt(5);
            int[] copies =
                    IntStream.range(0, 60).filter(t -> random.nextBoolean()).toArray();
            int[] before = Arrays.stream(copies)
                    .map(t -> random.nextInt(members + 1) - 1)
                    .toArray();
            int[] near = Arrays.stream(copies)
                    .map(t -> random.nextInt(members + 1) - 1)
                    .toArray();
            int[] dealt = new Dealer(tasks, members).deal(copies, before, near, new int[members]);
            int[] count = new int[members];
            int[] previousCount = new int[members];
            int kept = 0;
            for (int k = 0; k < copies.length; k++) {
                count[dealt[k]]++;
                kept += dealt[k] == before[k] ? 1 : 0;
                if (before[k] >= 0) {
                    previousCount[before[k]]++;
                }
            }
            int most = Arrays.stream(count).max().orElse(0);
            assertTrue(most - Arrays.stream(count).min().orElse(0) <= 1, "seed " + seed);
            // The optimum: each thread keeps up to the floor of its share, and as many threads as there are remaining
            // copies keep one more.
            int floor = copies.length / members;
            long odd = Math.min(
                    copies.length % members,
                    Arrays.stream(previousCount).filter(n -> n > floor).count());
            long best =
                    Arrays.stream(previousCount).map(n -> Math.min(n, floor)).sum() + odd;
            assertEquals(best, kept, "seed " + seed);
        }
    }
}
