package io.github.optassign.flow;

import java.util.Arrays;

/** A rooted tree of nodes, each with an arc to the node above it. The last node is the root. */
final class Tree {
    private static final int NONE = -1;

    /** Per node the node above it, -1 above the root. */
    final int[] parent;
    /** Per node the arc between the node and its parent. */
    final int[] arc;

    final int[] depth;
    /** Per node the first node below it, -1 if none. */
    final int[] firstChild;
    /** Per node the next node with the same parent, -1 if none. */
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

    /** Returns the deepest node that is above both nodes, or one of them. */
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

    /** Cuts off the subtree below a node, and hangs it with another of its nodes as top on a node outside. */
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

    /** Returns the node after a node in depth-first order within a subtree, -1 after the last one. */
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
