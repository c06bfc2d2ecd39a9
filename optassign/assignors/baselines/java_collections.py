"""Java's collections as Kafka uses them: PriorityQueue, and the iteration order of HashMap and HashSet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from optassign.formats.task_id import TaskId

_LEFT, _RIGHT = 0, 1


class TreeBin:
    """The keys of one bucket as a red-black tree (HashMap.TreeNode). Iterates in Java's order.

    Keys are natural numbers that compare as their Java objects do.
    """

    def __init__(self, keys: list[int], hashes: Sequence[int]) -> None:
        """Make a tree of a bucket's list. keys: in the order of the list. hashes: key → hash, 0 to 2^32 − 1."""
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
        """Add a key that is not in the tree."""
        parent = self._insert(key)
        at = 0 if parent is None else self._order.index(parent) + 1
        self._order.insert(at, key)
        self._root_to_front()

    def remove(self, key: int) -> bool:
        """Remove a key of the tree; return False if the bucket becomes a list again."""
        self._order.remove(key)
        left, right = self._child
        root = self._root
        if not self._order or root is None or root not in right or root not in left or left[root] not in left:
            return False
        self._delete(key)
        self._root_to_front()
        return True

    def _root_to_front(self) -> None:
        """Move the root to the front of the list (HashMap.TreeNode.moveRootToFront)."""
        if self._root is not None and self._order[0] != self._root:
            self._order.remove(self._root)
            self._order.insert(0, self._root)

    def _comparison_key(self, key: int) -> tuple[int, int]:
        """Return the key's order in the tree: its hash as a signed 32-bit number, then the key."""
        code = self._hashes[key]
        return code - (1 << 32) if code >> 31 else code, key

    def _insert(self, key: int) -> int | None:
        """Insert the key; return its parent before the tree was rebalanced."""
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
        """Restore the invariant that no red node has a red parent, after `node` became red (balanceInsertion)."""
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
        """Delete a node of the tree."""
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
        """Restore equal numbers of black nodes on all paths; paths through `node` lack a black node (balanceDeletion)."""
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
        """Return the side of its parent on which a node is; right for the root."""
        parent = self._parent[node]
        return _LEFT if parent is not None and self._child[_LEFT].get(parent) == node else _RIGHT

    def _rotate(self, node: int, side: int) -> None:
        """Rotate `node` down to `side`; its child on the other side takes its place."""
        up = self._child[1 - side][node]
        inner = self._child[side].pop(up, None)
        self._replace(node, up)
        self._link(node, 1 - side, inner)
        self._link(up, side, node)

    def _replace(self, node: int, other: int | None) -> None:
        """Put `other` (or nothing) in the place of `node`; `node` keeps its children."""
        parent = self._parent[node]
        if parent is None:
            self._root = other
            if other is not None:
                self._parent[other] = None
        else:
            self._link(parent, self._side(node), other)

    def _link(self, parent: int, side: int, child: int | None) -> None:
        """Make `child` the child of `parent` on that side; None removes the present child."""
        if child is None:
            self._child[side].pop(parent, None)
        else:
            self._child[side][parent] = child
            self._parent[child] = parent

    def _exchange(self, one: int, other: int) -> None:
        """Swap places and colours of two nodes; `other` is below `one`."""
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


DEFAULT_CAPACITY = 16
_LARGEST_LIST = 8
"""A bucket with more entries becomes a tree; in a table of fewer than 64 buckets, the table grows instead."""
_FEWEST_BUCKETS_WITH_TREES = 64
_LARGEST_CUT_TREE = 6
"""A tree that the growth of the table leaves with at most this many entries becomes a list again."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def order_process_ids(ids: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return process ids in Kafka's order: (positions in `ids`, their hashes in that order).

    Ids compare as java.util.UUID does, by signed halves. If any id is not a UUID, all are sorted as strings, and the i-th gets
    the hash i.
    """
    if not all(_UUID.fullmatch(text) for text in ids):
        order = sorted(range(len(ids)), key=ids.__getitem__)
        return order, list(range(len(ids)))
    numbers = [int(text.replace("-", ""), 16) for text in ids]
    halves = [(_to_signed(number >> 64, 64), _to_signed(number & _ones(64), 64)) for number in numbers]
    order = sorted(range(len(ids)), key=halves.__getitem__)
    codes = [high ^ low for high, low in halves]
    return order, [fold_hash_code(codes[i] >> 32 ^ codes[i]) for i in order]


