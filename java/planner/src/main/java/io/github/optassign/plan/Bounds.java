package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.policy.GreedyPolicy;

/**
 * A builder of arcs whose flow has bounds. Strict bounds must hold; soft bounds may be exceeded at the cost of the
 * imbalance (docs/reference/rules.md, "Imbalance").
 *
 * @param flow the network that arcs are added to
 * @param isSoft whether bounds are soft
 */
record Bounds(MinCostFlow flow, boolean isSoft) {
    /** The first objective of {@link MinCostFlow}: the most rewards for values of tags, as negative costs. */
    static final int TAGS = 0;

    /** The second objective: the least imbalance. */
    static final int BALANCE = 1;

    /** The third objective: the least costs of pairs. */
    static final int COSTS = 2;

    /** Adds arcs for a flow within bounds, which fixed pairs may make negative; at most {@code reach} units arrive. */
    void add(int from, int to, long least, long most, long reach) {
        if (!isSoft) {
            flow.addArc(from, to, Math.max(0, least), Math.max(0, Math.max(least, most)), 0);
            return;
        }
        long width = 1;
        for (long distance = 1; distance <= least; distance += width) {
            width = findWidth(distance);
            flow.addArc(from, to, 0, Math.min(width, least - distance + 1), BALANCE, -distance);
        }
        if (most > Math.max(0, least)) {
            flow.addArc(from, to, 0, most - Math.max(0, least), 0);
        }
        for (long distance = Math.max(0, -most) + 1; distance <= reach - most; distance += width) {
            width = findWidth(distance);
            flow.addArc(from, to, 0, width, BALANCE, distance);
        }
    }

    /** Returns the capacity of the arc at a distance from the bounds: 1 nearby, and half the distance farther away. */
    private static long findWidth(long distance) {
        return distance <= GreedyPolicy.EXACT_DISTANCE ? 1 : distance / 2;
    }
}
