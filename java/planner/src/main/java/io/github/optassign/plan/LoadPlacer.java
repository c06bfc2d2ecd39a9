package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Plans actives at little restore work and few moves, while the greatest load keeps to a level.
 *
 * <ol>
 *   <li>{@link #findHomes} puts each task on its cheapest client; {@link #deal} deals tasks that cost the same on all,
 *       longest first.
 *   <li>By {@link LoadTrades}, clients beyond the level give dealt tasks away, which move for nothing, then others.
 *   <li>Dealt tasks even out the rest.
 * </ol>
 */
final class LoadPlacer extends PlanningStep {
    final Loads loads;
    private final double level;
    private final int[] active;
    private final double[] sums;
    private final int[] number;

    /** Creates a placer without actives. @param level the greatest load, in even spreads, to keep to */
    LoadPlacer(PlanningStep step, Loads loads, double level) {
        super(step);
        this.loads = loads;
        this.level = level;
        active = new int[snapshot.taskCount()];
        Arrays.fill(active, -1);
        sums = new double[snapshot.clientCount()];
        number = new int[sums.length];
    }

    /** Plans the actives. @return per task its client */
    int[] place() {
        findHomes();
        boolean[] dealt = deal();
        boolean[] all = new boolean[dealt.length];
        Arrays.fill(all, true);
        int[] traded = LoadTrades.search(this, active, dealt, level);
        traded = LoadTrades.search(this, traded, all, level);
        traded = LoadTrades.search(
                this, traded, all, level); // tasks return to clients that handed them over, if there is room
        return LoadTrades.search(this, traded, dealt, LoadPolicy.EVEN_LOAD);
    }

    /** Returns the price of an active on a client, in offsets. */
    double price(int t, int c) {
        int owner = previous.owner(t);
        return ranks.cost(t, c) + (owner >= 0 && owner != c ? LoadPolicy.MOVE_OFFSETS : 0);
    }

    private void put(int t, int c) {
        active[t] = c;
        sums[c] += loads.carried(t, c);
        number[c]++;
    }

    private void findHomes() {
        int[] busy = new int[sums.length];
        for (int t : loads.heaviestFirst) {
            int pool = snapshot.poolClient(t);
            double least = pool < 0 ? Double.POSITIVE_INFINITY : price(t, pool);
            int home = -1;
            for (int c : snapshot.columnsAnd(t, previous.owner(t))) {
                boolean fits = loads.oversized[t]
                        ? busy[c] < loads.threads[c]
                                && loads.capacity[c] >= loads.oversizedCapacity * (1 - LoadPolicy.ROUNDING)
                        : loads.fitsThread(t, c, level);
                if (loads.isOpen(c) && fits && price(t, c) < least) {
                    least = price(t, c);
                    home = c;
                }
            }
            if (home >= 0) {
                put(t, home);
                busy[home] += loads.oversized[t] ? 1 : 0;
            }
        }
    }

    /** Deals the tasks without a home, longest first. @return per task whether it was dealt */
    private boolean[] deal() {
        boolean[] dealt = new boolean[active.length];
        int[] order =
                Arrays.stream(loads.heaviestFirst).filter(t -> active[t] < 0).toArray();
        for (int i = 0; i < order.length; i++) {
            int lacking = IntStream.range(0, number.length)
                    .map(c -> Math.max(0, loads.leastNumber[c] - number[c]))
                    .sum();
            boolean isForIdle = lacking > 0 && order.length - i <= lacking; // threads without a task get the rest
            int best = -1;
            double least = Double.POSITIVE_INFINITY;
            for (int c = 0; c < sums.length; c++) {
                if (!loads.isOpen(c) || (isForIdle && number[c] >= loads.leastNumber[c])) {
                    continue;
                }
                double end = Math.max(
                        (sums[c] + loads.carried(order[i], c)) / loads.size[c],
                        loads.weight[order[i]] / loads.capacity[c]);
                if (end < least) {
                    least = end;
                    best = c;
                }
            }
            put(order[i], best);
            dealt[order[i]] = true;
        }
        return dealt;
    }
}
