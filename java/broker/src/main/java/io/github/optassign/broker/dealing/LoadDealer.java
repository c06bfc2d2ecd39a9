package io.github.optassign.broker.dealing;

import io.github.optassign.model.Weights;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The distribution of a process's actives to its threads by weight. Actives stay on their threads until the greatest
 * load exceeds the tolerance; then moves and exchanges lower it (local search). A change of threads interrupts a task,
 * so no change is made if all changes together gain little.
 */
public final class LoadDealer {
    /**
     * The most moves and exchanges between threads of one process, as a multiple of its tasks. The limit bounds the
     * time by work; a process needs fewer.
     */
    private static final int THREAD_STEPS = 4;

    private final double[] weight;
    private final int[] before;
    private final boolean[] pinned;
    private final double[] load;
    private final int[] dealt;

    private LoadDealer(double[] weight, int[] before, boolean[] pinned, int threads) {
        this.weight = weight;
        this.before = before;
        this.pinned = pinned;
        load = new double[threads];
        dealt = before.clone();
    }

    /**
     * Distributes copies.
     *
     * @param weight per copy its weight, above 0
     * @param before per copy its previous thread, or -1
     * @param pinned per copy whether it stays on its previous thread
     * @param threads the number of threads
     * @param weights the tolerance, and the least gain for which copies change threads
     * @return per copy its thread
     */
    public static int[] deal(double[] weight, int[] before, boolean[] pinned, int threads, Weights weights) {
        LoadDealer dealer = new LoadDealer(weight, before, pinned, threads);
        dealer.placeNew();
        int[] kept = dealer.dealt.clone();
        double loadBefore = dealer.findGreatest();
        double mean = Arrays.stream(weight).sum() / threads;
        double lowerBound = Math.max(mean, Arrays.stream(weight).max().orElse(0));
        dealer.lowerGreatestLoad(lowerBound * (1 + weights.tolerance()));
        return loadBefore - dealer.findGreatest() < weights.minGain() * mean ? kept : dealer.dealt;
    }

    /** Places copies without a previous thread on the least loaded thread, the heaviest first. */
    private void placeNew() {
        for (int i = 0; i < weight.length; i++) {
            if (before[i] >= 0) {
                load[before[i]] += weight[i];
            }
        }
        IntStream.range(0, weight.length)
                .filter(i -> before[i] < 0)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer i) -> -weight[i]))
                .forEach(i -> move(i, findLeast()));
    }

    /** Lowers the greatest load by moves and exchanges until it is within the limit or no step lowers it. */
    private void lowerGreatestLoad(double allowed) {
        for (int step = 0; step < THREAD_STEPS * weight.length; step++) {
            int most = findMost();
            if (load[most] <= allowed || !improveThread(most)) {
                return;
            }
        }
    }

    /**
     * Makes the move or exchange from a thread that minimises the greater load of the two threads.
     *
     * @return false if no step lowers the load
     */
    private boolean improveThread(int most) {
        int[] best = null;
        double leastLoad = load[most] - LoadPolicy.LEAST_GAIN;
        for (int i = 0; i < weight.length; i++) {
            if (dealt[i] != most || isPinned(i)) {
                continue;
            }
            for (int k = 0; k < load.length; k++) {
                double left = Math.max(load[most] - weight[i], load[k] + weight[i]);
                if (k != most && left < leastLoad) {
                    leastLoad = left;
                    best = new int[] {i, k, -1};
                }
            }
            for (int j = 0; j < weight.length; j++) {
                double shift = weight[i] - weight[j];
                double left = Math.max(load[most] - shift, load[dealt[j]] + shift);
                if (dealt[j] != most && !isPinned(j) && left < leastLoad) {
                    leastLoad = left;
                    best = new int[] {i, dealt[j], j};
                }
            }
        }
        if (best == null) {
            return false;
        }
        move(best[0], best[1]);
        if (best[2] >= 0) {
            move(best[2], most);
        }
        return true;
    }

    private boolean isPinned(int i) {
        return pinned[i] && before[i] >= 0;
    }

    private void move(int i, int k) {
        if (dealt[i] >= 0) {
            load[dealt[i]] -= weight[i];
        }
        dealt[i] = k;
        load[k] += weight[i];
    }

    private double findGreatest() {
        return load[findMost()];
    }

    private int findMost() {
        int most = 0;
        for (int k = 1; k < load.length; k++) {
            most = load[k] > load[most] ? k : most;
        }
        return most;
    }

    private int findLeast() {
        int least = 0;
        for (int k = 1; k < load.length; k++) {
            least = load[k] < load[least] ? k : least;
        }
        return least;
    }
}
