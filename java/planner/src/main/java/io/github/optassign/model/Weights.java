package io.github.optassign.model;

import io.github.optassign.policy.InputPolicy;
import java.util.Arrays;

/**
 * The weights of tasks, by which load is balanced instead of the number of tasks (docs/reference/rules.md, "Balanced
 * under load").
 *
 * @param ofTask the relative weight of each task, above 0. Not to be written to
 * @param tolerance the share by which the greatest load may exceed the least possible one
 * @param minGain the least reduction of the greatest load, in even spreads, for which a plan is worth its moves
 */
public record Weights(double[] ofTask, double tolerance, double minGain) {

    /** Returns whether any two tasks have different weights. */
    public boolean differ() {
        return Arrays.stream(ofTask).distinct().limit(2).count() > 1;
    }

    /**
     * Returns the weights of tasks in multiples of the mean measurement, rounded to three digits. So growth of all
     * tasks by the same factor changes no weight.
     *
     * @param known the measurement of each task, or a negative number for a task without one, which weighs 1
     * @param fixed the configured weight of each task, which overrides the measurement, or 0 if not configured
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
