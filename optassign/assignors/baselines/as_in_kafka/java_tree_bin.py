"""A bucket of java.util.HashMap that has become a red-black tree.

It is iterated over as a list, yet the tree shows in the order: a new key stands behind its parent in the tree, and the root
is taken to the front after each change. Insertion and deletion are those of the textbook (Cormen, Leiserson, Rivest:
Introduction to Algorithms, "Red-black trees").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_LEFT, _RIGHT = 0, 1


class TreeBin:
    """Keys (natural numbers that compare as their Java objects do) of one bucket. Iterates in Java's order."""

    def __init__(self, keys: list[int], hashes: Sequence[int]) -> None:
        """keys: in the order of the list that this was. hashes: of all keys that may come, 0 to 2^32 − 1."""
        self._hashes = hashes
        self._order: list[int] = list(keys)
        self._root: int | None = None
        self._parent: dict[int, int | None] = {}
        self._child: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._red: set[int] = set()
        for key in keys:
            self._insert(key)
        self._root_to_front()

    def __iter__(self) -> Iterator[int]:
        return iter(self._order)

    def add(self, key: int) -> None:
        """Add a key that is not there yet."""
        parent = self._insert(key)
        at = 0 if parent is None else self._order.index(parent) + 1
        self._order.insert(at, key)
        self._root_to_front()

    def remove(self, key: int) -> bool:
        """Take out a key that is there; False if what is left is a list again."""
        self._order.remove(key)
        left, right = self._child
        root = self._root
        if not self._order or root is None or root not in right or root not in left or left[root] not in left:
            return False
        self._delete(key)
        self._root_to_front()
        return True

    def _root_to_front(self) -> None:
        """Takes the root to the front of the list (HashMap.TreeNode.moveRootToFront)."""
        if self._root is not None and self._order[0] != self._root:
            self._order.remove(self._root)
            self._order.insert(0, self._root)

    def _comparison_key(self, key: int) -> tuple[int, int]:
        """The key's order in the tree: its hash as a signed 32-bit number, then the key itself."""
        code = self._hashes[key]
        return code - (1 << 32) if code >> 31 else code, key

    def _insert(self, key: int) -> int | None:
        """Hangs the key into the tree and returns the parent that it had at first, before the tree was repaired."""
        parent, side, at = None, _LEFT, self._root
        wanted = self._comparison_key(key)
        while at is not None:
            parent, side = at, _LEFT if wanted < self._comparison_key(at) else _RIGHT
            at = self._child[side].get(at)
        self._parent[key] = parent
        if parent is None:
            self._root = key
            return None
        self._child[side][parent] = key
        self._red.add(key)
        self._repair_red_pair(key)
        return parent

    def _repair_red_pair(self, node: int) -> None:
        """After `node` became red: no red node may have a red parent."""
        while (parent := self._parent[node]) is not None and parent in self._red:
            grandparent = self._parent[parent]
            if grandparent is None:
                break
            side = self._side(parent)
            uncle = self._child[1 - side].get(grandparent)
            if uncle is not None and uncle in self._red:
                self._red -= {parent, uncle}
                self._red.add(grandparent)
                node = grandparent
                continue
            if self._side(node) != side:
                self._rotate(parent, side)
                node, parent = parent, node
            self._red.discard(parent)
            self._red.add(grandparent)
            self._rotate(grandparent, 1 - side)
        if self._root is not None:
            self._red.discard(self._root)

    def _delete(self, key: int) -> None:
        """Takes a node out of the tree."""
        left, right = self._child
        if key in left and key in right:
            successor = right[key]
            while successor in left:
                successor = left[successor]
            self._exchange(key, successor)
        below = left.get(key, right.get(key))
        if below is not None:
            self._replace(key, below)
            if key not in self._red:
                self._repair_missing_black(below)
        else:
            if key not in self._red:
                self._repair_missing_black(key)
            self._replace(key, None)
        left.pop(key, None)
        right.pop(key, None)
        del self._parent[key]
        self._red.discard(key)

    def _repair_missing_black(self, node: int) -> None:
        """The paths through `node` have one black node too few."""
        while (parent := self._parent[node]) is not None and node not in self._red:
            side = self._side(node)
            sibling = self._child[1 - side].get(parent)
            if sibling is not None and sibling in self._red:
                self._red.discard(sibling)
                self._red.add(parent)
                self._rotate(parent, side)
                sibling = self._child[1 - side].get(parent)
            if sibling is None:
                node = parent
                continue
            near, far = self._child[side].get(sibling), self._child[1 - side].get(sibling)
            if near not in self._red and far not in self._red:
                self._red.add(sibling)
                node = parent
                continue
            if far not in self._red and near is not None:
                self._red.discard(near)
                self._red.add(sibling)
                self._rotate(sibling, 1 - side)
                sibling, far = near, sibling
            if parent in self._red:
                self._red.add(sibling)
            else:
                self._red.discard(sibling)
            if far is not None:
                self._red.discard(far)
            self._red.discard(parent)
            self._rotate(parent, side)
            return
        self._red.discard(node)

    def _side(self, node: int) -> int:
        """The side of its parent on which a node hangs; right for the root."""
        parent = self._parent[node]
        return _LEFT if parent is not None and self._child[_LEFT].get(parent) == node else _RIGHT

    def _rotate(self, node: int, side: int) -> None:
        """Turn `node` down to that side; its child of the other side takes its place."""
        up = self._child[1 - side][node]
        inner = self._child[side].pop(up, None)
        self._replace(node, up)
        self._link(node, 1 - side, inner)
        self._link(up, side, node)

    def _replace(self, node: int, other: int | None) -> None:
        """Put `other` (or nothing) where `node` hangs; `node` keeps its children."""
        parent = self._parent[node]
        if parent is None:
            self._root = other
            if other is not None:
                self._parent[other] = None
        else:
            self._link(parent, self._side(node), other)

    def _link(self, parent: int, side: int, child: int | None) -> None:
        """Hangs a child, or nothing, on that side of a node."""
        if child is None:
            self._child[side].pop(parent, None)
        else:
            self._child[side][parent] = child
            self._parent[child] = parent

    def _exchange(self, one: int, other: int) -> None:
        """Let two nodes change places and colours; `other` is below `one`."""
        sides = (_LEFT, _RIGHT)
        places = [(self._parent[n], self._side(n), [self._child[s].get(n) for s in sides]) for n in (one, other)]
        for side in sides:
            self._child[side].pop(one, None)
            self._child[side].pop(other, None)
        if (one in self._red) != (other in self._red):
            self._red ^= {one, other}
        swapped = {one: other, other: one}
        for node, (parent, side, children) in zip((other, one), places, strict=True):
            if parent is None:
                self._root = node
                self._parent[node] = None
            else:
                self._link(swapped.get(parent, parent), side, node)
            for s, child in zip(sides, children, strict=True):
                if child is not None:
                    self._link(node, s, swapped.get(child, child))
