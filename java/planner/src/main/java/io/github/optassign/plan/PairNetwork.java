package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The minimum-cost flow of a {@link PairProblem}; a unit of flow is a pair.
 *
 * <p>Units go from a task to a cell, which is a subtopology on a client, through the client's scopes, innermost first,
 * to a sink. Clients of one kind without an arc of their own cost a task the same; their units go through a pool. Each
 * subtopology has a pool for each kind. {@link TagValues} makes the clients of a task differ in values of tags.
 */
final class PairNetwork {
    /** The first objective of the flow: the most rewards for values of tags, as negative costs. */
    static final int TAGS = 0;
    /** The second objective: the least imbalance. */
    private static final int BALANCE = 1;
    /** The third objective: the least costs of pairs. */
    private static final int COSTS = 2;

    private final Snapshot snapshot;
    private final PairProblem problem;
    private final PairProblem.Costs costs;
    private final ClientKinds kinds;
    private final boolean isSoft;
    private final MinCostFlow flow = new MinCostFlow();
    /** The number of clients. */
    private final int clients;
    /** The part of the network that makes clients of a task differ in values of tags. */
    private final TagValues values;
    /** Whether pairs are so few that each task with columns has an arc to all its clients, and uses no pool. */
    private final boolean isSmall;
    /** The clients that each task has an arc of its own to, sorted; {@link PairProblem#columns} may be others. */
    private final int[][] directClients;
    /** The arcs to these clients. */
    private final int[][] directArcs;
    /** How many clients of each kind each task gets through the pool. */
    private final int[][] pooled;
    /** The node of the pool of each subtopology and kind. */
    private final int[][] pool;
    /** How many tasks of each subtopology have an arc of their own to each client. */
    private final int[][] listed;
    /** How many tasks of each subtopology may get each client through the pool. */
    private final int[][] takers;
    /** The number of fixed pairs of each subtopology on each client. */
    private final int[][] given;
    /** The node of the cell of each subtopology on each client; -1 if there is no such node. */
    private final int[][] cell;
    /** The arc from the pool of each subtopology to each client; -1 if there is no such arc. */
    private final int[][] fromPool;
    /** The node of each scope on each client. */
    private final int[][] scopes;
    /** The innermost scope that includes each subtopology. */
    private final int[] innermost;

    private final List<Interchangeable> groups = new ArrayList<>();

    /** A task or interchangeable tasks, with the arc to the pool of each kind, or -1 if there is no such arc. */
    private record Interchangeable(List<Integer> tasks, int[] toPool) {}

    /**
     * Builds the network of a problem. Strict bounds must hold; soft bounds may be exceeded at the cost of the
     * imbalance (docs/reference/rules.md, "Imbalance").
     */
    PairNetwork(Snapshot snapshot, PairProblem problem, ClientKinds kinds, boolean isSoft) {
        this.snapshot = snapshot;
        this.problem = problem;
        this.kinds = kinds;
        this.isSoft = isSoft;
        costs = problem.costs();
        clients = snapshot.clientCount();
        int tasks = snapshot.taskCount();
        int subtopologies = snapshot.subtopologyCount();
        values = new TagValues(snapshot, problem, kinds, flow);
        isSmall = (long) tasks * clients <= GreedyPolicy.EXPLICIT_PAIRS;
        directClients = new int[tasks][0];
        directArcs = new int[tasks][];
        pooled = new int[tasks][kinds.kindCount()];
        pool = new int[subtopologies][kinds.kindCount()];
        listed = new int[subtopologies][clients];
        takers = new int[subtopologies][clients];
        given = new int[subtopologies][clients];
        cell = new int[subtopologies][clients];
        fromPool = new int[subtopologies][clients];
        scopes = new int[problem.scopes().size()][clients];
        innermost = new int[subtopologies];
        for (int g = 0; g < subtopologies; g++) {
            Arrays.setAll(pool[g], kind -> flow.addNode(0));
            Arrays.fill(cell[g], -1);
            Arrays.fill(fromPool[g], -1);
            while (!problem.scopes().get(innermost[g]).includes().test(g)) {
                innermost[g]++;
            }
        }
        for (int[] nodes : scopes) {
            Arrays.setAll(nodes, c -> flow.addNode(0));
        }
        for (int t = 0; t < tasks; t++) {
            storeColumns(t);
        }
        addCells();
        Map<List<Long>, List<Integer>> byKey = new LinkedHashMap<>();
        for (int t = 0; t < tasks; t++) {
            if (problem.need()[t] > 0) {
                values.addExpected(t);
                byKey.computeIfAbsent(describe(t), absent -> new ArrayList<>()).add(t);
            }
        }
        byKey.values().forEach(this::addTasks);
        addScopeArcs();
    }

