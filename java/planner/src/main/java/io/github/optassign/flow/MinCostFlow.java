package io.github.optassign.flow;

import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A solver for minimum-cost flow with integer data and several objectives, by the primal network simplex method.
 *
 * <p>Each arc has a cost in one objective. Objectives are minimised lexicographically: each among the flows that are
 * optimal for the objectives before it. A flow is optimal if and only if arcs with a reduced cost other than 0 are at
 * their bounds (complementary slackness). So such arcs never enter the basis again.
 *
 * <p>The basis is a spanning tree that stays strongly feasible, so that the method ends; entering arcs are found by
 * block search (Ahuja, Magnanti, Orlin, Network Flows, ch. 11; Király and Kovács, Efficient implementations of
 * minimum-cost flow algorithms, 2012). The result depends on the order of nodes and arcs only.
 *
 * <p>Costs times the number of nodes must stay below 2<sup>62</sup> in absolute value.
 */
public final class MinCostFlow {
    private static final int NONE = -1;
    /** The state of an arc that is in the tree or may never enter it again. */
    private static final byte CANNOT_ENTER = 0;

    private static final byte AT_LOWER = 1;
    private static final byte AT_UPPER = -1;
    int nodes;
    int arcs;
    private long[] supply = new long[16];
    int[] source = new int[64];
    int[] target = new int[64];
    private long[] low = new long[64];
    /** The greatest flow of each arc above its lower bound. */
    long[] capacity = new long[64];

    private long[] cost = new long[64];
    /** The objective that each arc's cost belongs to. */
    private byte[] objective = new byte[64];

    private int objectives = 1;
    /** The cost of each arc in the objective that is being minimised; 0 for costs of other objectives. */
    private long[] costNow;
    /** The flow of each arc above its lower bound. */
    long[] flow = new long[64];

    /** How each arc may enter the tree: {@link #AT_LOWER}, {@link #AT_UPPER} or {@link #CANNOT_ENTER}. */
    private byte[] state;

    private Tree tree;
    private long[] potential;
    /** The arc at which the next block search starts. */
    private int nextArc;

    private long work;

    /** Adds a node and returns its number, counted from 0. A supply below 0 is a demand. */
    public int addNode(long itsSupply) {
        if (nodes == supply.length) {
            supply = Arrays.copyOf(supply, 2 * nodes);
        }
        supply[nodes] = itsSupply;
        return nodes++;
    }

    /** Adds an arc with a cost in objective 0; see {@link #addArc(int, int, long, long, int, long)}. */
    public int addArc(int from, int to, long least, long most, long unitCost) {
        return addArc(from, to, least, most, 0, unitCost);
    }

    /**
     * Adds an arc.
     *
     * @param least the least flow, at least 0
     * @param most the greatest flow, at least {@code least}
     * @param itsObjective the objective that the cost belongs to; objective 0 is minimised first
     * @param unitCost the cost of each unit of flow
     * @return the number of the arc, counted from 0
     */
    public int addArc(int from, int to, long least, long most, int itsObjective, long unitCost) {
        if (arcs == source.length) {
            grow(2 * arcs);
        }
        source[arcs] = from;
        target[arcs] = to;
        low[arcs] = least;
        capacity[arcs] = most - least;
        objective[arcs] = (byte) itsObjective;
        objectives = Math.max(objectives, itsObjective + 1);
        cost[arcs] = unitCost;
        return arcs++;
    }

    private void grow(int length) {
        source = Arrays.copyOf(source, length);
        target = Arrays.copyOf(target, length);
        low = Arrays.copyOf(low, length);
        capacity = Arrays.copyOf(capacity, length);
        cost = Arrays.copyOf(cost, length);
        objective = Arrays.copyOf(objective, length);
        flow = Arrays.copyOf(flow, length);
    }

    /** Returns the flow of an arc, as found by {@link #solve}. */
    public long flow(int arc) {
        return low[arc] + flow[arc];
    }

    /** Returns the number of arcs and tree nodes examined so far. */
    public long work() {
        return work;
    }

    /**
     * Computes a flow of least cost that keeps all bounds and routes the supply of all nodes.
     *
     * @param mostWork the greatest number of arcs and tree nodes to examine; beyond it, the flow may not be optimal
     * @return whether the flow routes the whole supply; if not, no flow does or {@code mostWork} was reached
     */
    public boolean solve(long mostWork) {
        long[] missing = Arrays.copyOf(supply, nodes);
        for (int arc = 0; arc < arcs; arc++) {
            missing[source[arc]] -= low[arc];
            missing[target[arc]] += low[arc];
        }
        Arrays.fill(flow, 0, arcs, 0);
        FirstFlow first = new FirstFlow(this);
        work += first.send(missing, mostWork);
        if (Arrays.stream(missing).anyMatch(units -> units != 0)) {
            return false;
        }
        takeTree(first.makeTree());
        boolean isOptimal = true;
        for (int next = 0; next < objectives && isOptimal; next++) {
            isOptimal = minimise(next, mostWork);
        }
        return true;
    }

    /** Minimises an objective and keeps its value from now on. Returns false if {@code mostWork} ends the search. */
    private boolean minimise(int itsObjective, long mostWork) {
        if (IntStream.range(0, arcs).noneMatch(arc -> objective[arc] == itsObjective && cost[arc] != 0)) {
            return true;
        }
        updatePotentials(itsObjective);
        int entering = findEntering();
        while (entering != NONE && work < mostWork) {
            pivot(entering);
            entering = findEntering();
        }
        for (int arc = 0; arc < arcs; arc++) {
            state[arc] = reducedCost(arc) != 0 ? CANNOT_ENTER : state[arc];
        }
        return entering == NONE;
    }

