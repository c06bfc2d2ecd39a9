package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Keeps in large groups the pairs that save most, so that only the others are searched: one by one, the greatest saving
 * over a client without state first, while all counts have room. The sum of a family of counts limits how many are
 * filled above their lower bounds, so that the other counts can still reach their bounds.
 */
final class KeptPairs {
    private final Snapshot snapshot;
    private final PairChoice choice;
    /** Per subtopology the counts of its pairs: alone, and within each level that counts it. */
    private final List<List<Counts>> counts = new ArrayList<>();

    /** The counts of one family, one for each client. */
    private static final class Counts {
        private final Shares bounds;
        private final long[] count;
        /** How many pairs may still be above the lower bounds. */
        private long surplus;

        Counts(Shares bounds, long pairs) {
            this.bounds = bounds;
            count = new long[bounds.low().length];
            surplus = pairs - Arrays.stream(bounds.low()).sum();
        }

        boolean hasRoom(int c) {
            return count[c] < bounds.low()[c] || (count[c] < bounds.high()[c] && surplus > 0);
        }

        void add(int c) {
            surplus -= count[c] < bounds.low()[c] ? 0 : 1;
            count[c]++;
        }
    }

    /** A column of a task, and its saving over a client without state. */
    private record Saving(int task, int client, long cost) {}

    private KeptPairs(Snapshot snapshot, PairChoice choice) {
        this.snapshot = snapshot;
        this.choice = choice;
        long[] pairs = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            pairs[snapshot.subtopology(t)] += choice.need()[t] + choice.fixed()[t].length;
        }
        for (int g = 0; g < pairs.length; g++) {
            counts.add(new ArrayList<>(List.of(new Counts(choice.cells()[g], pairs[g]))));
        }
        for (PairChoice.Level level : choice.levels()) {
            int[] counted =
                    IntStream.range(0, pairs.length).filter(level.counts()).toArray();
            Counts all = new Counts(
                    level.bounds(),
                    Arrays.stream(counted).mapToLong(g -> pairs[g]).sum());
            Arrays.stream(counted).forEach(g -> counts.get(g).add(all));
        }
    }

    /** Returns the choice with the kept pairs as fixed ones, and the needs reduced by them. */
    static PairChoice fix(Snapshot snapshot, PairChoice choice) {
        KeptPairs kept = new KeptPairs(snapshot, choice);
        int[][] fixed = choice.fixed().clone();
        int[] need = choice.need().clone();
        for (int t = 0; t < need.length; t++) {
            for (int c : fixed[t]) {
                kept.add(t, c);
            }
        }
        for (Saving saving : kept.listSavings()) {
            int t = saving.task;
            if (need[t] > 0 && kept.hasRoom(t, saving.client)) {
                kept.add(t, saving.client);
                fixed[t] = Snapshot.and(fixed[t], saving.client);
                need[t]--;
            }
        }
        return choice.with(need, fixed);
    }

    private Saving[] listSavings() {
        return IntStream.range(0, snapshot.taskCount())
                .filter(t -> choice.need()[t] > 0 && choice.mayPool()[t])
                .boxed()
                .flatMap(t -> {
                    int other = snapshot.poolClient(t);
                    long without = other < 0 ? 0 : findCost(t, other);
                    return Arrays.stream(choice.columns()[t])
                            .filter(c -> Arrays.binarySearch(choice.fixed()[t], c) < 0)
                            .mapToObj(c -> new Saving(t, c, findCost(t, c) - without))
                            .filter(saving -> saving.cost < 0);
                })
                .sorted(Comparator.comparingLong(Saving::cost))
                .toArray(Saving[]::new);
    }

    private long findCost(int t, int c) {
        long cost = choice.costs().of(t, c);
        return choice.costs().isTied(t, c) ? cost + choice.costs().beyond(t, c) : cost;
    }

    private boolean hasRoom(int t, int c) {
        return counts.get(snapshot.subtopology(t)).stream().allMatch(each -> each.hasRoom(c));
    }

    private void add(int t, int c) {
        counts.get(snapshot.subtopology(t)).forEach(each -> each.add(c));
    }
}
