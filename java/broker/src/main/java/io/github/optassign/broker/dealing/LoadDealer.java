package io.github.optassign.broker.dealing;

import io.github.optassign.model.Weights;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Deals the actives of one process to its threads by what they weigh. Each stays with its thread until the greatest
 * load of a thread is beyond the tolerance; then single moves and exchanges lower it. A change of threads stops a task,
 * so none is made if all of them together gain little.
 */
public final class LoadDealer {
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
     * Deals copies.
     *
     * @param weight per copy its weight, above 0
     * @param before per copy the thread that has it; -1: none
     * @param pinned per copy whether it stays with its thread, if it has one
     * @param threads their number
     * @param weights the tolerance, and the gain that changes of threads have to bring
     * @return per copy its thread
     */
    public static int[] deal(double[] weight, int[] before, boolean[] pinned, int threads, Weights weights) {
        LoadDealer dealer = new LoadDealer(weight, before, pinned, threads);
        dealer.placeNew();
        int[] kept = dealer.dealt.clone();
        double first = dealer.findGreatest();
        double mean = Arrays.stream(weight).sum() / threads;
        double least = Math.max(mean, Arrays.stream(weight).max().orElse(0));
        dealer.even(least * (1 + weights.tolerance()));
        return first - dealer.findGreatest() < weights.minGain() * mean ? kept : dealer.dealt;
    }

    /** Copies without a thread go to the least loaded one, the heaviest first. */
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

    /** Lowers the greatest load step by step until it is allowed or no step lowers it. */
    private void even(double allowed) {
        for (int step = 0; step < LoadPolicy.THREAD_STEPS * weight.length; step++) {
            int most = findMost();
            if (load[most] <= allowed || !improve(most)) {
                return;
            }
        }
    }

    /** Makes the move or exchange that leaves the lesser greater load of two threads; false: there is none. */
    private boolean improve(int most) {
        int[] best = null;
        double least = load[most] - LoadPolicy.LEAST_GAIN;
        for (int i = 0; i < weight.length; i++) {
            if (dealt[i] != most || isPinned(i)) {
                continue;
            }
            for (int k = 0; k < load.length; k++) {
                double left = Math.max(load[most] - weight[i], load[k] + weight[i]);
                if (k != most && left < least) {
                    least = left;
                    best = new int[] {i, k, -1};
                }
            }
            for (int j = 0; j < weight.length; j++) {
                double shift = weight[i] - weight[j];
                double left = Math.max(load[most] - shift, load[dealt[j]] + shift);
                if (dealt[j] != most && !isPinned(j) && left < least) {
                    least = left;
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