    /** Computes the flow. Returns whether it keeps all bounds and earns the most {@link TagValues rewards} for tags. */
    boolean solve() {
        boolean isRouted = flow.solve(GreedyPolicy.FLOW_WORK);
        List<Integer> kindsInTurn = values.sortKinds();
        groups.forEach(group -> divide(group, kindsInTurn));
        return isRouted && values.hasMostRewards();
    }

    /** Returns the clients that a task gets by arcs of its own, sorted. */
    int[] listChosen(int t) {
        return IntStream.range(0, directClients[t].length)
                .filter(i -> flow.flow(directArcs[t][i]) > 0)
                .map(i -> directClients[t][i])
                .toArray();
    }

    /** Returns how many clients of a kind a task gets through the pool. */
    int countPooled(int t, int kind) {
        return pooled[t][kind];
    }

    /** Returns how many tasks of a subtopology a client gets through the pool: the places to deal. */
    int countPlaces(int g, int c) {
        return fromPool[g][c] < 0 ? 0 : (int) flow.flow(fromPool[g][c]);
    }

    /**
     * Returns whether a task may get a client through the pool: neither by an arc of its own, nor as a fixed client,
     * nor one that it may not get at all.
     */
    boolean isReachedByPool(int t, int c) {
        boolean isColumn = Arrays.binarySearch(problem.columns()[t], c) >= 0;
        return usesPools(t)
                && Arrays.binarySearch(problem.fixed()[t], c) < 0
                && Arrays.binarySearch(directClients[t], c) < 0
                && !(isColumn && costs.of(t, c) >= PairProblem.NEVER);
    }

    /** Returns the cost of a pair; {@link PairProblem#NEVER} if the client is fixed or may not be chosen. */
    long costIfAllowed(int t, int c) {
        boolean isColumn = Arrays.binarySearch(problem.columns()[t], c) >= 0;
        boolean isBarred = Arrays.binarySearch(problem.fixed()[t], c) >= 0 || (!isColumn && !problem.mayPool()[t]);
        return isBarred ? PairProblem.NEVER : costs.of(t, c);
    }

    /** Returns whether a task gets clients through pools: it may, and {@link #hasArcToEachClient} is false. */
    private boolean usesPools(int t) {
        return problem.mayPool()[t] && !hasArcToEachClient(t);
    }

    /** Returns whether a task has arcs of its own to all its clients: the network is small, and it has columns. */
    private boolean hasArcToEachClient(int t) {
        return isSmall && problem.columns()[t].length > 0;
    }

    /** Returns a client of a kind that a task may get through the pool, or -1 if there is none. */
    private int findPoolClient(int t, int kind) {
        if (!usesPools(t)) {
            return -1;
        }
        for (int c : kinds.clients()[kind]) {
            if (Arrays.binarySearch(problem.columns()[t], c) < 0 && Arrays.binarySearch(problem.fixed()[t], c) < 0) {
                return c;
            }
        }
        return -1;
    }

