package io.github.optassign.flow;

import java.util.Arrays;

/**
 * A forest of rooted trees: each node but the roots has an arc to its parent. At first each node is a root. The nodes
 * of each tree are linked in depth-first order, the root first, so that each subtree is one section of this list.
 */
final class Tree {
    private static final int NONE = -1;

    /** The parent of each node; -1 for a root. */
    final int[] parent;
    /** The arc between each node and its parent; -1 for a root. */
    final int[] arc;
    /** The number of nodes of the subtree below and including each node. */
    final int[] size;
    /** The node after each node in the list of its tree; -1 for the last one. */
    final int[] next;

    private final int[] previous;
    /** The last node of each node's subtree in the list. */
    private final int[] last;
    /** The nodes between a node and its root, while {@link #join} runs. */
    private final int[] path;

    Tree(int nodes) {
        parent = new int[nodes];
        arc = new int[nodes];
        size = new int[nodes];
        next = new int[nodes];
        previous = new int[nodes];
        last = new int[nodes];
        path = new int[nodes];
        Arrays.fill(parent, NONE);
        Arrays.fill(arc, NONE);
        Arrays.fill(size, 1);
        Arrays.fill(next, NONE);
        Arrays.setAll(last, node -> node);
    }

    /** Returns the root of each node's tree. */
    int[] listRoots() {
        int[] root = new int[parent.length];
        for (int top = 0; top < parent.length; top++) {
            for (int node = parent[top] == NONE ? top : NONE; node != NONE; node = next[node]) {
                root[node] = top;
            }
        }
        return root;
    }

    /** Returns the lowest common ancestor of two nodes of one tree; a node counts among its ancestors. */
    int findJoin(int first, int second) {
        int one = first;
        int other = second;
        while (one != other) {
            if (size[one] <= size[other]) {
                one = parent[one];
            } else {
                other = parent[other];
            }
        }
        return one;
    }

    /**
     * Removes the arc between a node and its parent, so that the node becomes the root of its subtree.
     *
     * @return the root of the nodes that stay with the parent
     */
    int cut(int node) {
        int end = last[node];
        int root = node;
        while (parent[root] != NONE) {
            root = parent[root];
            size[root] -= size[node];
            last[root] = last[root] == end ? previous[node] : last[root];
        }
        link(previous[node], next[end]);
        next[end] = NONE;
        parent[node] = NONE;
        arc[node] = NONE;
        return root;
    }

    /** Makes {@code top} the root of its tree, then a child of {@code to} in another tree, by an arc. */
    void join(int top, int to, int joiningArc) {
        int depth = 0;
        for (int node = top; parent[node] != NONE; node = parent[node]) {
            path[depth++] = node;
        }
        while (depth > 0) { // from the root down, so that each cut and each new arc changes one ancestor only
            int node = path[--depth];
            int above = parent[node];
            int itsArc = arc[node];
            cut(node);
            attach(above, node, itsArc);
        }
        attach(top, to, joiningArc);
    }

    /** Makes a root a child of a node of another tree. */
    void attach(int root, int to, int itsArc) {
        int end = last[root];
        for (int above = to; above != NONE; above = parent[above]) {
            size[above] += size[root];
            last[above] = last[above] == to ? end : last[above];
        }
        link(end, next[to]);
        link(to, root);
        parent[root] = to;
        arc[root] = itsArc;
    }

    /** Puts a node after another one in a list; -1 is the end of the list. */
    private void link(int node, int after) {
        next[node] = after;
        if (after != NONE) {
            previous[after] = node;
        }
    }
}
