package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import io.github.optassign.model.TagSpread;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * A choice of clients for tasks: pairs of a task and a client at least cost, with counts within bounds.
 *
 * @param need per task how many clients to choose
 * @param columns per task the clients, sorted, whose cost may differ from that of others of their kind
 * @param mayPool per task whether clients that are no columns may be chosen
 * @param fixed per task the clients, sorted, that have it already: they count, and are not chosen again
 * @param costs of the pairs
 * @param cells per subtopology the bounds of its pairs on each client
 * @param levels bounds of all pairs of some subtopologies on each client, innermost first; the last counts all
 * @param spread tags in whose values the clients of a task should differ, before all costs; null if they need not
 */
record PairChoice(
        int[] need,
        int[][] columns,
        boolean[] mayPool,
        int[][] fixed,
        Costs costs,
        Shares[] cells,
        List<Level> levels,
        TagSpread spread) {
    /** The cost of a pair that may not be chosen. */
    static final long NEVER = Long.MAX_VALUE;

    /** One step of restore cost, above the sum of costs that only break ties. */
    static final long STEP = 1L << 16;

    /** Restore costs are compared in 2<sup>24</sup> steps, so that potentials of a large network have 62 bits. */
    static final long MOST_STEPS = 1L << 24;

    /** The greatest {@link Costs#crowding}, less than any other difference in cost. */
    static final int MOST_CROWDED = (1 << 4) - 1;

    /** Returns the same choice with other needs and fixed clients. */
    PairChoice with(int[] itsNeed, int[][] itsFixed) {
        return new PairChoice(itsNeed, columns, mayPool, itsFixed, costs, cells, levels, spread);
    }

    /** The cost of a task on a client. */
    interface Costs {
        /** Returns the cost, below 2<sup>40</sup>, or {@link #NEVER}. */
        long of(int t, int c);

        /** Returns whether the client is tied: a task gets only some tied clients at this cost. */
        default boolean isTied(int t, int c) {
            return false;
        }

        /** Returns how many tied clients a task gets without a further cost, next to its fixed clients. */
        default int countFree(int t, int[] fixed) {
            return Integer.MAX_VALUE;
        }

        /** Returns the further cost of a tied client beyond these. */
        default long beyond(int t, int tied) {
            return 0;
        }

        /** Returns how crowded a client is before the choice takes effect, from 0; it decides between equal clients. */
        default int crowding(int c) {
            return 0;
        }

        /** Returns whether a choice takes effect at once, so that crowded clients are avoided. */
        default boolean isAtOnce(int t) {
            return false;
        }
    }

    /** Bounds of the pairs of the counted subtopologies on each client; a level includes the level before. */
    record Level(Shares bounds, IntPredicate counts) {}
}
