package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Actives that clients trade by weight. Copies are the tasks; behind them each client has a free place, by which an
 * active is handed over.
 */
abstract class LoadTrades implements Trades.Objective {
    final Loads loads;
    /** Per task its client. */
    final int[] active;
    /** The greatest load to reach. */
    final double level;
    /** Per client the weight and the number of its tasks. */
    final double[] sums;

    final int[] number;
    /** Per client the tasks that may move, lightest first. */
    final List<List<Integer>> tasks = new ArrayList<>();

    final Comparator<Integer> byWeight;
    /** The clients that may have actives, the least loaded first. */
    List<Integer> byLoad = List.of();

    private final boolean[] movable;
    private final Random random = new Random(LoadPolicy.SEED);

    /**
     * Creates a search.
     *
     * @param active per task its client; changed
     * @param movable per task whether it may move
     */
    LoadTrades(Loads loads, int[] active, boolean[] movable, double level) {
        this.loads = loads;
        this.active = active;
        this.movable = movable;
        this.level = level;
        sums = loads.sumUp(active);
        number = new int[sums.length];
        byWeight = Comparator.comparingDouble((Integer t) -> loads.weight[t]).thenComparingInt(t -> t);
        Stream.generate(() -> new ArrayList<Integer>()).limit(sums.length).forEach(tasks::add);
        for (int t = 0; t < active.length; t++) {
            number[active[t]]++;
            if (mayMove(t)) {
                tasks.get(active[t]).add(t);
            }
        }
        tasks.forEach(each -> each.sort(byWeight));
    }

    /** Returns per task that it may move. */
    static boolean[] all(int tasks) {
        boolean[] all = new boolean[tasks];
        Arrays.fill(all, true);
        return all;
    }

    private boolean mayMove(int t) {
        return movable[t] && !loads.oversized[t];
    }

    final double load(int c) {
        return sums[c] / loads.size[c];
    }

    final boolean isFree(int copy) {
        return copy >= active.length;
    }

    /** Sorts the clients by their load. @return the least loaded of some clients, then as many others at random */
    final int[] chooseTargets(IntPredicate mayTake) {
        byLoad = IntStream.range(0, sums.length)
                .filter(loads::isOpen)
                .boxed()
                .sorted(Comparator.comparingDouble(this::load).thenComparingInt(c -> c))
                .toList();
        int[] all = byLoad.stream().mapToInt(c -> c).filter(mayTake).toArray();
        int[] targets = Arrays.copyOf(all, Math.min(all.length, 2 * LoadPolicy.PARTNERS));
        for (int i = LoadPolicy.PARTNERS; i < targets.length && targets.length < all.length; i++) {
            targets[i] = all[LoadPolicy.PARTNERS + random.nextInt(all.length - LoadPolicy.PARTNERS)];
        }
        return targets;
    }

    /** Returns the free place of a client, then its tasks of nearly a weight. */
    final IntStream listPlaces(int c, double weight) {
        List<Integer> theirs = tasks.get(c);
        int place = countLighter(theirs, weight);
        return IntStream.concat(
                IntStream.of(active.length + c),
                theirs.subList(Math.max(0, place - 1), Math.min(theirs.size(), place + 1)).stream()
                        .mapToInt(t -> t));
    }

    private int countLighter(List<Integer> sorted, double weight) {
        int low = 0;
        int high = sorted.size();
        while (low < high) {
            int middle = (low + high) / 2;
            if (loads.weight[sorted.get(middle)] < weight) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    @Override
    public final int client(int copy) {
        return isFree(copy) ? copy - active.length : active[copy];
    }

    @Override
    public final double measureRise(int copy, int place) {
        int c = client(place);
        int more = (isFree(copy) ? 0 : 1) - (isFree(place) ? 0 : 1);
        boolean isIdle = more < 0 && number[c] <= loads.leastNumber[c];
        boolean mayHave = isFree(copy) || (mayMove(copy) && loads.fitsThread(copy, c, findLimit(copy, place)));
        return isIdle || !mayHave ? Double.POSITIVE_INFINITY : measureRise(copy, place, c);
    }

    /** Returns the greatest load of a thread by one task that takes a place. */
    abstract double findLimit(int t, int place);

    /** Returns by how much the cost of a client rises. */
    abstract double measureRise(int copy, int place, int c);

    /** Returns by how much the weight of a client's tasks rises if it gets a copy in the place of another one. */
    final double measureChange(int copy, int place) {
        return (isFree(copy) ? 0 : loads.weight[copy]) - (isFree(place) ? 0 : loads.weight[place]);
    }

    @Override
    public final void take(int copy) {
        if (!isFree(copy)) {
            int from = active[copy];
            tasks.get(from).remove((Integer) copy);
            number[from]--;
            sums[from] -= loads.weight[copy];
        }
    }

    @Override
    public final void put(int copy, int to) {
        if (!isFree(copy)) {
            active[copy] = to;
            tasks.get(to).add(countLighter(tasks.get(to), loads.weight[copy]), copy);
            number[to]++;
            sums[to] += loads.weight[copy];
        }
    }
}
