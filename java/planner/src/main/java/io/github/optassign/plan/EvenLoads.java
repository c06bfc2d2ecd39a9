package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * Lowers the sum of load<sup>8</sup> &times; size, and so the greatest loads, whatever the moves cost. No trade raises
 * the greatest load.
 */
final class EvenLoads extends LoadTrades {
    private int[] targets = {};
    private boolean mayTradeInThrees;
    /** Per client whether it has handed over a task that it had no trade for. */
    private final boolean[] hasEscaped;
    /** The least greatest load without a trade that gains, and its actives. */
    private double least = Double.POSITIVE_INFINITY;

    private int[] best;

    private EvenLoads(Loads loads, int[] active, boolean[] movable, double level) {
        super(loads, active, movable, level);
        hasEscaped = new boolean[sums.length];
    }

    /**
     * Evens out loads until the greatest is at most a level, or no trade gains.
     *
     * @param active per task its client; changed
     * @param movable per task whether it may move
     */
    static void reach(Loads loads, int[] active, boolean[] movable, double level) {
        EvenLoads trades = new EvenLoads(loads, active, movable, level);
        Trades.search(trades, LoadPolicy.TRADES);
        trades.restoreBest();
    }

    private int findMostLoaded() {
        return byLoad.get(byLoad.size() - 1);
    }

    /** Returns tasks of the most loaded client, the heaviest first. */
    @Override
    public int[] listSeekers() {
        targets = chooseTargets(c -> !hasEscaped[c]);
        int most = findMostLoaded();
        List<Integer> own = load(most) <= level ? List.of() : tasks.get(most);
        int count = Math.min(own.size(), LoadPolicy.PAIRED_TASKS);
        return IntStream.range(0, count)
                .map(i -> own.get(own.size() - 1 - (int) ((long) i * own.size() / count)))
                .toArray();
    }

    /**
     * Returns for each target client its free place, then up to two tasks whose exchange for the seeker brings both
     * loads nearest to each other; empty if the seeker's client is at the level, or no longer the most loaded.
     */
    @Override
    public int[] listPartners(int seeker) {
        int here = client(seeker);
        int next = byLoad.get(Math.max(0, byLoad.size() - 2));
        return load(here) <= level || load(here) < load(next)
                ? new int[0]
                : Arrays.stream(targets)
                        .filter(c -> c != here)
                        .flatMap(c -> {
                            double more = (sums[here] * loads.size[c] - sums[c] * loads.size[here])
                                    / (loads.size[here] + loads.size[c]);
                            return listPlaces(c, loads.weight[seeker] - more);
                        })
                        .toArray();
    }

    @Override
    double findLimit(int t, int place) {
        return Math.max(level, Math.max(measureThread(t), isFree(place) ? 0 : measureThread(place)));
    }

    private double measureThread(int t) {
        return loads.weight[t] / loads.capacity[active[t]];
    }

    @Override
    double measureRise(int copy, int place, int c) {
        double sum = sums[c] + measureChange(copy, place);
        return sum > Math.max(sums[c], load(findMostLoaded()) * loads.size[c])
                ? Double.POSITIVE_INFINITY
                : measureCost(c, sum) - measureCost(c, sums[c]);
    }

    @Override
    public double leastGain(int seeker) {
        return LoadPolicy.LEAST_GAIN * measureCost(client(seeker), sums[client(seeker)]);
    }

    private double measureCost(int c, double sum) {
        double square = sum / loads.size[c] * sum / loads.size[c];
        return loads.size[c] * square * square * square * square;
    }

    @Override
    public int countInThrees() {
        return mayTradeInThrees ? LoadPolicy.PARTNERS : 0;
    }

    /**
     * Allows trades in threes once no two clients gain. If that does not help, hands the lightest task of the most
     * loaded client to the least loaded one, which may trade on with many others; the first then takes none back.
     */
    @Override
    public boolean escape() {
        mayTradeInThrees = !mayTradeInThrees;
        return mayTradeInThrees || handOver();
    }

    private boolean handOver() {
        int giver = findMostLoaded();
        if (load(giver) < least) {
            least = load(giver);
            best = active.clone();
        }
        if (load(giver) <= level
                || hasEscaped[giver]
                || tasks.get(giver).isEmpty()
                || number[giver] <= loads.leastNumber[giver]) {
            return false;
        }
        hasEscaped[giver] = true;
        int lightest = tasks.get(giver).get(0);
        OptionalInt taker = Arrays.stream(targets)
                .filter(c -> c != giver && tasks.get(c).size() > 2 && loads.fitsThread(lightest, c, load(giver)))
                .findFirst();
        if (taker.isPresent()) {
            take(lightest);
            put(lightest, taker.getAsInt());
        }
        return taker.isPresent();
    }

    private void restoreBest() {
        chooseTargets(c -> true);
        if (best != null && load(findMostLoaded()) > least) {
            System.arraycopy(best, 0, active, 0, best.length);
        }
    }
}