    /** Stores the allowed clients that differ in cost from the pool of their kind, and counts pairs by cell. */
    private void storeColumns(int t) {
        int g = snapshot.subtopology(t);
        for (int c : problem.fixed()[t]) {
            given[g][c]++;
        }
        if (problem.need()[t] == 0) {
            return;
        }
        boolean isAll = hasArcToEachClient(t) && problem.mayPool()[t];
        int[] some = isAll ? IntStream.range(0, clients).toArray() : problem.columns()[t];
        int[] found = new int[some.length];
        int count = 0;
        for (int c : some) {
            int other = findPoolClient(t, kinds.ofClient()[c]);
            boolean isLikeOther = other >= 0 && costs.of(t, c) == costs.of(t, other);
            if (!isLikeOther && costIfAllowed(t, c) < PairProblem.NEVER) {
                found[count++] = c;
                listed[g][c]++;
            }
        }
        directClients[t] = Arrays.copyOf(found, count);
        for (int c = 0; c < clients && usesPools(t); c++) {
            takers[g][c]++;
        }
        for (int c : Snapshot.union(problem.columns()[t], problem.fixed()[t])) {
            takers[g][c] -= usesPools(t) && !isReachedByPool(t, c) ? 1 : 0;
        }
    }

    /** Returns a key of a task. Tasks with equal keys are interchangeable: their costs differ by a constant only. */
    private List<Long> describe(int t) {
        if (directClients[t].length > 0 || !usesPools(t)) {
            return List.of((long) t);
        }
        List<Long> facts = new ArrayList<>(List.of((long) snapshot.subtopology(t), (long) problem.need()[t]));
        Arrays.stream(problem.fixed()[t]).map(c -> kinds.ofClient()[c]).sorted().forEach(k -> facts.add((long) k));
        long[] ofKinds = IntStream.range(0, kinds.kindCount())
                .map(kind -> findPoolClient(t, kind))
                .mapToLong(c -> c < 0 ? PairProblem.NEVER : costs.of(t, c))
                .toArray();
        long least = Arrays.stream(ofKinds).min().orElse(0);
        Arrays.stream(ofKinds).forEach(cost -> facts.add(cost - least));
        return facts;
    }

    /** Adds the node and arcs of interchangeable tasks; {@link #divide} later divides their flow among them. */
    private void addTasks(List<Integer> tasks) {
        int t = tasks.get(0);
        int g = snapshot.subtopology(t);
        int need = problem.need()[t];
        int node = flow.addNode((long) need * tasks.size());
        directArcs[t] = new int[directClients[t].length];
        for (int i = 0; i < directClients[t].length; i++) {
            int c = directClients[t][i];
            int from = values.addPath(t, node, c, 1);
            boolean isCrowdingCost = Arrays.binarySearch(problem.columns()[t], c) < 0 && costs.isAtOnce(t);
            long cost = costs.of(t, c) + (isCrowdingCost ? costs.crowding(c) : 0);
            directArcs[t][i] = flow.addArc(from, cell[g][c], 0, 1, COSTS, cost);
        }
        int[] toPool = new int[kinds.kindCount()];
        for (int i = 0; i < toPool.length; i++) {
            int kind = kindInOrder(t, i);
            int other = findPoolClient(t, kind);
            toPool[kind] = -1;
            if (other >= 0) {
                int from = values.addPath(t, node, other, tasks.size());
                long most = (long) tasks.size() * Math.min(need, countNotFixed(t, kind));
                toPool[kind] = flow.addArc(from, pool[g][kind], 0, most, COSTS, costs.of(t, other));
            }
        }
        groups.add(new Interchangeable(tasks, toPool));
    }

    /**
     * Returns the {@code i}-th kind to try for a task. The order depends on its subtopology and its first fixed client:
     * the first of equal arcs is filled first, so different orders spread tasks over kinds.
     */
    private int kindInOrder(int t, int i) {
        int[] fixed = problem.fixed()[t];
        int before = fixed.length > 0 ? kinds.ofClient()[fixed[0]] : 0;
        return (before + 1 + snapshot.subtopology(t) + i) % kinds.kindCount();
    }

    /** Returns how many clients of a kind are no fixed clients of a task. */
    private int countNotFixed(int t, int kind) {
        int count = kinds.clients()[kind].length;
        for (int c : problem.fixed()[t]) {
            count -= kinds.ofClient()[c] == kind ? 1 : 0;
        }
        return count;
    }

