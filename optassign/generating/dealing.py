"""Deal a balanced assignment directly: no solver, no history, random by a seed.

`snapshots.py` needs settled groups of any size in seconds. An assignment is dealt in three steps, the first two over whole
subtopologies and clients:

1. Actives per (subtopology, client): floor or ceiling of the client's share. The subtopologies are dealt in turn, logged ones
   first, stateless ones last; in each, clients whose running sum is due first get the ceiling (earliest deadline first, as in
   Tijdeman, The chairman assignment problem, 1980). Augmenting paths (`_SumRepair`) bring the remaining sums into their shares:
   the shares are two laminar families, so the paths exist.
2. Copies per (subtopology, client), likewise, at least as many as the actives. A third family meets the two here, so a path may
   be missing; then both are dealt again with other ties, alternately actives first and copies first.
3. Tasks (`_deal_tasks`). The numbers of actives and standbys per client that one task can have are the integer points of a
   network polytope. So any numbers within the shares can be dealt to tasks with all copies of a task on different clients (R2).
   The client with most copies left comes first.
"""

import heapq
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from optassign.errors import OptassignError
from optassign_models.problem import BoolArray, IntArray
from optassign_models.shares import narrow_to_nearest, split_copies

DEALS = 200
"""The greatest number of deals that are tried; few shapes need a second deal (tests/generating/test_generate.py)."""


def repair_sums(
    counts: IntArray, low: IntArray, high: IntArray, level: IntArray, sum_low: IntArray, sum_high: IntArray
) -> bool:
    """Bring running sums of counts into their bounds, in place, keeping each subtopology's total; return False if impossible.

    Args:
        counts: (n, C) of each subtopology on each client.
        low: (n, C) their lower bounds.
        high: (n, C) their upper bounds.
        level: (n,) of each subtopology, 0 to L − 1.
        sum_low: (L, C) lower bounds of each client's sum of all counts up to each level.
        sum_high: (L, C) upper bounds of these sums.
    """
    return _SumRepair(counts, low, high, level, sum_low, sum_high).repair()


