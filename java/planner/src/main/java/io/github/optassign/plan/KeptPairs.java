package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Keeps in large groups the pairs that save most, so that only the others are searched: one by one, the greatest saving
 * over a client without state first, while all counts have room. The sum of a family of counts limits how many are
 * filled above their lower bounds, so that the other counts can still reach their bounds.
 */
final class KeptPairs {
    private final Snapshot snapshot;
    private final PairChoice choice;
    private final long[][] inCell;
    private final long[][] inLevel;
    /** Per subtopology, and per level, how many pairs may still be above the lower bounds. */
    private final long[] surplusOfCells;

    private final long[] surplusOfLevels;

    /** A column of a task, and its saving over a client without state. */
    private record Saving(int task, int client, long cost) {}

    private KeptPairs(Snapshot snapshot, PairChoice choice) {
        this.snapshot = snapshot;
        this.choice = choice;
        int subtopologies = snapshot.subtopologyCount();
        inCell = new long[subtopologies][snapshot.clientCount()];
        inLevel = new long[choice.levels().size()][snapshot.clientCount()];
        surplusOfCells = new long[subtopologies];
        surplusOfLevels = new long[inLevel.length];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int g = snapshot.subtopology(t);
            int pairs = choice.need()[t] + choice.fixed()[t].length;
            surplusOfCells[g] += pairs;
            for (int level = 0; level < inLevel.length; level++) {
                surplusOfLevels[level] += choice.levels().get(level).counted()[g] ? pairs : 0;
            }
        }
        for (int g = 0; g < subtopologies; g++) {
            surplusOfCells[g] -= Arrays.stream(choice.cells()[g].low()).sum();
        }
        for (int level = 0; level < inLevel.length; level++) {
            surplusOfLevels[level] -=
                    Arrays.stream(choice.levels().get(level).bounds().low()).sum();
        }
    }

    /** Returns the choice of the remaining pairs; kept pairs are fixed. */
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
        int g = snapshot.subtopology(t);
        boolean hasRoom = hasRoom(choice.cells()[g], c, inCell[g][c], surplusOfCells[g]);
        for (int level = 0; level < inLevel.length && hasRoom; level++) {
            PairChoice.Level of = choice.levels().get(level);
            hasRoom = !of.counted()[g] || hasRoom(of.bounds(), c, inLevel[level][c], surplusOfLevels[level]);
        }
        return hasRoom;
    }

    private static boolean hasRoom(Shares bounds, int c, long count, long surplus) {
        return count < bounds.low()[c] || (count < bounds.high()[c] && surplus > 0);
    }

    private void add(int t, int c) {
        int g = snapshot.subtopology(t);
        surplusOfCells[g] -= inCell[g][c]++ < choice.cells()[g].low()[c] ? 0 : 1;
        for (int level = 0; level < inLevel.length; level++) {
            PairChoice.Level of = choice.levels().get(level);
            if (of.counted()[g]) {
                surplusOfLevels[level] -= inLevel[level][c]++ < of.bounds().low()[c] ? 0 : 1;
            }
        }
    }
}
