package io.github.optassign.flow;

import java.util.Arrays;

/** A forest of rooted trees: each node but the roots has an arc to its parent. At first each node is a root. */
final class Tree {
    private static final int NONE = -1;

    /** The parent of each node; -1 for a root. */
    final int[] parent;
    /** The arc between each node and its parent; -1 for a root. */
    final int[] arc;
    /** The number of nodes of the subtree below and including each node. */
    final int[] size;

    /** The first child of each node; -1 for a leaf. */
    private final int[] firstChild;
    /** The next node with the same parent; -1 for the last child. */
    private final int[] nextSibling;

    private final int[] previousSibling;

    Tree(int nodes) {
        parent = new int[nodes];
        arc = new int[nodes];
        size = new int[nodes];
        firstChild = new int[nodes];
        nextSibling = new int[nodes];
        previousSibling = new int[nodes];
        Arrays.fill(parent, NONE);
        Arrays.fill(arc, NONE);
        Arrays.fill(size, 1);
        Arrays.fill(firstChild, NONE);
    }

    /** Returns the root of each node's tree. */
    int[] listRoots() {
        int[] root = new int[parent.length];
        for (int top = 0; top < parent.length; top++) {
            for (int node = parent[top] == NONE ? top : NONE; node != NONE; node = findNext(node, top)) {
                root[node] = top;
            }
        }
        return root;
    }

    /** Returns the root of a node's tree. */
    int findRoot(int node) {
        int root = node;
        while (parent[root] != NONE) {
            root = parent[root];
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

    /** Removes the arc between a node and its parent, so that the node becomes a root, and updates sizes. */
    void cut(int node) {
        for (int above = parent[node]; above != NONE; above = parent[above]) {
            size[above] -= size[node];
        }
        detach(node);
    }

    /** Makes {@code top} the root of its tree, then a child of {@code to} in another tree, by an arc; updates sizes. */
    void join(int top, int to, int joiningArc) {
        int total = size[findRoot(top)];
        int node = top;
        int above = to;
        int arcAbove = joiningArc;
        int left = total;
        while (node != NONE) {
            int oldParent = parent[node];
            int oldArc = arc[node];
            int oldSize = size[node];
            if (oldParent != NONE) {
                detach(node);
            }
            attach(node, above, arcAbove);
            size[node] = left;
            left = total - oldSize;
            above = node;
            arcAbove = oldArc;
            node = oldParent;
        }
        for (node = to; node != NONE; node = parent[node]) {
            size[node] += total;
        }
    }

    /** Makes a root a child of a node; sizes stay as they are. */
    void attach(int node, int to, int itsArc) {
        int first = firstChild[to];
        arc[node] = itsArc;
        parent[node] = to;
        previousSibling[node] = NONE;
        nextSibling[node] = first;
        firstChild[to] = node;
        if (first != NONE) {
            previousSibling[first] = node;
        }
    }

    /** Removes a node from the children of its parent; sizes stay as they are. */
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
        parent[node] = NONE;
        arc[node] = NONE;
    }

    /** Returns the next node in depth-first order of the tree with this root; -1 after the last node. */
    int findNext(int node, int root) {
        if (firstChild[node] != NONE) {
            return firstChild[node];
        }
        int last = node;
        while (last != root && nextSibling[last] == NONE) {
            last = parent[last];
        }
        return last == root ? NONE : nextSibling[last];
    }
}
