package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The problem of choosing clients for each task: pairs of a task and a client at the least total cost, such that the
 * numbers of pairs on each client are within bounds. {@link PairChooser} solves it.
 *
 * @param need the number of clients to choose for each task
 * @param columns the columns of each task, sorted: the clients whose cost may differ from that of others of their kind
 * @param mayPool whether clients of its pool, which are not among its columns, may be chosen for each task
 * @param fixed the clients that each task has already, sorted, which count within bounds and are not chosen again
 * @param costs the costs of the pairs
 * @param cells the bounds of each subtopology's pairs on each client
 * @param scopes bounds of the pairs of several subtopologies on each client, innermost first; the last includes all
 * @param isSpread whether the clients of a task should differ in values of tags, which outweighs all costs
 */
record PairProblem(
        int[] need,
        int[][] columns,
        boolean[] mayPool,
        int[][] fixed,
        Costs costs,
        Shares[] cells,
        List<Scope> scopes,
        boolean isSpread) {
    /** The cost of a pair that may not be chosen. */
    static final long NEVER = Long.MAX_VALUE;

    /** The greatest {@link Costs#crowding}, below any other difference in cost, so that it breaks ties only. */
    static final int MOST_CROWDED = (1 << 4) - 1;

    /** Returns the same problem with other needs and fixed clients. */
    PairProblem with(int[] newNeed, int[][] newFixed) {
        return new PairProblem(newNeed, columns, mayPool, newFixed, costs, cells, scopes, isSpread);
    }

    /** The costs of pairs. */
    interface Costs {
        /** Returns the cost of a pair, below 2<sup>40</sup>, or {@link #NEVER} if it may not be chosen. */
        long of(int t, int c);

        /** Returns how crowded a client is, 0 (default) to {@link #MOST_CROWDED}; it breaks ties between clients. */
        default int crowding(int c) {
            return 0;
        }

        /** Returns whether the task starts at once, so that it avoids crowded clients; false by default. */
        default boolean isAtOnce(int t) {
            return false;
        }
    }

    /** Bounds of each client's pairs of the subtopologies that {@code includes} accepts; the next scope has more. */
    record Scope(Shares bounds, IntPredicate includes) {}
}
