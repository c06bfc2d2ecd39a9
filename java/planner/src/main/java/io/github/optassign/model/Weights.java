package io.github.optassign.model;

import io.github.optassign.policy.InputPolicy;
import java.util.Arrays;

/**
 * The weights of tasks, if load and not the number of tasks is balanced (docs/reference/rules.md, "Balanced under
 * load").
 *
 * @param ofTask per task its weight relative to the others, above 0. Not to be written to
 * @param tolerance by which share the greatest load may be beyond the least that is possible
 * @param minGain by how much a plan has to lower the greatest load, in even spreads, to be worth its moves
 */
public record Weights(double[] ofTask, double tolerance, double minGain) {

    /** Returns whether tasks weigh differently; otherwise numbers of tasks are balanced. */
    public boolean differ() {
        return Arrays.stream(ofTask).distinct().limit(2).count() > 1;
    }

    /**
     * Weights in multiples of the mean, with three digits: growth of all alike changes none.
     *
     * @param known per task its measurement; less than 0 if it has none and weighs the mean, 1
     * @param fixed per task its given weight, which goes before measurements; 0 if none is given
     */
    public static double[] relativeToMean(double[] known, double[] fixed) {
        double mean = Arrays.stream(known).filter(value -> value >= 0).average().orElse(0);
        double[] weights = new double[known.length];
        for (int t = 0; t < weights.length; t++) {
            double found = mean > 0 && known[t] >= 0 ? known[t] / mean : 1;
            weights[t] = fixed[t] > 0
                    ? fixed[t]
                    : Math.min(InputPolicy.MOST_WEIGHT, Math.max(InputPolicy.LEAST_WEIGHT, round(found)));
        }
        return weights;
    }

    private static double round(double value) {
        if (value <= 0) {
            return 0;
        }
        double unit = Math.pow(10, Math.floor(Math.log10(value)) - 2);
        return Math.rint(value / unit) * unit;
    }
}
