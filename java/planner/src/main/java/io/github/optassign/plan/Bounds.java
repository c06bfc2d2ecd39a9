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
    /** The price of a count at distance 1 from its bounds: more than the restore cost of a copy in coarse steps. */
    static final long PENALTY = 1L << 34;

    /** The reward of a further value of a tag. */
    static final long REWARD = 1L << 38;

    /**
     * Adds arcs for a count. Bounds below 0 are exceeded by pairs that do not change.
     *
     * @param reach the greatest count that there can be
     */
    void add(int from, int to, long least, long most, long reach) {
        if (!isSoft) {
            flow.addArc(from, to, Math.max(0, least), Math.max(0, Math.max(least, most)), 0);
            return;
        }
        long step = 1;
        for (long distance = 1; distance <= least; distance += step) {
            step = findStep(distance);
            flow.addArc(
                    from,
                    to,
                    0,
                    Math.min(step, least - distance + 1),
                    -PENALTY * Math.min(GreedyPolicy.STEEPEST_DISTANCE, distance));
        }
        if (most > Math.max(0, least)) {
            flow.addArc(from, to, 0, most - Math.max(0, least), 0);
        }
        long last = Math.min(GreedyPolicy.STEEPEST_DISTANCE, reach - most);
        for (long distance = Math.max(0, -most) + 1; distance <= last; distance += step) {
            step = findStep(distance);
            flow.addArc(from, to, 0, step, PENALTY * distance);
        }
        if (reach - most > GreedyPolicy.STEEPEST_DISTANCE) {
            flow.addArc(from, to, 0, reach, PENALTY * GreedyPolicy.STEEPEST_DISTANCE);
        }
    }

    private static long findStep(long distance) {
        return distance <= GreedyPolicy.EXACT_DISTANCE ? 1 : distance / 2;
    }
}