class _SumRepair:
    """A flow of counts and sums, with a node for each subtopology and each (level, client), and a sink."""

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

    def repair(self) -> bool:
        """Bring all sums into their bounds, in place; return False if some sum has no augmenting path."""
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
        """Return the node of a client's sum at a level, or the sink after the last level."""
        return self._n + level * self._clients + client if level < self._levels else self._sink

    def _find_path(self, start: int, goal: int) -> list[int] | None:
        """Return the nodes of a shortest residual path that avoids the arc from start to goal, or None without such a path."""
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
        """Return the heads of the arcs that leave a node in the residual graph."""
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
        """Push one unit along a residual arc: a forward arc raises its count or sum by one, a backward arc lowers it."""
        if tail < self._n:
            self._counts[tail, (head - self._n) % self._clients] += 1
        elif head < self._n:
            self._counts[head, (tail - self._n) % self._clients] -= 1
        elif tail < head:
            self._sums[(tail - self._n) // self._clients, (tail - self._n) % self._clients] += 1
        else:
            self._sums[(head - self._n) // self._clients, (head - self._n) % self._clients] -= 1


class NotBalancedError(OptassignError, RuntimeError):
    """A failure to deal a balanced assignment."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """An assignment in arrays."""

    active: IntArray
    """(T,) client of each task's active copy."""
    standby: IntArray
    """(T, n) clients of each task's standbys; −1 for a missing standby."""


def deal_assignment(
    sizes: IntArray, stateful: BoolArray, logged: BoolArray, units: IntArray, standbys: int, rng: np.random.Generator
) -> Dealt:
    """Return a balanced assignment of G subtopologies to C clients: all counts are in their shares
    (optassign_models/shares.py).

    Tasks are numbered by subtopology. `NotBalancedError` if no deal is balanced, or if the capacities overflow 64-bit integers.

    Args:
        sizes: (G,) tasks of each subtopology.
        stateful: (G,) whether its tasks are stateful.
        logged: (G,) whether its tasks have a changelog.
        units: (C,) relative capacities, whole numbers > 0.
        standbys: number of standbys of each logged task, reduced to C − 1 if greater.
        rng: decides ties.
    """
    G, C = len(sizes), len(units)
    standbys = min(standbys, C - 1)
    if int(sizes.sum()) * (standbys + 1) * int(units.sum()) >= 1 << 62:
        raise NotBalancedError("capacities too fine to deal exactly")
    order = np.lexsort((np.arange(G), ~logged, ~stateful))
    level = np.where(stateful, np.where(logged, 0, 1), 2)[order]
    n = int(np.count_nonzero(logged))
    of_active, of_copies = _Shares.of(units, 1), _Shares.of(units, standbys + 1)
    one_level = np.zeros(n, dtype=np.int64)
    for turn in range(DEALS):
        # Actives first and copies first, alternately: one of the two orders usually succeeds.
        actives = copies = None
        if turn % 2 == 0:
            actives = _deal_counts(sizes[order], of_active, level, rng, nearest=True)
        if standbys:
            at_least = None if actives is None else actives[:n]
            copies = _deal_counts(sizes[order][:n], of_copies, one_level, rng, at_least=at_least)
        if turn % 2 and copies is not None:
            actives = _deal_counts(sizes[order], of_active, level, rng, at_most=copies, nearest=True)
        if actives is not None and (copies is not None or not standbys):
            active, standby = np.zeros((2, G, C), dtype=np.int64)
            active[order] = actives
            standby[order[:n]] = 0 if copies is None else copies - actives[:n]
            return Dealt(*_deal_tasks(sizes, active, standby, standbys, rng))
    raise NotBalancedError(f"none of {DEALS} deals was balanced")


@dataclass(frozen=True, eq=False)
class _Shares:
    """Each client's share of one task: numerators (C,) over a common denominator."""

    numerator: IntArray
    denominator: int

    @classmethod
    def of(cls, units: IntArray, copies: int) -> "_Shares":
        """Return the shares of `copies` copies of a task."""
        shares, _ = split_copies(units.tolist(), copies)
        denominator = lcm(*(share.denominator for share in shares))
        return cls(np.array([int(share * denominator) for share in shares], dtype=np.int64), denominator)

    def floor(self, tasks: IntArray) -> IntArray:
        """Return (n, C) the floor of each client's share of `tasks` (n,) tasks."""
        return tasks[:, None] * self.numerator // self.denominator

    def ceiling(self, tasks: IntArray) -> IntArray:
        """Return (n, C) the ceiling of each client's share of `tasks` (n,) tasks."""
        return -(-tasks[:, None] * self.numerator // self.denominator)

    def narrow(self, low: IntArray, high: IntArray, tasks: int) -> tuple[IntArray, IntArray]:
        """Return `low` and `high` (C,), floor and ceiling of the shares of `tasks` tasks, narrowed to the nearest counts."""
        return narrow_to_nearest(low, high, (tasks * self.numerator % self.denominator).tolist(), tasks)


def _deal_counts(
    sizes: IntArray,
    shares: _Shares,
    level: IntArray,
    rng: np.random.Generator,
    at_least: IntArray | None = None,
    at_most: IntArray | None = None,
    nearest: bool = False,
) -> IntArray | None:
    """Return (n, C) counts: floor or ceiling of each client's share of each subtopology; None if this deal fails.

    Args:
        sizes: (n,) tasks of each subtopology.
        shares: each client's share of one task.
        level: (n,) ascending; at the end of each level, each client's running sum is floor or ceiling of its share, too.
        rng: decides ties.
        at_least, at_most: (m, C) further bounds of the first m subtopologies.
        nearest: whether the last sums must be the counts nearest to the shares.
    """
    n, sums = len(sizes), np.cumsum(sizes)
    floor, sum_low, sum_high = shares.floor(sizes), shares.floor(sums), shares.ceiling(sums)
    low, high = floor.copy(), shares.ceiling(sizes)
    if at_least is not None:
        low[: len(at_least)] = np.maximum(low[: len(at_least)], at_least)
    if at_most is not None:
        high[: len(at_most)] = np.minimum(high[: len(at_most)], at_most)
    number = sizes * int(shares.numerator.sum()) // shares.denominator - low.sum(axis=1)
    due = _find_due(floor, sum_low)
    counts, before = low.copy(), np.zeros(low.shape[1], dtype=np.int64)
    for i in range(n):
        if number[i] < 0 or np.count_nonzero(high[i] > low[i]) < number[i]:
            return None
        base = before + low[i]
        key = np.where(base < sum_low[i], -1, due[i + 1]) + np.where(base >= sum_high[i], n + 1, 0)
        clients = np.flatnonzero(high[i] > low[i])
        counts[i, clients[np.lexsort((rng.random(len(clients)), key[clients]))[: number[i]]]] += 1
        before += counts[i]
    last = np.flatnonzero(np.diff(level, append=level[-1] + 1)) if n else np.zeros(0, dtype=np.int64)
    if n and nearest:
        sum_low[-1], sum_high[-1] = shares.narrow(sum_low[-1], sum_high[-1], int(sums[-1]))
    number_of_level = {int(level[i]): k for k, i in enumerate(last.tolist())}
    levels = np.array([number_of_level[v] for v in level.tolist()], dtype=np.int64)
    return counts if repair_sums(counts, low, high, levels, sum_low[last], sum_high[last]) else None


def _find_due(floor: IntArray, sum_low: IntArray) -> IntArray:
    """Return (n + 1, C) the first subtopology from each on in which the client's running sum needs a ceiling, or n."""
    n = len(floor)
    carries = np.diff(sum_low - np.cumsum(floor, axis=0), axis=0, prepend=0) > 0
    due = np.full((n + 1, floor.shape[1]), n, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        due[i] = np.where(carries[i], i, due[i + 1])
    return due


def _deal_tasks(
    sizes: IntArray, active: IntArray, standby: IntArray, standbys: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Deal each subtopology's places to its tasks, with all copies of a task on different clients.

    Args:
        sizes: (G,) tasks of each subtopology.
        active, standby: (G, C) places of each client.
        standbys: number of standbys of each logged task.
        rng: decides the order of tasks, and ties between clients.

    Returns:
        (T,) client of each task's active copy, and (T, standbys) clients of its standbys, −1 if missing.
    """
    T = int(sizes.sum())
    ends = np.cumsum(sizes)
    actives = np.zeros(T, dtype=np.int64)
    standby_clients = np.full((T, standbys), -1, dtype=np.int64)
    for g, (first, end) in enumerate(pairwise([0, *ends.tolist()])):
        tasks = first + rng.permutation(end - first)
        if not standby[g].any():
            actives[tasks] = np.repeat(np.arange(active.shape[1]), active[g])
        else:
            copies = _Places(active[g], standby[g], rng)
            for task in tasks.tolist():
                actives[task], standby_clients[task] = copies.take_for_task(standbys)
    return actives, standby_clients


class _Places:
    """The places of one subtopology that are not dealt yet, with a heap for each role: clients with most places left first."""

    def __init__(self, active: IntArray, standby: IntArray, rng: np.random.Generator) -> None:
        self._active, self._standby = active.tolist(), standby.tolist()
        self._left = (active + standby).tolist()
        ties = len(self._left) + 2 * int(active.sum() + standby.sum())
        self._ties = iter(rng.permutation(ties).tolist())
        self._heaps: dict[str, list[Any]] = {"active": [], "standby": []}
        for client in np.flatnonzero(active + standby).tolist():
            self._push(client)

    def take_for_task(self, standbys: int) -> tuple[int, list[int]]:
        """Take the places of one task; return its active client and its standby clients."""
        active = self._pop("active", self._active)
        chosen = [self._pop("standby", self._standby, active)]
        while len(chosen) < standbys:
            chosen.append(self._pop("standby", self._standby, active))
        self._active[active] -= 1
        for client in chosen:
            self._standby[client] -= 1
        for client in (active, *chosen):
            self._left[client] -= 1
            self._push(client)
        return active, chosen

    def _push(self, client: int) -> None:
        """Push a client on the heaps of the roles for which it has places."""
        entry = (-self._left[client], next(self._ties), client)
        if self._active[client]:
            heapq.heappush(self._heaps["active"], entry)
        if self._standby[client]:
            heapq.heappush(self._heaps["standby"], entry)

    def _pop(self, role: str, places: list[int], but: int = -1) -> int:
        """Pop the client with most places left, other than `but`, from the heap of a role."""
        heap = self._heaps[role]
        while True:
            left, _, client = heapq.heappop(heap)
            # Stale entries are skipped: the client has since been dealt a copy, with a new entry.
            if -left == self._left[client] and places[client] and client != but:
                return int(client)
