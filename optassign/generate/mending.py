"""Bring the sums of counts into their shares by moving counts between clients, subtopology by subtopology.

This is a flow: subtopology → (level, client), with counts between low and high; (level, client) → (next level, client), the
last one → sink, with the sums so far. If a sum is outside its share, a path of the residual network changes it by one (Ford and
Fulkerson, 1956).
"""

from itertools import pairwise

import numpy as np

from optassign_models.problem import IntArray


def mend_sums(counts: IntArray, low: IntArray, high: IntArray, level: IntArray, sum_low: IntArray, sum_high: IntArray) -> bool:
    """Brings sums into their shares, in place; False where there are no such counts at all.

    Args:
        counts: (n, C) of each subtopology on each client.
        low, high: (n, C) their bounds.
        level: (n,) of each subtopology, 0 to L − 1.
        sum_low, sum_high: (L, C) bounds of each client's sum of all counts up to each level.
    """
    return _Mending(counts, low, high, level, sum_low, sum_high).mend()


class _Mending:
    """The flow while it is repaired: a node for each subtopology, for each (level, client), and the sink."""

    def __init__(
        self, counts: IntArray, low: IntArray, high: IntArray, level: IntArray, sum_low: IntArray, sum_high: IntArray
    ) -> None:
        self._counts, self._low, self._high = counts, low, high
        self._level, self._sum_low, self._sum_high = level, sum_low, sum_high
        (self._n, self._clients), self._levels = counts.shape, len(sum_low)
        self._sink: int = self._n + self._levels * self._clients
        in_level = level[None, :] == np.arange(self._levels)[:, None]
        self._rows = [np.flatnonzero(rows) for rows in in_level]
        self._sums = np.cumsum([counts[rows].sum(axis=0) for rows in self._rows], axis=0) if self._n else sum_low

    def mend(self) -> bool:
        """Repairs all sums, in place; False if one cannot be repaired, so that there are no such counts at all."""
        while True:
            outside = np.argwhere((self._sums > self._sum_high) | (self._sums < self._sum_low))
            if not len(outside):
                return True
            k, client = outside[0].tolist()
            here, after = self._number_node(k, client), self._number_node(k + 1, client)
            over = self._sums[k, client] > self._sum_high[k, client]
            path = self._find_path(here, after) if over else self._find_path(after, here)
            if path is None:
                return False
            self._sums[k, client] += -1 if over else 1
            for tail, head in pairwise(path):
                self._push(tail, head)

    def _number_node(self, level: int, client: int) -> int:
        """The node of a client's sum at a level; the sink after the last level."""
        return self._n + level * self._clients + client if level < self._levels else self._sink

    def _find_path(self, start: int, goal: int) -> list[int] | None:
        """The shortest path of the residual network, without the arc between the two; None if there is none."""
        parent = {start: start}
        queue = [start]
        for node in queue:
            for head in self._list_heads(node):
                if head in parent or (node == start and head == goal):
                    continue
                parent[head] = node
                if head == goal:
                    path = [goal]
                    while path[-1] != start:
                        path.append(parent[path[-1]])
                    return path[::-1]
                queue.append(head)
        return None

    def _list_heads(self, node: int) -> list[int]:
        """List the nodes that can take one more unit from a node, or return one to it."""
        if node < self._n:
            return (
                self._number_node(int(self._level[node]), 0) + np.flatnonzero(self._counts[node] < self._high[node])
            ).tolist()
        if node == self._sink:
            last = self._levels - 1
            return (self._number_node(last, 0) + np.flatnonzero(self._sums[last] > self._sum_low[last])).tolist()
        k, client = divmod(node - self._n, self._clients)
        rows = self._rows[k]
        heads: list[int] = rows[self._counts[rows, client] > self._low[rows, client]].tolist()
        if self._sums[k, client] < self._sum_high[k, client]:
            heads.append(self._number_node(k + 1, client))
        if k and self._sums[k - 1, client] > self._sum_low[k - 1, client]:
            heads.append(self._number_node(k - 1, client))
        return heads

    def _push(self, tail: int, head: int) -> None:
        """Sends one unit from node to node: a count or a sum becomes one more, or one less where this is against its arc."""
        if tail < self._n:
            self._counts[tail, (head - self._n) % self._clients] += 1
        elif head < self._n:
            self._counts[head, (tail - self._n) % self._clients] -= 1
        elif tail < head:
            self._sums[(tail - self._n) // self._clients, (tail - self._n) % self._clients] += 1
        else:
            self._sums[(head - self._n) // self._clients, (head - self._n) % self._clients] -= 1
