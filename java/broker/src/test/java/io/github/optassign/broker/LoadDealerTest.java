package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.dealing.LoadDealer;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads of threads are balanced, without changes that gain little. */
class LoadDealerTest {
    private static int[] deal(double[] weight, int[] before, int threads) {
        Weights weights = new Weights(weight, MeasuringPolicy.LOAD_TOLERANCE, MeasuringPolicy.LEAST_LOAD_GAIN);
        return LoadDealer.deal(weight, before, new boolean[weight.length], threads, weights);
    }

    private static double[] sumUp(double[] weight, int[] dealt, int threads) {
        double[] load = new double[threads];
        for (int i = 0; i < weight.length; i++) {
            load[dealt[i]] += weight[i];
        }
        return load;
    }

    @Test
    void aHeavyTaskHasAThreadOfItsOwn() {
        double[] weight = {1, 1, 1, 3};
        int[] dealt = deal(weight, new int[] {-1, -1, -1, -1}, 2);
        assertArrayEquals(
                new double[] {3, 3},
                Arrays.stream(sumUp(weight, dealt, 2)).sorted().toArray());
    }

    @Test
    void twoTasksAreExchangedForBalance() {
        double[] weight = {3, 2, 2, 1};
        int[] dealt = deal(weight, new int[] {0, 0, 1, 1}, 2);
        assertArrayEquals(new double[] {4, 4}, sumUp(weight, dealt, 2));
        int changed = 0;
        for (int i = 0; i < 4; i++) {
            changed += dealt[i] != new int[] {0, 0, 1, 1}[i] ? 1 : 0;
        }
        assertEquals(2, changed);
    }

    @Test
    void aTaskStaysIfItsMoveGainsLittle() {
        int[] before = {0, 0, 1, 1};
        assertArrayEquals(before, deal(new double[] {1.03, 1, 1, 0.97}, before, 2));
    }

    @Test
    void aWarmUpStaysWithItsThread() {
        double[] weight = {1, 1, 1, 1};
        Weights weights = new Weights(weight, MeasuringPolicy.LOAD_TOLERANCE, MeasuringPolicy.LEAST_LOAD_GAIN);
        int[] dealt =
                LoadDealer.deal(weight, new int[] {0, 0, 0, 0}, new boolean[] {true, true, false, false}, 2, weights);
        assertArrayEquals(new int[] {0, 0, 1, 1}, dealt);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void loadsAreNearTheLowerBoundAndStable(long seed) {
        Random random = new Random(seed);
        int threads = 2 + random.nextInt(6);
        double[] weight =
                random.doubles(threads * (4 + random.nextInt(10)), 0.05, 4).toArray();
        int[] before = random.ints(weight.length, -1, threads).toArray();
        int[] dealt = deal(weight, before, threads);
        double mean = Arrays.stream(weight).sum() / threads;
        double least = Math.max(mean, Arrays.stream(weight).max().orElse(0));
        double greatest = Arrays.stream(sumUp(weight, dealt, threads)).max().orElse(0);
        assertTrue(greatest <= 1.15 * least, () -> "seed " + seed + ": " + greatest + " of " + least);
        assertArrayEquals(dealt, deal(weight, dealt, threads), "seed " + seed);
    }
}
