package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.policy.GreedyPolicy;

/**
 * Arcs whose flow is a count with bounds, strict or at the price of the imbalance (docs/reference/rules.md,
 * "Imbalance").
 *
 * @param isSoft whether counts may be out of their bounds
 */
record Bounds(MinCostFlow flow, boolean isSoft) {
    /** The level of rewards for values of tags, the first to be minimised (see {@link MinCostFlow}). */
    static final int TAGS = 0;

    /** The level of the imbalance. */
    static final int BALANCE = 1;

    /** The level of the costs of pairs. */
    static final int COSTS = 2;

    /** Adds arcs for a count up to {@code reach}. Bounds below 0 are exceeded by pairs that stay. */
    void add(int from, int to, long least, long most, long reach) {
        if (!isSoft) {
            flow.addArc(from, to, Math.max(0, least), Math.max(0, Math.max(least, most)), 0);
            return;
        }
        long step = 1;
        for (long distance = 1; distance <= least; distance += step) {
            step = findStep(distance);
            flow.addArc(from, to, 0, Math.min(step, least - distance + 1), BALANCE, -distance);
        }
        if (most > Math.max(0, least)) {
            flow.addArc(from, to, 0, most - Math.max(0, least), 0);
        }
        for (long distance = Math.max(0, -most) + 1; distance <= reach - most; distance += step) {
            step = findStep(distance);
            flow.addArc(from, to, 0, step, BALANCE, distance);
        }
    }

    private static long findStep(long distance) {
        return distance <= GreedyPolicy.EXACT_DISTANCE ? 1 : distance / 2;
    }
}
