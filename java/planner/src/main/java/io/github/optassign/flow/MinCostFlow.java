package io.github.optassign.flow;

import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;

/**
 * A minimum-cost flow by the primal network simplex method, in whole numbers.
 *
 * <p>The basis is a spanning tree that stays strongly feasible, so that the method ends; entering arcs are found by
 * block search (Ahuja, Magnanti, Orlin, Network Flows, ch. 11; Király and Kovács, Efficient implementations of
 * minimum-cost flow algorithms, 2012). The result depends on the order of nodes and arcs only.
 *
 * <p>Costs times the number of nodes must stay below 2<sup>61</sup> in absolute value.
 */
public final class MinCostFlow {
    private static final int NONE = -1;
    private static final byte IN_TREE = 0;
    private static final byte AT_LOWER = 1;
    private static final byte AT_UPPER = -1;

    private int nodes;
    private int arcs;
    private long[] supply = new long[16];
    private int[] source = new int[64];
    private int[] target = new int[64];
    private long[] low = new long[64];
    /** Per arc the greatest flow above its lower bound. */
    private long[] capacity = new long[64];

    private long[] cost = new long[64];
    /** Per arc its flow above its lower bound. */
    private long[] flow = new long[64];

    private byte[] state;
    private int[] parent;
    /** Per node the arc between the node and its parent. */
    private int[] treeArc;

    private int[] depth;
    private int[] firstChild;
    private int[] nextSibling;
    private int[] previousSibling;
    private long[] potential;
    private int nextArc;
    private long work;

    /** Adds a node. @return its number, counted from 0 */
    public int addNode(long itsSupply) {
        if (nodes == supply.length) {
            supply = Arrays.copyOf(supply, 2 * nodes);
        }
        supply[nodes] = itsSupply;
        return nodes++;
    }

    /** Adds nodes without supply. @return the number of the first; the others follow */
    public int addNodes(int count) {
        int first = nodes;
        for (int i = 0; i < count; i++) {
            addNode(0);
        }
        return first;
    }

    /** Adds to the supply of a node; below 0 it is a demand. */
    public void addSupply(int node, long more) {
        supply[node] += more;
    }

    /**
     * Adds an arc.
     *
     * @param least the least flow, at least 0
     * @param most the greatest flow, at least {@code least}
     * @param unitCost of each unit of flow
     * @return its number, counted from 0
     */
    public int addArc(int from, int to, long least, long most, long unitCost) {
        if (arcs == source.length) {
            grow(2 * arcs);
        }
        source[arcs] = from;
        target[arcs] = to;
        low[arcs] = least;
        capacity[arcs] = most - least;
        cost[arcs] = unitCost;
        return arcs++;
    }

    private void grow(int length) {
        source = Arrays.copyOf(source, length);
        target = Arrays.copyOf(target, length);
        low = Arrays.copyOf(low, length);
        capacity = Arrays.copyOf(capacity, length);
        cost = Arrays.copyOf(cost, length);
        flow = Arrays.copyOf(flow, length);
    }

    /** Returns the flow of an arc, once {@link #solve} has run. */
    public long flow(int arc) {
        return low[arc] + flow[arc];
    }

    /** Returns the number of arcs and tree nodes examined so far. */
    public long work() {
        return work;
    }

