package io.github.optassign.plan;

import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A solver of {@link PairProblem}.
 *
 * <ol>
 *   <li>A {@link PairNetwork} chooses clients that tasks have arcs to. For the others it determines numbers: how many
 *       clients of each kind a task gets, and how many places a client has for tasks of each subtopology. If no flow
 *       keeps all bounds, bounds are soft, and the imbalance is least.
 *   <li>{@link #deal} gives clients with places to tasks.
 *   <li>If a task has every client with places left already (R2), {@link #dealExactly} chooses all clients of its
 *       subtopology again.
 * </ol>
 */
final class PairChooser {
    private final Snapshot snapshot;
    private final PairProblem problem;
    private final ClientKinds kinds;
    private final PairNetwork network;
    /** The clients chosen for each task so far, sorted. */
    private final int[][] chosen;
    /** The number of tasks that {@link #deal} gave to the second client while the first client already had them. */
    private final int[][] together;

    private PairChooser(Snapshot snapshot, PairProblem problem, ClientKinds kinds, PairNetwork network) {
        this.snapshot = snapshot;
        this.problem = problem;
        this.kinds = kinds;
        this.network = network;
        chosen = new int[snapshot.taskCount()][];
        Arrays.setAll(chosen, network::listChosen);
        together = new int[snapshot.clientCount()][snapshot.clientCount()];
    }

    /** Returns the chosen clients of each task, sorted, without the fixed clients of the problem. */
    static int[][] choose(Snapshot snapshot, PairProblem problem, ClientKinds kinds) {
        long pairs = (long) snapshot.taskCount() * snapshot.clientCount();
        boolean isSmall = pairs <= GreedyPolicy.KEEP_FROM;
        PairProblem rest = isSmall || problem.isSpread() ? problem : KeptPairs.fix(snapshot, problem);
        PairNetwork network = new PairNetwork(snapshot, rest, kinds, false);
        boolean isSolved = network.solve();
        if (!isSolved && rest != problem) {
            rest = problem;
            network = new PairNetwork(snapshot, rest, kinds, false);
            isSolved = network.solve();
        }
        if (!isSolved) {
            network = new PairNetwork(snapshot, rest, kinds, true);
            network.solve();
        }
        int[][] chosen = new PairChooser(snapshot, rest, kinds, network).dealAll();
        for (int t = 0; t < chosen.length && rest != problem; t++) {
            for (int c : rest.fixed()[t]) {
                boolean isKept = Arrays.binarySearch(problem.fixed()[t], c) < 0;
                chosen[t] = isKept ? Snapshot.union(chosen[t], c) : chosen[t];
            }
        }
        return chosen;
    }

    /** Deals all places and returns the clients of each task. */
    private int[][] dealAll() {
        for (int g = 0; g < snapshot.subtopologyCount(); g++) {
            boolean isDealt = true;
            for (int kind = 0; kind < kinds.kindCount(); kind++) {
                isDealt &= deal(g, kind);
            }
            if (!isDealt) {
                dealExactly(g);
            }
        }
        for (int t = 0; t < chosen.length; t++) {
            complete(t);
        }
        return chosen;
    }

    /** Deals a subtopology's places on clients of a kind to its tasks. Returns false if a task got too few clients. */
    private boolean deal(int g, int kind) {
        int[] places = new int[snapshot.clientCount()];
        long[] dealt = new long[places.length];
        List<Integer> open = new ArrayList<>();
        for (int c : kinds.clients()[kind]) {
            places[c] = network.countPlaces(g, c);
            if (places[c] > 0) {
                open.add(c);
            }
        }
        IntStream pooled = snapshot.tasksOf(g).filter(t -> network.countPooled(t, kind) > 0);
        Comparator<Integer> order = Comparator.comparingInt((Integer t) -> -network.countPooled(t, kind))
                .thenComparing((Integer t) -> !problem.costs().isAtOnce(t));
        boolean isDealt = true;
        for (int t : PlanningStep.sort(pooled, order)) {
            for (int i = network.countPooled(t, kind); i > 0; i--) {
                int best = findClient(t, places, dealt, open);
                if (best < 0) {
                    isDealt = false;
                    break;
                }
                for (int c : Snapshot.union(chosen[t], problem.fixed()[t])) {
                    together[c][best]++;
                }
                chosen[t] = Snapshot.union(chosen[t], best);
                dealt[best]++;
                if (--places[best] == 0) {
                    open.remove((Integer) best);
                }
            }
        }
        return isDealt;
    }

    /**
     * Returns the client to deal to a task, or -1 if no client may have it. Clients with the most places left, or one
     * place fewer, are candidates. The client is the candidate that shares the fewest tasks with the task's other
     * clients. So many clients take over when one dies. A task without clients that starts at once gets the least
     * crowded client of all {@code open}. Ties are broken by the least load of dealt tasks.
     */
    private int findClient(int t, int[] places, long[] dealt, List<Integer> open) {
        int most = 0;
        for (int c : open) {
            most = places[c] > most && mayDeal(t, c) ? places[c] : most;
        }
        int[] others = Snapshot.union(chosen[t], problem.fixed()[t]);
        boolean isAtOnce = others.length == 0 && problem.costs().isAtOnce(t);
        int best = -1;
        int least = 0;
        for (int c : open) {
            if ((isAtOnce || places[c] >= most - 1) && mayDeal(t, c)) {
                int shared = isAtOnce ? problem.costs().crowding(c) : 0;
                for (int other : others) {
                    shared += together[other][c];
                }
                if (best < 0
                        || shared < least
                        || (shared == least && snapshot.compareLoad(dealt[c], c, dealt[best], best) < 0)) {
                    best = c;
                    least = shared;
                }
            }
        }
        return best;
    }

    /** Returns whether a task may get a client through the pool, and does not have it yet. */
    private boolean mayDeal(int t, int c) {
        return network.isReachedByPool(t, c) && Arrays.binarySearch(chosen[t], c) < 0;
    }

    /** Chooses a subtopology's clients anew at the least cost, with the flow's number of tasks on each if possible. */
    private void dealExactly(int g) {
        int[] need = new int[chosen.length];
        int[][] columns = new int[need.length][0];
        long[] count = new long[snapshot.clientCount()];
        Arrays.setAll(count, c -> network.countPlaces(g, c));
        snapshot.tasksOf(g).forEach(t -> {
            need[t] = problem.need()[t];
            columns[t] = IntStream.range(0, count.length)
                    .filter(c -> network.costIfAllowed(t, c) < PairProblem.NEVER)
                    .toArray();
            Arrays.stream(network.listChosen(t)).forEach(c -> count[c]++);
        });
        Shares counts = new Shares(count, count);
        PairProblem again = new PairProblem(
                need,
                columns,
                new boolean[need.length],
                new int[need.length][0],
                problem.costs(),
                Collections.nCopies(snapshot.subtopologyCount(), counts).toArray(Shares[]::new),
                List.of(new PairProblem.Scope(counts, each -> true)),
                false);
        PairNetwork exact = new PairNetwork(snapshot, again, kinds, true);
        exact.solve();
        snapshot.tasksOf(g).forEach(t -> chosen[t] = exact.listChosen(t));
    }

    /** Adds the cheapest clients to a task that has too few, because a flow reached {@link GreedyPolicy#FLOW_WORK}. */
    private void complete(int t) {
        while (chosen[t].length < problem.need()[t]) {
            int[] taken = chosen[t];
            int best = IntStream.range(0, snapshot.clientCount())
                    .filter(c -> Arrays.binarySearch(taken, c) < 0)
                    .boxed()
                    .min(Comparator.comparingLong(c -> network.costIfAllowed(t, c)))
                    .orElseThrow();
            chosen[t] = Snapshot.union(taken, best);
        }
    }
}