def hash_task(task: TaskId) -> int:
    """Return the hash of a task's id (TaskId.hashCode)."""
    return fold_hash_code(31 * (31 * (31 + task.subtopology) + task.partition) + _hash_string(task.name))


def hash_subtopology(subtopology: tuple[str, int]) -> int:
    """Return the hash of (name, number), the key of Kafka's maps of subtopologies."""
    return fold_hash_code(31 * (31 + subtopology[1]) + _hash_string(subtopology[0]))


def capacity_of_copy(size: int) -> int:
    """Return the number of buckets of a HashSet made from a collection of `size` elements."""
    return _round_to_power_of_two(max(size * 4 // 3 + 1, DEFAULT_CAPACITY))


def capacity_of_put_all(size: int) -> int:
    """Return the number of buckets of an empty HashMap after putAll of a map of `size` entries."""
    return _round_to_power_of_two(size * 4 // 3 + 1)


class HashTable:
    """The keys of a HashMap in its iteration order: natural numbers that compare as their Java objects do."""

    def __init__(self, hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> None:
        """Make an empty table. hashes: key → hash. capacity: initial number of buckets, a power of two."""
        self._hashes = hashes
        self._buckets: list[list[int] | TreeBin] = [[] for _ in range(capacity)]
        self._size = 0

    @classmethod
    def of(cls, keys: Sequence[int], hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> HashTable:
        """Return a table into which the keys, each once, were put one by one."""
        table = cls(hashes, capacity)
        for key in keys:
            table.put(key)
        return table

    def __iter__(self) -> Iterator[int]:
        for bucket in self._buckets:
            yield from bucket

    def put(self, key: int) -> None:
        """Put a key that is not in the table."""
        index = self._hashes[key] & (len(self._buckets) - 1)
        bucket = self._buckets[index]
        if isinstance(bucket, TreeBin):
            bucket.add(key)
        else:
            bucket.append(key)
            if len(bucket) > _LARGEST_LIST:
                if len(self._buckets) < _FEWEST_BUCKETS_WITH_TREES:
                    self._grow()
                else:
                    self._buckets[index] = TreeBin(bucket, self._hashes)
        self._size += 1
        if 4 * self._size > 3 * len(self._buckets):
            self._grow()

    def remove(self, key: int) -> None:
        """Remove a key of the table."""
        index = self._hashes[key] & (len(self._buckets) - 1)
        bucket = self._buckets[index]
        if isinstance(bucket, TreeBin):
            if not bucket.remove(key):
                self._buckets[index] = list(bucket)
        else:
            bucket.remove(key)
        self._size -= 1

    def _grow(self) -> None:
        """Double the buckets: each is split in two, and small trees become lists again (HashMap.resize)."""
        bit = len(self._buckets)
        upper: list[list[int] | TreeBin] = []
        for index, bucket in enumerate(self._buckets):
            low: list[int] = []
            high: list[int] = []
            for key in bucket:
                (high if self._hashes[key] & bit else low).append(key)
            if not isinstance(bucket, TreeBin):
                self._buckets[index] = low
                upper.append(high)
                continue
            parts: list[list[int] | TreeBin] = []
            for part, other in ((low, high), (high, low)):
                if len(part) <= _LARGEST_CUT_TREE:
                    parts.append(part)
                else:
                    parts.append(TreeBin(part, self._hashes) if other else bucket)
            self._buckets[index] = parts[0]
            upper.append(parts[1])
        self._buckets += upper


def order_by_hash(keys: Sequence[int], hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """Return the keys, added in the given order, in the iteration order of a HashSet.

    capacity: the HashSet's initial capacity.
    """
    first = keys[: capacity * 3 // 4 + 1]  # the keys of the table before it first grows
    if len(first) > _LARGEST_LIST:
        mask = capacity - 1
        if max(Counter([hashes[key] & mask for key in first]).values()) > _LARGEST_LIST:
            return list(HashTable.of(keys, hashes, capacity))
    if 4 * len(keys) > 3 * capacity:
        return order_by_hash(keys, hashes, 2 * capacity)
    return order_by_bucket(keys, hashes, capacity)


def order_by_bucket(keys: Sequence[int], hashes: Sequence[int], capacity: int) -> list[int]:
    """Return the keys in the order of a table of that many buckets that never had a bucket of more than eight keys."""
    mask = capacity - 1
    return sorted(keys, key=lambda key: hashes[key] & mask)


def capacity_for(size: int) -> int:
    """Return the number of buckets of a HashSet, made without a capacity, after `size` elements were added."""
    capacity = DEFAULT_CAPACITY
    while 4 * size > 3 * capacity:
        capacity *= 2
    return capacity


def fold_hash_code(code: int) -> int:
    """Return the hash that HashMap computes from an object's hash code (HashMap.hash)."""
    code &= _ones(32)
    return code ^ code >> 16


def _hash_string(text: str) -> int:
    """Return String.hashCode modulo 2^32, over UTF-16 code units; 0 for the empty name, which is null in Kafka."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & _ones(32)
    return code


def _to_signed(value: int, bits: int) -> int:
    """Return the lowest `bits` bits as a number in two's complement."""
    value &= _ones(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def _ones(bits: int) -> int:
    """Return the greatest number of `bits` bits."""
    return (1 << bits) - 1


def _round_to_power_of_two(least: int) -> int:
    """Return the least power of two that is at least `least` (HashMap.tableSizeFor)."""
    return 1 << max(least - 1, 0).bit_length()


class JavaHeap:
    """java.util.PriorityQueue of indices into `keys`, each at most once. As in Java, the heap does not notice changed keys."""

    def __init__(self, keys: Sequence[Any], items: Iterable[int]) -> None:
        self._keys = keys
        self._items: list[int] = []
        for item in items:
            self.add(item)

    def __contains__(self, item: int) -> bool:
        return item in self._items

    def add(self, item: int) -> None:
        """Add an item that is not in the heap."""
        self._items.append(item)
        self._rise(len(self._items) - 1)

    def pop_until(self, wanted: Container[int]) -> list[int]:
        """Pop items in order until the first wanted one, inclusive; all items if none is wanted."""
        items, popped = self._items, []
        while items:
            popped.append(items[0])
            moved = items.pop()
            if items:
                self._sink(0, moved)
            if popped[-1] in wanted:
                break
        return popped

    def remove(self, item: int) -> None:
        """Remove an item. ValueError if it is not in the heap."""
        at = self._items.index(item)
        moved = self._items.pop()
        if at < len(self._items):
            self._sink(at, moved)
            if self._items[at] == moved:
                self._rise(at)

    def is_in_order(self) -> bool:
        """Return whether no item is less than its parent."""
        keys = [self._keys[item] for item in self._items]
        return all(keys[(at - 1) // 2] <= keys[at] for at in range(1, len(keys)))

    def _rise(self, at: int) -> None:
        """Move an item up until it is not less than its parent (PriorityQueue.siftUp)."""
        items, keys = self._items, self._keys
        item = items[at]
        key = keys[item]
        while at and key < keys[items[(at - 1) // 2]]:
            items[at] = items[(at - 1) // 2]
            at = (at - 1) // 2
        items[at] = item

    def _sink(self, at: int, item: int) -> None:
        """Insert an item at a place, and move it down until no child is less (PriorityQueue.siftDown)."""
        items, keys = self._items, self._keys
        key, end = keys[item], len(items)
        below = 2 * at + 1
        while below < end:
            lesser = keys[items[below]]
            if below + 1 < end and (right := keys[items[below + 1]]) < lesser:
                below, lesser = below + 1, right
            if key <= lesser:
                break
            items[at] = items[below]
            at = below
            below = 2 * at + 1
        items[at] = item
