"""Hashes of ids as in Java, and the order in which its HashMap and HashSet hand out what was put into them.

Kafka's assignors iterate over such tables, and where quotas are short that order decides who keeps a task. Orders here are
those of java.util.HashMap since Java 8: by bucket, within a bucket as inserted, or as the bucket's tree has it once it
has become one (`java_tree_bin`); a table grows by doubling and never shrinks.

A *hash* here is what HashMap makes of an object's hash code: its upper half is folded into the lower; 0 to 2^32 − 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from optassign.assignors.baselines.as_in_kafka.java_tree_bin import TreeBin
from optassign.formats.task_id import TaskId

DEFAULT_CAPACITY = 16
_LARGEST_LIST = 8
"""A bucket with more entries becomes a tree, or the table grows while it has fewer than 64 buckets."""
_FEWEST_BUCKETS_WITH_TREES = 64
_LARGEST_CUT_TREE = 6
"""A tree that growing leaves with at most this many entries becomes a list again."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def order_process_ids(ids: Sequence[str]) -> tuple[list[int], list[int]]:
    """Process ids in Kafka's order: (positions in `ids`, their hashes in that order).

    They compare as java.util.UUID does: by signed halves. If one of them is no UUID, they stand in the order of
    strings and the i-th is taken for the UUID of the number i.
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
    """Hash of a task's id (TaskId.hashCode)."""
    return fold_hash_code(31 * (31 * (31 + task.subtopology) + task.partition) + _hash_string(task.name))


def hash_subtopology(subtopology: tuple[str, int]) -> int:
    """Hash of a (name, number), by which Kafka keys its maps of subtopologies."""
    return fold_hash_code(31 * (31 + subtopology[1]) + _hash_string(subtopology[0]))


def capacity_of_copy(size: int) -> int:
    """Buckets of a HashSet made from a collection of that many elements."""
    return _round_to_power_of_two(max(size * 4 // 3 + 1, DEFAULT_CAPACITY))


def capacity_of_put_all(size: int) -> int:
    """Buckets of an empty HashMap into which a map of that many entries is put at once."""
    return _round_to_power_of_two(size * 4 // 3 + 1)


class HashTable:
    """The order in which a HashMap iterates over its keys: natural numbers, compared as their Java objects are."""

    def __init__(self, hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> None:
        """hashes: of all keys that may come. capacity: initial number of buckets, a power of two."""
        self._hashes = hashes
        self._buckets: list[list[int] | TreeBin] = [[] for _ in range(capacity)]
        self._size = 0

    @classmethod
    def of(cls, keys: Sequence[int], hashes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> HashTable:
        """A table into which keys, each once, were put one by one."""
        table = cls(hashes, capacity)
        for key in keys:
            table.put(key)
        return table

    def __iter__(self) -> Iterator[int]:
        for bucket in self._buckets:
            yield from bucket

    def put(self, key: int) -> None:
        """Put a key that is not there yet."""
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
        """Take out a key that is there."""
        index = self._hashes[key] & (len(self._buckets) - 1)
        bucket = self._buckets[index]
        if isinstance(bucket, TreeBin):
            if not bucket.remove(key):
                self._buckets[index] = list(bucket)
        else:
            bucket.remove(key)
        self._size -= 1

    def _grow(self) -> None:
        """Doubles the buckets; each is cut in two, and what is left of a tree may become a list again (HashMap.resize)."""
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
    """The order in which a HashSet iterates over keys that were added in the order given.

    capacity: as it was made with; DEFAULT_CAPACITY if without one.
    """
    first = keys[: capacity * 3 // 4 + 1]  # what is in the table before it grows for the first time
    if len(first) > _LARGEST_LIST:
        mask = capacity - 1
        if max(Counter([hashes[key] & mask for key in first]).values()) > _LARGEST_LIST:
            return list(HashTable.of(keys, hashes, capacity))
    if 4 * len(keys) > 3 * capacity:
        return order_by_hash(keys, hashes, 2 * capacity)
    return order_by_bucket(keys, hashes, capacity)


def order_by_bucket(keys: Sequence[int], hashes: Sequence[int], capacity: int) -> list[int]:
    """The order in a table of that many buckets, if it has never had a bucket of more than eight keys."""
    mask = capacity - 1
    return sorted(keys, key=lambda key: hashes[key] & mask)


def capacity_for(size: int) -> int:
    """Buckets of a HashSet made without a capacity, once it has that many elements."""
    capacity = DEFAULT_CAPACITY
    while 4 * size > 3 * capacity:
        capacity *= 2
    return capacity


def fold_hash_code(code: int) -> int:
    """The hash of an object with that hash code."""
    code &= _ones(32)
    return code ^ code >> 16


def _hash_string(text: str) -> int:
    """String.hashCode modulo 2^32, over UTF-16 code units; 0 for the empty name, which Kafka has as null."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & _ones(32)
    return code


def _to_signed(value: int, bits: int) -> int:
    """Read `bits` bits as a number in two's complement."""
    value &= _ones(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def _ones(bits: int) -> int:
    """The greatest number of `bits` bits."""
    return (1 << bits) - 1


def _round_to_power_of_two(least: int) -> int:
    """The least power of two that is not less (HashMap.tableSizeFor)."""
    return 1 << max(least - 1, 0).bit_length()
