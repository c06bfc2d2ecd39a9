package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A greedy reduction of a {@link PairProblem} for a large group: the pairs that save most are kept, and only the others
 * are searched for. Pairs are kept in the order of their saving over a client without state, the greatest first, as
 * long as no count exceeds its upper bound. Only a limited number of pairs may exceed lower bounds, so that all counts
 * can still reach their lower bounds.
 */
final class KeptPairs {
    private final Snapshot snapshot;
    private final PairProblem problem;
    /** The counts that the pairs of each subtopology belong to: its cells, and each scope that includes it. */
    private final List<List<Counts>> counts = new ArrayList<>();

    /** The number of pairs on each client, of one subtopology or of one scope. */
    private static final class Counts {
        private final Shares bounds;
        private final long[] count;
        /** How many more pairs may be kept on clients that have reached their lower bounds. */
        private long surplus;

        /** Creates counts that are 0; a solution has {@code pairs} pairs on all clients together. */
        Counts(Shares bounds, long pairs) {
            this.bounds = bounds;
            count = new long[bounds.low().length];
            surplus = pairs - Arrays.stream(bounds.low()).sum();
        }

        /** Returns whether a client may get a pair: up to its lower bound, or up to its upper bound by surplus. */
        boolean hasRoom(int c) {
            return count[c] < bounds.low()[c] || (count[c] < bounds.high()[c] && surplus > 0);
        }

        void add(int c) {
            surplus -= count[c] < bounds.low()[c] ? 0 : 1;
            count[c]++;
        }
    }

    /** A task, one of its columns, and what that client costs less than a client without state. */
    private record Saving(int task, int client, long saved) {}

    private KeptPairs(Snapshot snapshot, PairProblem problem) {
        this.snapshot = snapshot;
        this.problem = problem;
        long[] pairs = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            pairs[snapshot.subtopology(t)] += problem.need()[t] + problem.fixed()[t].length;
        }
        for (int g = 0; g < pairs.length; g++) {
            counts.add(new ArrayList<>(List.of(new Counts(problem.cells()[g], pairs[g]))));
        }
        for (PairProblem.Scope scope : problem.scopes()) {
            int[] included =
                    IntStream.range(0, pairs.length).filter(scope.includes()).toArray();
            Counts all = new Counts(
                    scope.bounds(),
                    Arrays.stream(included).mapToLong(g -> pairs[g]).sum());
            Arrays.stream(included).forEach(g -> counts.get(g).add(all));
        }
    }

    /** Returns a problem in which kept pairs are fixed, and each task's need is less by its number of kept pairs. */
    static PairProblem fix(Snapshot snapshot, PairProblem problem) {
        KeptPairs kept = new KeptPairs(snapshot, problem);
        int[][] fixed = problem.fixed().clone();
        int[] need = problem.need().clone();
        for (int t = 0; t < need.length; t++) {
            for (int c : fixed[t]) {
                kept.add(t, c);
            }
        }
        for (Saving saving : kept.listSavings()) {
            int t = saving.task;
            if (need[t] > 0 && kept.hasRoom(t, saving.client)) {
                kept.add(t, saving.client);
                fixed[t] = Snapshot.union(fixed[t], saving.client);
                need[t]--;
            }
        }
        return problem.with(need, fixed);
    }

    /** Returns the pairs with a saving, by falling saving. */
    private Saving[] listSavings() {
        return snapshot.tasks()
                .filter(t -> problem.need()[t] > 0 && problem.mayPool()[t])
                .boxed()
                .flatMap(t -> {
                    int other = snapshot.poolClient(t);
                    long without = other < 0 ? 0 : problem.costs().of(t, other);
                    return Arrays.stream(problem.columns()[t])
                            .filter(c -> Arrays.binarySearch(problem.fixed()[t], c) < 0)
                            .mapToObj(c ->
                                    new Saving(t, c, without - problem.costs().of(t, c)))
                            .filter(saving -> saving.saved > 0);
                })
                .sorted(Comparator.comparingLong((Saving saving) -> -saving.saved))
                .toArray(Saving[]::new);
    }

    /** Returns whether all counts that a pair belongs to have room for it. */
    private boolean hasRoom(int t, int c) {
        return counts.get(snapshot.subtopology(t)).stream().allMatch(each -> each.hasRoom(c));
    }

    /** Adds a pair to all counts that it belongs to; the caller stores the pair. */
    private void add(int t, int c) {
        counts.get(snapshot.subtopology(t)).forEach(each -> each.add(c));
    }
}
