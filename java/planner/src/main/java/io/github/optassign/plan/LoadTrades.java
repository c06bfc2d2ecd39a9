package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * The most loaded client trades at most two tasks for as many of another, until nothing is won. Sorting the sums of
 * that many tasks of each side finds the pair that comes nearest to equal loads. A client that finds no partner
 * {@link #handOver hands} its lightest task over once, so that many others take a part of what is too much.
 */
final class LoadTrades {

    private final Loads loads;
    private final int[] active;
    private final double[] sums;
    private final int[] number;
    private final List<List<Integer>> tasks = new ArrayList<>();
    /** Per client its small subsets, by their sums; null: to be made anew. */
    private final Subset[][] subsets;

    private final Random random = new Random(LoadPolicy.SEED);

    /** Up to two tasks; -1: none. */
    private record Subset(double sum, int first, int second) {
        int count() {
            return (first >= 0 ? 1 : 0) + (second >= 0 ? 1 : 0);
        }
    }

    private LoadTrades(Loads loads, int[] active, boolean[] movable) {
        this.loads = loads;
        this.active = active;
        sums = loads.sumUp(active);
        number = new int[sums.length];
        subsets = new Subset[sums.length][];
        for (int c = 0; c < sums.length; c++) {
            tasks.add(new ArrayList<>());
        }
        for (int t = 0; t < active.length; t++) {
            if (active[t] >= 0) {
                number[active[t]]++;
                if (movable[t] && !loads.oversized[t]) {
                    tasks.get(active[t]).add(t);
                }
            }
        }
    }

    /**
     * Trades tasks that may move until the greatest load is at most a level, or nothing is won; it never rises.
     *
     * @param active changed
     */
    static void evenOut(Loads loads, int[] active, boolean[] movable, double level) {
        new LoadTrades(loads, active, movable).run(level);
    }

    private void run(double level) {
        int[] open = IntStream.range(0, sums.length).filter(loads::isOpen).toArray();
        boolean[] takesPart = new boolean[sums.length];
        for (int c : open) {
            takesPart[c] = true;
        }
        int[] best = null;
        double least = Double.POSITIVE_INFINITY;
        for (int step = 0; step < LoadPolicy.TRADES && open.length > 1; step++) {
            int giver = findMostLoaded(open);
            if (load(giver) <= level) {
                return;
            }
            int[] others =
                    Arrays.stream(open).filter(c -> c != giver && takesPart[c]).toArray();
            if (trade(giver, choosePartners(others)) || trade(giver, chooseMany(others))) {
                continue;
            }
            if (load(giver) < least) {
                least = load(giver);
                best = active.clone();
            }
            if (!handOver(giver, takesPart)) {
                break;
            }
        }
        if (best != null && load(findMostLoaded(open)) > least) {
            System.arraycopy(best, 0, active, 0, best.length);
        }
    }

    private int findMostLoaded(int[] open) {
        int most = open[0];
        for (int c : open) {
            most = load(c) > load(most) ? c : most;
        }
        return most;
    }

    /** The lightest task goes to the least loaded client, which trades on with others; the giver takes part no more. */
    private boolean handOver(int giver, boolean[] takesPart) {
        if (!takesPart[giver] || tasks.get(giver).isEmpty() || number[giver] <= loads.leastNumber[giver]) {
            return false;
        }
        int task = Collections.min(
                tasks.get(giver),
                Comparator.comparingDouble((Integer t) -> loads.weight[t]).thenComparingInt(t -> t));
        takesPart[giver] = false;
        int partner = -1;
        for (int c = 0; c < sums.length; c++) {
            boolean isAble = takesPart[c] && tasks.get(c).size() > 2 && loads.fitsThread(task, c, load(giver));
            partner = isAble && (partner < 0 || load(c) < load(partner)) ? c : partner;
        }
        if (partner < 0) {
            return false;
        }
        move(new Subset(loads.weight[task], task, -1), giver, partner);
        subsets[giver] = null;
        subsets[partner] = null;
        return true;
    }

    private double load(int c) {
        return sums[c] / loads.size[c];
    }

    private int[] choosePartners(int[] others) {
        int[] byLoad = Arrays.stream(others)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer c) -> load(c)).thenComparingInt(c -> c))
                .mapToInt(c -> c)
                .toArray();
        if (byLoad.length <= 2 * LoadPolicy.PARTNERS) {
            return byLoad;
        }
        int[] chosen = Arrays.copyOf(byLoad, 2 * LoadPolicy.PARTNERS);
        for (int i = LoadPolicy.PARTNERS; i < chosen.length; i++) {
            chosen[i] = byLoad[LoadPolicy.PARTNERS + random.nextInt(byLoad.length - LoadPolicy.PARTNERS)];
        }
        return chosen;
    }

    private int[] chooseMany(int[] others) {
        return others.length <= LoadPolicy.MOST_PARTNERS
                ? others
                : random.ints(LoadPolicy.MOST_PARTNERS, 0, others.length)
                        .map(i -> others[i])
                        .toArray();
    }

    /** Makes the trade after which the more loaded of the two has least; false: none helps. */
    private boolean trade(int giver, int[] partners) {
        Subset[] own = list(giver);
        double best = load(giver) * (1 - LoadPolicy.LEAST_GAIN);
        Subset given = null;
        Subset taken = null;
        int partner = -1;
        for (int other : partners) {
            double sizes = loads.size[giver] + loads.size[other];
            double ideal = (sums[giver] * loads.size[other] - sums[other] * loads.size[giver]) / sizes;
            int at = 0;
            for (Subset theirs : list(other)) {
                while (at < own.length - 1 && own[at].sum < theirs.sum + ideal) {
                    at++;
                }
                for (int k = Math.max(0, at - 1); k <= at; k++) {
                    double moved = own[k].sum - theirs.sum;
                    double more = Math.max(
                            (sums[giver] - moved) / loads.size[giver], (sums[other] + moved) / loads.size[other]);
                    if (more < best && isAllowed(giver, own[k], other, theirs, best)) {
                        best = more;
                        given = own[k];
                        taken = theirs;
                        partner = other;
                    }
                }
            }
        }
        if (partner < 0) {
            return false;
        }
        move(given, giver, partner);
        move(taken, partner, giver);
        subsets[giver] = null;
        subsets[partner] = null;
        return true;
    }

    private boolean isAllowed(int giver, Subset given, int other, Subset taken, double level) {
        int less = given.count() - taken.count();
        return number[giver] - less >= Math.min(loads.leastNumber[giver], number[giver])
                && number[other] + less >= Math.min(loads.leastNumber[other], number[other])
                && fit(given, other, level)
                && fit(taken, giver, level);
    }

    private boolean fit(Subset subset, int c, double level) {
        return (subset.first < 0 || loads.fitsThread(subset.first, c, level))
                && (subset.second < 0 || loads.fitsThread(subset.second, c, level));
    }

    private Subset[] list(int c) {
        if (subsets[c] == null) {
            List<Integer> some = new ArrayList<>(tasks.get(c));
            some.sort(Comparator.comparingDouble((Integer t) -> loads.weight[t]).thenComparingInt(t -> t));
            if (some.size() > LoadPolicy.PAIRED_TASKS) {
                List<Integer> all = some;
                some = IntStream.range(0, LoadPolicy.PAIRED_TASKS)
                        .mapToObj(i -> all.get((int) ((long) i * (all.size() - 1) / (LoadPolicy.PAIRED_TASKS - 1))))
                        .toList();
            }
            List<Subset> found = new ArrayList<>();
            found.add(new Subset(0, -1, -1));
            for (int i = 0; i < some.size(); i++) {
                int t = some.get(i);
                found.add(new Subset(loads.weight[t], t, -1));
                for (int k = i + 1; k < some.size(); k++) {
                    found.add(new Subset(loads.weight[t] + loads.weight[some.get(k)], t, some.get(k)));
                }
            }
            subsets[c] = found.toArray(Subset[]::new);
            Arrays.sort(subsets[c], Comparator.comparingDouble(Subset::sum));
        }
        return subsets[c];
    }

    private void move(Subset subset, int from, int to) {
        for (int t : new int[] {subset.first, subset.second}) {
            if (t >= 0) {
                active[t] = to;
                tasks.get(from).remove((Integer) t);
                tasks.get(to).add(t);
                number[from]--;
                number[to]++;
                sums[from] -= loads.weight[t];
                sums[to] += loads.weight[t];
            }
        }
    }
}
