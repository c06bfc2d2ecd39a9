package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Chooses the pairs of a {@link PairChoice}.
 *
 * <ol>
 *   <li>A {@link PairNetwork} chooses columns, and says how many clients of each kind a task gets and how many tasks of
 *       a subtopology each client gets. If no flow keeps all bounds, they give way by the least imbalance.
 *   <li>{@link #deal} gives these places to tasks.
 *   <li>If some task can take no place (R2), {@link #dealExactly} chooses all clients of its subtopology anew.
 * </ol>
 */
final class PairChooser {
    private final Snapshot snapshot;
    private final PairChoice choice;
    private final ClientKinds kinds;
    private final PairNetwork network;
    /** Per task its clients so far, sorted. */
    private final int[][] chosen;
    /** Per two clients the number of dealt tasks that both have. */
    private final int[][] together;

    private PairChooser(Snapshot snapshot, PairChoice choice, ClientKinds kinds, PairNetwork network) {
        this.snapshot = snapshot;
        this.choice = choice;
        this.kinds = kinds;
        this.network = network;
        chosen = new int[snapshot.taskCount()][];
        Arrays.setAll(chosen, network::listChosen);
        together = new int[snapshot.clientCount()][snapshot.clientCount()];
    }

    /** Chooses clients. @return per task its clients without the fixed ones, sorted */
    static int[][] choose(Snapshot snapshot, PairChoice choice, ClientKinds kinds) {
        long pairs = (long) snapshot.taskCount() * snapshot.clientCount();
        boolean isSmall = pairs <= GreedyPolicy.KEEP_FROM;
        PairChoice rest = isSmall || TagValues.matter(choice, kinds) ? choice : KeptPairs.fix(snapshot, choice);
        PairNetwork network = new PairNetwork(snapshot, rest, kinds, false);
        boolean isSolved = network.solve();
        if (!isSolved && rest != choice) {
            rest = choice;
            network = new PairNetwork(snapshot, rest, kinds, false);
            isSolved = network.solve();
        }
        if (!isSolved) {
            network = new PairNetwork(snapshot, rest, kinds, true);
            network.solve();
        }
        int[][] chosen = new PairChooser(snapshot, rest, kinds, network).deal();
        for (int t = 0; t < chosen.length && rest != choice; t++) {
            for (int c : rest.fixed()[t]) {
                boolean isKept = Arrays.binarySearch(choice.fixed()[t], c) < 0;
                chosen[t] = isKept ? Snapshot.and(chosen[t], c) : chosen[t];
            }
        }
        return chosen;
    }

    private int[][] deal() {
        for (int g = 0; g < snapshot.subtopologyCount(); g++) {
            boolean isDealt = true;
            for (int kind = 0; kind < kinds.count(); kind++) {
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

    /** Deals the places on clients of a kind, tasks with several first. @return whether each task has its clients */
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
        IntStream pooled = IntStream.range(snapshot.firstTask(g), snapshot.firstTask(g + 1))
                .filter(t -> network.countPooled(t, kind) > 0);
        Comparator<Integer> order = Comparator.comparingInt((Integer t) -> -network.countPooled(t, kind))
                .thenComparing((Integer t) -> !choice.costs().isAtOnce(t));
        boolean isDealt = true;
        for (int t : PlanningStep.sort(pooled, order)) {
            for (int i = network.countPooled(t, kind); i > 0; i--) {
                int best = findPlace(t, places, dealt, open);
                if (best < 0) {
                    isDealt = false;
                    break;
                }
                for (int c : Snapshot.and(chosen[t], choice.fixed()[t])) {
                    together[c][best]++;
                }
                chosen[t] = Snapshot.and(chosen[t], best);
                dealt[best]++;
                if (--places[best] == 0) {
                    open.remove((Integer) best);
                }
            }
        }
        return isDealt;
    }

    /**
     * Returns a client for a task: one with the most places or one less, of these the client that shares the fewest
     * tasks with the task's other clients, so that many clients take over when one dies. @return -1 if no client may
     * have the task
     */
    private int findPlace(int t, int[] places, long[] dealt, List<Integer> open) {
        int most = 0;
        for (int c : open) {
            most = places[c] > most && isFree(t, c) ? places[c] : most;
        }
        int[] others = Snapshot.and(chosen[t], choice.fixed()[t]);
        boolean isAtOnce = others.length == 0 && choice.costs().isAtOnce(t);
        int best = -1;
        int least = 0;
        for (int c : open) {
            if ((isAtOnce || places[c] >= most - 1) && isFree(t, c)) {
                int shared = isAtOnce ? choice.costs().crowding(c) : 0;
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

    private boolean isFree(int t, int c) {
        return network.mayPool(t, c) && Arrays.binarySearch(chosen[t], c) < 0;
    }

    /** Chooses the clients of a subtopology anew: at least cost, with the network's number of tasks per client. */
    private void dealExactly(int g) {
        int first = snapshot.firstTask(g);
        int end = snapshot.firstTask(g + 1);
        int clients = snapshot.clientCount();
        int[] count = new int[clients];
        MinCostFlow flow = new MinCostFlow();
        int[] clientNode = new int[clients];
        for (int c = 0; c < clients; c++) {
            count[c] = network.countPlaces(g, c);
            clientNode[c] = flow.addNode(0);
        }
        int total = 0;
        int[][] arcs = new int[end - first][clients];
        for (int t = first; t < end; t++) {
            for (int c : network.listChosen(t)) {
                count[c]++;
            }
            int need = choice.need()[t];
            total += need;
            int node = flow.addNode(need);
            for (int c = 0; c < clients; c++) {
                long cost = network.findCost(t, c);
                arcs[t - first][c] =
                        cost < PairChoice.NEVER ? flow.addArc(node, clientNode[c], 0, 1, Bounds.COSTS, cost) : -1;
            }
        }
        int sink = flow.addNode(-total);
        for (int c = 0; c < clients; c++) {
            flow.addArc(clientNode[c], sink, 0, count[c], 0);
            flow.addArc(clientNode[c], sink, 0, 1, Bounds.BALANCE, 1);
            flow.addArc(clientNode[c], sink, 0, total, Bounds.BALANCE, 2);
        }
        flow.solve(GreedyPolicy.FLOW_WORK);
        for (int t = first; t < end; t++) {
            int[] ofTask = arcs[t - first];
            chosen[t] = IntStream.range(0, clients)
                    .filter(c -> ofTask[c] >= 0 && flow.flow(ofTask[c]) > 0)
                    .toArray();
        }
    }

    /** Adds the cheapest clients to a task if the flow's bound on work left it short. */
    private void complete(int t) {
        while (chosen[t].length < choice.need()[t]) {
            int[] taken = chosen[t];
            int best = IntStream.range(0, snapshot.clientCount())
                    .filter(c -> Arrays.binarySearch(taken, c) < 0)
                    .boxed()
                    .min(Comparator.comparingLong(c -> network.findCost(t, c)))
                    .orElseThrow();
            chosen[t] = Snapshot.and(taken, best);
        }
    }
}