    /** Divides each kind's flow among interchangeable tasks in turn, so that each gets different values of tags. */
    private void divide(Interchangeable group, List<Integer> kindsInTurn) {
        int next = 0;
        for (int kind : kindsInTurn) {
            long units = group.toPool[kind] < 0 ? 0 : flow.flow(group.toPool[kind]);
            for (; units > 0; units--) {
                pooled[group.tasks.get(next++ % group.tasks.size())][kind]++;
            }
        }
    }

    private void addCells() {
        for (int g = 0; g < cell.length; g++) {
            // With tags, subtopologies begin with different clients, so that few tasks have to change their zone.
            int first = snapshot.tagCount() > 0 ? snapshot.firstTask(g) : 0;
            for (int i = 0; i < clients; i++) {
                int c = (first + i) % clients;
                if (listed[g][c] > 0 || takers[g][c] > 0) {
                    addCell(g, c);
                }
            }
        }
    }

    /** Adds a cell with bounds less fixed pairs; it is a single arc if strict and if only the pool leads to it. */
    private void addCell(int g, int c) {
        long least = problem.cells()[g].low()[c] - given[g][c];
        long most = problem.cells()[g].high()[c] - given[g][c];
        int scopeNode = scopes[innermost[g]][c];
        int from = pool[g][kinds.ofClient()[c]];
        int crowding = costs.crowding(c);
        if (listed[g][c] == 0 && !isSoft) {
            long upTo = Math.max(0, Math.max(least, Math.min(most, takers[g][c])));
            fromPool[g][c] = flow.addArc(from, scopeNode, Math.max(0, least), upTo, COSTS, crowding);
            return;
        }
        cell[g][c] = flow.addNode(0);
        addBounded(cell[g][c], scopeNode, least, most, listed[g][c] + takers[g][c]);
        if (takers[g][c] > 0) {
            fromPool[g][c] = flow.addArc(from, cell[g][c], 0, takers[g][c], COSTS, crowding);
        }
    }

    /** Adds arcs for a flow within bounds, which fixed pairs may make negative; at most {@code reach} units arrive. */
    private void addBounded(int from, int to, long least, long most, long reach) {
        if (!isSoft) {
            flow.addArc(from, to, Math.max(0, least), Math.max(0, Math.max(least, most)), 0);
            return;
        }
        long width = 1;
        for (long distance = 1; distance <= least; distance += width) {
            width = findWidth(distance);
            flow.addArc(from, to, 0, Math.min(width, least - distance + 1), BALANCE, -distance);
        }
        if (most > Math.max(0, least)) {
            flow.addArc(from, to, 0, most - Math.max(0, least), 0);
        }
        for (long distance = Math.max(0, -most) + 1; distance <= reach - most; distance += width) {
            width = findWidth(distance);
            flow.addArc(from, to, 0, width, BALANCE, distance);
        }
    }

    /** Returns the capacity of the arc at a distance from the bounds: 1 nearby, and half the distance farther away. */
    private static long findWidth(long distance) {
        return distance <= GreedyPolicy.EXACT_DISTANCE ? 1 : distance / 2;
    }

    /** Adds the arcs from each scope to the next and from the last to the sink, with bounds less fixed pairs. */
    private void addScopeArcs() {
        long total = Arrays.stream(problem.need()).asLongStream().sum();
        int sink = flow.addNode(-total);
        for (int i = 0; i < scopes.length; i++) {
            PairProblem.Scope scope = problem.scopes().get(i);
            long[] held = new long[clients];
            for (int g = 0; g < given.length; g++) {
                for (int c = 0; c < clients && scope.includes().test(g); c++) {
                    held[c] += given[g][c];
                }
            }
            for (int c = 0; c < clients; c++) {
                int next = i + 1 < scopes.length ? scopes[i + 1][c] : sink;
                long least = scope.bounds().low()[c] - held[c];
                addBounded(scopes[i][c], next, least, scope.bounds().high()[c] - held[c], total);
            }
        }
    }
}