    /**
     * Finds a flow of least cost that keeps all bounds and routes the supply of all nodes.
     *
     * @param mostWork arcs and tree nodes to examine at most; after that the flow may not be the cheapest
     * @return whether the flow routes the whole supply; if not, no flow does, or the work did not suffice
     */
    public boolean solve(long mostWork) {
        buildTree();
        int entering = findEntering();
        while (entering != NONE && work < mostWork) {
            pivot(entering);
            entering = findEntering();
        }
        for (int node = 0; node < nodes; node++) {
            if (flow[arcs + node] > 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * Hangs each node on a root by an artificial arc; a unit of demand that this arc meets costs more than any path.
     */
    private void buildTree() {
        int root = nodes;
        if (source.length < arcs + nodes) {
            grow(arcs + nodes);
        }
        long[] missing = supply.clone();
        long greatest = 0;
        for (int arc = 0; arc < arcs; arc++) {
            missing[source[arc]] -= low[arc];
            missing[target[arc]] += low[arc];
            greatest = Math.max(greatest, Math.abs(cost[arc]));
        }
        state = new byte[arcs + nodes];
        Arrays.fill(flow, 0, arcs, 0);
        parent = new int[nodes + 1];
        treeArc = new int[nodes + 1];
        depth = new int[nodes + 1];
        firstChild = new int[nodes + 1];
        nextSibling = new int[nodes + 1];
        previousSibling = new int[nodes + 1];
        potential = new long[nodes + 1];
        Arrays.fill(firstChild, NONE);
        parent[root] = NONE;
        treeArc[root] = NONE;
        for (int node = 0; node < nodes; node++) {
            treeArc[node] = arcs + node;
            attach(node, root);
        }
        new FirstFlow(nodes, arcs, source, target, capacity, cost, flow).send(missing);
        takeOver(missing);
        long dear = (greatest + 1) * (nodes + 1L);
        for (int node = 0; node < nodes; node++) {
            int arc = arcs + node;
            boolean hasSupply = missing[node] >= 0;
            source[arc] = hasSupply ? node : root;
            target[arc] = hasSupply ? root : node;
            capacity[arc] = Long.MAX_VALUE;
            low[arc] = 0;
            flow[arc] = Math.abs(missing[node]);
            cost[arc] = hasSupply ? 0 : dear;
        }
        for (int node = firstChild[root]; node != NONE; node = nextSibling[node]) {
            update(node);
        }
    }

    /**
     * Takes arcs that have flow and room into the tree if one of their nodes has no other such arc; empties the others.
     * So each arc outside the tree is at one of its bounds.
     */
    private void takeOver(long[] missing) {
        int[] partial = new int[nodes];
        for (int arc = 0; arc < arcs; arc++) {
            int more = isPartial(arc) ? 1 : 0;
            partial[source[arc]] += more;
            partial[target[arc]] += more;
        }
        for (int arc = 0; arc < arcs; arc++) {
            state[arc] = flow[arc] > 0 && flow[arc] == capacity[arc] ? AT_UPPER : AT_LOWER;
            if (isPartial(arc)) {
                int from = source[arc];
                int to = target[arc];
                if (partial[from] == 1 && missing[from] == 0) {
                    takeIn(arc, from, to);
                } else if (partial[to] == 1 && missing[to] == 0) {
                    takeIn(arc, to, from);
                } else {
                    missing[from] += flow[arc];
                    missing[to] -= flow[arc];
                    flow[arc] = 0;
                }
            }
        }
    }

    private boolean isPartial(int arc) {
        return flow[arc] > 0 && flow[arc] < capacity[arc];
    }

    private void takeIn(int arc, int node, int to) {
        state[arc] = IN_TREE;
        detach(node);
        treeArc[node] = arc;
        attach(node, to);
    }

    private void attach(int node, int to) {
        int first = firstChild[to];
        parent[node] = to;
        previousSibling[node] = NONE;
        nextSibling[node] = first;
        firstChild[to] = node;
        if (first != NONE) {
            previousSibling[first] = node;
        }
    }

    private void detach(int node) {
        int before = previousSibling[node];
        int after = nextSibling[node];
        if (before == NONE) {
            firstChild[parent[node]] = after;
        } else {
            nextSibling[before] = after;
        }
        if (after != NONE) {
            previousSibling[after] = before;
        }
    }

    /**
     * Returns the arc that violates optimality most in the first block with such arcs, or -1 if the flow is optimal.
     */
    private int findEntering() {
        int block = (int) Math.max(GreedyPolicy.FLOW_BLOCK, Math.sqrt(arcs));
        int best = NONE;
        long least = 0;
        int left = block;
        for (int i = 0; i < arcs; i++) {
            int arc = nextArc;
            nextArc = nextArc + 1 < arcs ? nextArc + 1 : 0;
            long reduced = state[arc] * (cost[arc] + potential[source[arc]] - potential[target[arc]]);
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

    /** Sends as much as possible round the cycle that an arc closes in the tree, and takes the arc into the tree. */
    private void pivot(int entering) {
        boolean isForward = state[entering] == AT_LOWER;
        int first = isForward ? source[entering] : target[entering];
        int second = isForward ? target[entering] : source[entering];
        int join = findJoin(first, second);
        long delta = capacity[entering];
        int leaving = NONE; // the node below the leaving arc
        boolean isBelowFirst = false;
        for (int node = first; node != join; node = parent[node]) {
            int arc = treeArc[node];
            long room = source[arc] == node ? flow[arc] : capacity[arc] - flow[arc];
            if (room < delta) {
                delta = room;
                leaving = node;
                isBelowFirst = true;
            }
        }
        for (int node = second; node != join; node = parent[node]) {
            int arc = treeArc[node];
            long room = source[arc] == node ? capacity[arc] - flow[arc] : flow[arc];
            if (room <= delta) { // of equals the last, so that the tree stays strongly feasible
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
        state[entering] = IN_TREE;
        hang(leaving, isBelowFirst ? first : second, isBelowFirst ? second : first, entering);
    }

    private int findJoin(int first, int second) {
        int one = first;
        int other = second;
        while (one != other) {
            work++;
            if (depth[one] >= depth[other]) {
                one = parent[one];
            } else {
                other = parent[other];
            }
        }
        return one;
    }

    /** Cuts off the subtree below a node, and hangs it with another of its nodes as top on a node outside. */
    private void hang(int cut, int top, int to, int arc) {
        int node = top;
        int above = to;
        int arcAbove = arc;
        while (true) {
            int oldParent = parent[node];
            int oldArc = treeArc[node];
            detach(node);
            treeArc[node] = arcAbove;
            attach(node, above);
            if (node == cut) {
                break;
            }
            above = node;
            arcAbove = oldArc;
            node = oldParent;
        }
        update(top);
    }

    /** Sets the potentials and the depths of a subtree by the node above. */
    private void update(int top) {
        for (int at = top; ; ) { // in depth-first order
            work++;
            int arc = treeArc[at];
            potential[at] = potential[parent[at]] + (source[arc] == at ? -cost[arc] : cost[arc]);
            depth[at] = depth[parent[at]] + 1;
            if (firstChild[at] != NONE) {
                at = firstChild[at];
                continue;
            }
            while (at != top && nextSibling[at] == NONE) {
                at = parent[at];
            }
            if (at == top) {
                return;
            }
            at = nextSibling[at];
        }
    }
}
