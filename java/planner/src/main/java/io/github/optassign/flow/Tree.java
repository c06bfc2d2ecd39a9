package io.github.optassign.flow;

import java.util.Arrays;

/** A rooted spanning tree: each node but the root has an arc to its parent. The last node is the root. */
final class Tree {
    private static final int NONE = -1;

    /** The parent of each node; -1 for the root. */
    final int[] parent;
    /** The arc between each node and its parent; -1 for the root. */
    final int[] arc;

    final int[] depth;
    /** The first child of each node; -1 for a leaf. */
    final int[] firstChild;
    /** The next node with the same parent; -1 for the last child. */
    final int[] nextSibling;

    private final int[] previousSibling;

    Tree(int nodes) {
        parent = new int[nodes];
        arc = new int[nodes];
        depth = new int[nodes];
        firstChild = new int[nodes];
        nextSibling = new int[nodes];
        previousSibling = new int[nodes];
        Arrays.fill(firstChild, NONE);
        parent[nodes - 1] = NONE;
        arc[nodes - 1] = NONE;
    }

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

    void detach(int node) {
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

    /** Returns the lowest common ancestor of two nodes; a node counts among its ancestors. */
    int findJoin(int first, int second) {
        int one = first;
        int other = second;
        while (one != other) {
            if (depth[one] >= depth[other]) {
                one = parent[one];
            } else {
                other = parent[other];
            }
        }
        return one;
    }

    /** Moves the subtree of {@code cut} below {@code to}, rerooted at {@code top}, which {@code newArc} connects. */
    void hang(int cut, int top, int to, int newArc) {
        int node = top;
        int above = to;
        int arcAbove = newArc;
        while (true) {
            int oldParent = parent[node];
            int oldArc = arc[node];
            detach(node);
            attach(node, above, arcAbove);
            if (node == cut) {
                return;
            }
            above = node;
            arcAbove = oldArc;
            node = oldParent;
        }
    }

    /** Returns the next node in depth-first order within the subtree of {@code top}; -1 after the last node. */
    int findNext(int node, int top) {
        if (firstChild[node] != NONE) {
            return firstChild[node];
        }
        int last = node;
        while (last != top && nextSibling[last] == NONE) {
            last = parent[last];
        }
        return last == top ? NONE : nextSibling[last];
    }
}