    /** Makes an objective the current one, and computes the potentials of all nodes for it. */
    private void updatePotentials(int itsObjective) {
        Arrays.setAll(costNow, arc -> objective[arc] == itsObjective ? cost[arc] : 0);
        for (int root = 0; root < nodes; root++) {
            for (int node = tree.parent[root] < 0 ? root : NONE; node != NONE; node = tree.next[node]) {
                int arc = tree.arc[node];
                if (node != root) {
                    potential[node] =
                            potential[tree.parent[node]] + (source[arc] == node ? -costNow[arc] : costNow[arc]);
                }
            }
        }
        work += nodes;
    }

    private long reducedCost(int arc) {
        return costNow[arc] + potential[source[arc]] - potential[target[arc]];
    }

    /** Compares the costs of two arcs as vectors with an entry per objective, the first objective first. */
    int compare(int arc, int other) {
        int first = Math.min(objective[arc], objective[other]);
        int order = Long.compare(objective[arc] == first ? cost[arc] : 0, objective[other] == first ? cost[other] : 0);
        return order != 0 || objective[arc] == objective[other]
                ? order
                : Long.compare(objective[arc] == first ? 0 : cost[arc], objective[other] == first ? 0 : cost[other]);
    }

    /**
     * Starts from a basis. An arc between two of its trees is on no cycle of arcs with room, so it never enters. Pivots
     * bring the other arcs outside the trees to a bound.
     */
    private void takeTree(Tree basis) {
        tree = basis;
        potential = new long[nodes];
        costNow = new long[arcs];
        state = new byte[arcs];
        updatePotentials(0);
        work += arcs;
        int[] root = tree.listRoots(); // pivots never change which nodes form a tree
        for (int arc = 0; arc < arcs; arc++) {
            int from = source[arc];
            int to = target[arc];
            boolean isInTree = tree.arc[from] == arc || tree.arc[to] == arc;
            if (!isInTree && root[from] == root[to]) {
                boolean isBetween = flow[arc] > 0 && flow[arc] < capacity[arc];
                state[arc] = flow[arc] > 0 && (!isBetween || reducedCost(arc) > 0) ? AT_UPPER : AT_LOWER;
                if (isBetween) {
                    pivot(arc);
                }
            }
        }
    }

    /** Returns the arc that violates optimality most in the first block with a violating arc; -1 if optimal. */
    private int findEntering() {
        int block = (int) Math.max(GreedyPolicy.FLOW_BLOCK, Math.sqrt(arcs));
        int best = NONE;
        long least = 0;
        int left = block;
        for (int i = 0; i < arcs; i++) {
            int arc = nextArc;
            nextArc = nextArc + 1 < arcs ? nextArc + 1 : 0;
            long reduced = state[arc] == CANNOT_ENTER ? 0 : state[arc] * reducedCost(arc);
            if (reduced < least) {
                least = reduced;
                best = arc;
            }
            if (--left == 0) {
                if (best != NONE) {
                    work += i;
                    return best;
                }
                left = block;
            }
        }
        work += arcs;
        return best;
    }

    /** Augments the flow along the cycle that the entering arc closes in the tree, and updates the tree. */
    private void pivot(int entering) {
        boolean isForward = state[entering] == AT_LOWER;
        int first = isForward ? source[entering] : target[entering];
        int second = isForward ? target[entering] : source[entering];
        int join = tree.findJoin(first, second);
        int[] parent = tree.parent;
        int[] treeArc = tree.arc;
        long delta = isForward ? capacity[entering] - flow[entering] : flow[entering];
        int leaving = NONE; // the node below the leaving arc
        boolean isBelowFirst = false;
        for (int node = first; node != join && delta > 0; node = parent[node]) {
            int arc = treeArc[node];
            long room = source[arc] == node ? flow[arc] : capacity[arc] - flow[arc];
            if (room < delta) {
                delta = room;
                leaving = node;
                isBelowFirst = true;
            }
        }
        // In a strongly feasible tree each of these arcs has room, so none of them leaves if delta is 0.
        for (int node = second; node != join && delta > 0; node = parent[node]) {
            int arc = treeArc[node];
            long room = source[arc] == node ? capacity[arc] - flow[arc] : flow[arc];
            if (room <= delta) { // the last of equal arcs leaves, so that the tree stays strongly feasible
                delta = room;
                leaving = node;
                isBelowFirst = false;
            }
        }
        if (delta > 0) {
            flow[entering] += isForward ? delta : -delta;
            for (int node = first; node != join; node = parent[node]) {
                int arc = treeArc[node];
                flow[arc] += source[arc] == node ? -delta : delta;
            }
            for (int node = second; node != join; node = parent[node]) {
                int arc = treeArc[node];
                flow[arc] += source[arc] == node ? delta : -delta;
            }
        }
        if (leaving == NONE) {
            state[entering] = isForward ? AT_UPPER : AT_LOWER;
            return;
        }
        int leavingArc = treeArc[leaving];
        state[leavingArc] = flow[leavingArc] == 0 ? AT_LOWER : AT_UPPER;
        state[entering] = CANNOT_ENTER;
        int top = isBelowFirst ? first : second;
        int other = isBelowFirst ? second : first;
        long change = top == source[entering] ? -reducedCost(entering) : reducedCost(entering);
        int root = tree.cut(leaving);
        if (tree.size[leaving] <= tree.size[root]) {
            shiftPotentials(leaving, change);
        } else {
            shiftPotentials(root, -change);
        }
        tree.join(top, other, entering);
    }

    /** Adds a change to the potentials of all nodes of the tree with this root. */
    private void shiftPotentials(int root, long change) {
        for (int node = root; node != NONE; node = tree.next[node]) {
            potential[node] += change;
        }
        work += tree.size[root];
    }
}
