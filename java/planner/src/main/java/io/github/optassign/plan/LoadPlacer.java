package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * A heuristic that chooses clients for actives with little restore work and few moves, such that no load exceeds a
 * given level if possible.
 *
 * <ol>
 *   <li>{@link #placeOnCheapest} puts tasks on their cheapest clients; {@link #deal} deals the others, which cost the
 *       same on all clients, the heaviest first.
 *   <li>By {@link LoadTrades}, clients above the level first hand over dealt tasks, whose moves cost nothing, then
 *       others.
 *   <li>Trades of dealt tasks even out the remaining differences.
 * </ol>
 */
final class LoadPlacer extends PlanningStep {
    final Loads loads;
    private final double level;
    private final int[] active;
    /** The weight of the tasks on each client so far. */
    private final double[] sums;
    /** The number of tasks on each client so far. */
    private final int[] number;

    /** Creates a placer that keeps loads to {@code level}, in even spreads, if possible. */
    LoadPlacer(PlanningStep step, Loads loads, double level) {
        super(step);
        this.loads = loads;
        this.level = level;
        active = new int[snapshot.taskCount()];
        Arrays.fill(active, -1);
        sums = new double[snapshot.clientCount()];
        number = new int[sums.length];
    }

    /** Returns the client of each task. */
    int[] place() {
        placeOnCheapest();
        boolean[] dealt = deal();
        boolean[] all = new boolean[dealt.length];
        Arrays.fill(all, true);
        int[] traded = LoadTrades.search(this, active, dealt, level);
        traded = LoadTrades.search(this, traded, all, level);
        // In a second search, tasks can return to clients that handed them over, if there is room.
        traded = LoadTrades.search(this, traded, all, level);
        return LoadTrades.search(this, traded, dealt, LoadPolicy.EVEN_LOAD);
    }

    /** Returns the price of an active on a client in offsets: restore work and the price of a move. */
    double price(int t, int c) {
        int owner = previous.owner(t);
        return ranks.cost(t, c) + (owner >= 0 && owner != c ? LoadPolicy.MOVE_OFFSETS : 0);
    }

    /** Makes a task active on a client, and counts it there. */
    private void put(int t, int c) {
        active[t] = c;
        sums[c] += loads.weightOn(t, c);
        number[c]++;
    }

    /** Puts each task on its cheapest client with a fitting thread, if that is cheaper than a client without state. */
    private void placeOnCheapest() {
        int[] busy = new int[sums.length];
        for (int t : loads.heaviestFirst) {
            int pool = snapshot.poolClient(t);
            double least = pool < 0 ? Double.POSITIVE_INFINITY : price(t, pool);
            int cheapest = -1;
            for (int c : snapshot.columnsAnd(t, previous.owner(t))) {
                boolean fits = loads.oversized[t]
                        ? busy[c] < loads.threads[c]
                                && loads.capacity[c] >= loads.oversizedCapacity * (1 - LoadPolicy.ROUNDING)
                        : loads.fitsThread(t, c, level);
                if (loads.mayHaveActives(c) && fits && price(t, c) < least) {
                    least = price(t, c);
                    cheapest = c;
                }
            }
            if (cheapest >= 0) {
                put(t, cheapest);
                busy[cheapest] += loads.oversized[t] ? 1 : 0;
            }
        }
    }

    /** Deals each remaining task, heaviest first, to the client with the least load then. Returns which were dealt. */
    private boolean[] deal() {
        boolean[] dealt = new boolean[active.length];
        int[] order =
                Arrays.stream(loads.heaviestFirst).filter(t -> active[t] < 0).toArray();
        for (int i = 0; i < order.length; i++) {
            int t = order[i];
            int lacking = IntStream.range(0, number.length)
                    .map(c -> Math.max(0, loads.leastNumber[c] - number[c]))
                    .sum();
            IntPredicate isIdle = c -> number[c] < loads.leastNumber[c] && loads.fitsThread(t, c, level);
            // Threads without a task get the rest, but none that is too heavy: trades find them lighter ones.
            boolean isForIdle = order.length - i <= lacking
                    && IntStream.range(0, number.length).anyMatch(isIdle);
            int best = -1;
            double least = Double.POSITIVE_INFINITY;
            for (int c = 0; c < sums.length; c++) {
                if (!loads.mayHaveActives(c) || (isForIdle && !isIdle.test(c))) {
                    continue;
                }
                double end =
                        Math.max((sums[c] + loads.weightOn(t, c)) / loads.size[c], loads.weight[t] / loads.capacity[c]);
                if (end < least) {
                    least = end;
                    best = c;
                }
            }
            put(t, best);
            dealt[t] = true;
        }
        return dealt;
    }
}
