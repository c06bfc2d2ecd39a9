"""Standbys for given actives. Standbys that weigh something move, or are traded, if a client has too much with them.

A standby goes to the cheapest client to restore, then to the previous one, then to the clients with fewest copies.

From a client beyond its level a copy goes to a client with room, the one that lightens it at the least offsets to restore; an
active copy and its own standby may change roles, which restores nothing; where neither is possible standbys are traded for
lighter ones. Each step brings the client nearer to its level and no other beyond it, or lowers the greater load of two.
"""

from __future__ import annotations

import heapq

import numpy as np

from optassign_models.forced import Forced
from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.policy.constants import LEAST_GAIN, MOVE_OFFSETS, PARTNERS, ROUNDING, SEED, TRADES
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement


def place_standbys(problem: Problem, forced: Forced, loads: LoadArrays, active: IntArray) -> Placement:
    """A placement with these actives (T,); each logged task's standbys by themselves (R2, R4), draining clients last."""
    C, n = problem.C, problem.standbys
    logged = np.flatnonzero(problem.logged)
    if not n or not len(logged):
        return make_placement(active, np.zeros(0, dtype=np.int64), C)
    cost = np.where(forced.mandatory, 0, problem.col_cost)
    order = np.lexsort((problem.col_client, problem.col_lag, ~problem.col_standby, cost, problem.col_task))
    order = order[loads.size[problem.col_client[order]] > 0]
    start = np.searchsorted(problem.col_task[order], np.arange(problem.T + 1))
    number = np.bincount(active[logged], minlength=C).astype(np.float64)
    size = np.where(loads.size > 0, loads.size, 1e-9)  # draining clients come last
    given: list[int] = []
    waiting: list[tuple[int, int, set[int]]] = []
    for task in logged.tolist():
        own = order[start[task] : start[task + 1]]
        own = own[problem.col_client[own] != active[task]]
        cheap = own[cost[own] < problem.pool_cost[task]][:n]
        clients = problem.col_client[cheap].tolist()
        given.extend(task * C + client for client in clients)
        number[clients] += 1
        if len(clients) < n:
            waiting.append((task, n - len(clients), {*clients, int(active[task])}))
    heap = [(float(number[c] / size[c]), c) for c in range(C)]
    heapq.heapify(heap)
    for task, missing, without in waiting:
        passed = []
        while missing:
            entry = heapq.heappop(heap)
            client = entry[1]
            if client in without:
                passed.append(entry)
                continue
            given.append(task * C + client)
            number[client] += 1
            passed.append((float(number[client] / size[client]), client))
            without.add(client)
            missing -= 1
        for entry in passed:
            heapq.heappush(heap, entry)
    return make_placement(active, np.array(given, dtype=np.int64), C)


def lighten(
    problem: Problem, loads: LoadArrays, placed: Placement, level: float, forced: Forced | None, *, moves_actives: bool = True
) -> Placement:
    """The placement with loads up to `level`, or as near as steps of one or two copies come to it.

    forced: what R3 to R5 force now and so costs nothing; None: nothing that is restored counts.
    """
    if loads.standby is None or loads.greatest_of(placed) <= level * (1 + ROUNDING):
        return placed
    search = _Search(problem, loads, placed, level, forced)
    search.moves_actives = moves_actives
    return search.run()


def even_out_standbys(problem: Problem, loads: LoadArrays, placed: Placement, level: float) -> Placement:
    """The same with standbys only on clients that have nothing of the task, and from one such client to another."""
    if loads.standby is None or loads.greatest_of(placed) <= level * (1 + ROUNDING):
        return placed
    search = _Search(problem, loads, placed, level, None)
    search.is_among_alike = True
    return search.run()


class _Search:
    """Copies, changed in place, and what their clients carry."""

    moves_actives = False
    is_among_alike = False
    """Only clients of a task's pool give and take its standbys."""

    def __init__(self, problem: Problem, loads: LoadArrays, placed: Placement, level: float, forced: Forced | None) -> None:
        assert loads.standby is not None
        self._problem, self._loads, self._level, self._forced = problem, loads, level, forced
        self._weight: FloatArray = loads.standby
        self.active = placed.active.copy()
        self.task, self.client = placed.standby_task.copy(), placed.standby_client.copy()
        self._sums = loads.sum_up_all(placed)
        self._size = np.where(loads.size > 0, loads.size, 1.0)
        self._room = loads.measure_room(level)
        self._number = np.bincount(self.active, minlength=loads.C)
        self._standbys_on: list[set[int]] = [set() for _ in range(loads.C)]
        self._holders: list[set[int]] = [{int(client)} for client in self.active]
        self._of_task: list[list[int]] = [[] for _ in range(loads.T)]
        for at, (task, client) in enumerate(zip(self.task.tolist(), self.client.tolist(), strict=True)):
            self._standbys_on[client].add(at)
            self._holders[task].add(client)
            self._of_task[task].append(at)
        self._actives_on: list[set[int]] = [set() for _ in range(loads.C)]
        for task, client in enumerate(self.active.tolist()):
            self._actives_on[client].add(task)
        self._random = np.random.default_rng(SEED)

    def run(self) -> Placement:
        """Lighten the most loaded client, again and again, and pass by who cannot be lightened; what comes of it."""
        stuck = np.zeros(self._loads.C, dtype=np.bool_)
        for _ in range(TRADES):
            over = np.flatnonzero((self._sums > self._room) & ~stuck & (self._loads.size > 0))
            if not len(over):
                break
            giver = int(over[np.argmax(self._sums[over] / self._size[over])])
            stuck[giver] = not (self._lighten(giver) or self._trade(giver))
        return make_placement(self.active, self.task * self._problem.C + self.client, self._problem.C)

    def _may_be(self, task: int, clients: IntArray) -> list[bool]:
        """Tell for each client whether it may take a standby of the task."""
        holders = self._holders[task]
        if not self.is_among_alike:
            return [client not in holders for client in clients.tolist()]
        in_pool = self._problem.find(task * self._problem.C + clients) < 0
        return [alike and client not in holders for client, alike in zip(clients.tolist(), in_pool.tolist(), strict=True)]

    def _may_leave(self, at: int) -> bool:
        key = int(self.task[at]) * self._problem.C + int(self.client[at])
        return not self.is_among_alike or bool(self._problem.find(np.array([key]))[0] < 0)

    def _cost_of(self, task: int, clients: IntArray) -> IntArray:
        if self._forced is None:
            return np.zeros(len(clients), dtype=np.int64)
        keys = task * self._problem.C + clients
        is_forced = self._problem.flag_of(keys, self._forced.mandatory)
        cost: IntArray = np.where(is_forced, 0, self._problem.cost_of(keys))
        return cost

    def _lighten(self, giver: int) -> bool:
        """Make the single step within every client's room that costs least for its relief; tell whether there is one."""
        over = float(self._sums[giver] - self._room[giver])
        left = self._room - self._sums
        left[giver] = -np.inf
        best: tuple[float, float, int] | None = None
        step = (-1, -1)  # standby and its new client, or none: the active copy of its task goes to the standby's
        for at in sorted(self._standbys_on[giver]):
            task = int(self.task[at])
            weight = float(self._weight[task])
            fits = np.flatnonzero(self._fits(weight, left))
            fits = fits[self._may_be(task, fits)] if len(fits) else fits
            if not weight or not len(fits) or not self._may_leave(at):
                continue
            cost = self._cost_of(task, fits)
            there = int(np.lexsort((-left[fits] / self._size[fits], cost))[0])
            more = int(cost[there]) - int(self._cost_of(task, np.array([giver]))[0])
            rank = (more / min(weight, over), -weight, at)
            if best is None or rank < best:
                best, step = rank, (at, int(fits[there]))
        if self.moves_actives and self._number[giver] > self._loads.least_number[giver]:
            for task in sorted(self._actives_on[giver]):
                lighter = float(self._loads.weight[task] - self._weight[task])
                rank = (MOVE_OFFSETS / min(max(lighter, 1e-12), over), -lighter, task)
                if lighter <= 0 or self._loads.is_oversized[task] or (best is not None and rank >= best):
                    continue
                for at in self._of_task[task]:
                    client = int(self.client[at])
                    heavy = self._loads.weight[task] <= self._level * self._loads.capacity[client] * (1 + ROUNDING)
                    if heavy and left[client] >= lighter:
                        best, step = rank, (at, -1)
                        break
        if self.moves_actives and self._number[giver] > self._loads.least_number[giver]:
            for task in sorted(self._actives_on[giver]):
                weight = float(self._loads.weight[task])
                fits = np.flatnonzero(self._fits(weight, left))
                fits = fits[self._may_be(task, fits)] if len(fits) else fits
                if self._loads.is_oversized[task] or not len(fits):
                    continue
                cost = self._cost_of(task, fits)
                there = int(np.lexsort((-left[fits] / self._size[fits], cost))[0])
                more = int(cost[there]) - int(self._cost_of(task, np.array([giver]))[0])
                rank = ((more + MOVE_OFFSETS) / min(weight, over), -weight, task)
                if best is None or rank < best:
                    best, step = rank, (-1 - task, int(fits[there]))
        if best is None:
            return False
        if step[0] < 0:
            self._move_active(-1 - step[0], step[1])
        elif step[1] < 0:
            self._change_roles(step[0])
        else:
            self._move(*step)
        return True

    def _fits(self, weight: float, left: FloatArray) -> BoolArray:
        bears = weight <= self._loads.capacity * self._level * (1 + ROUNDING)
        fits: BoolArray = (left >= weight) & bears & (self._loads.size > 0)
        return fits

    def _trade(self, giver: int) -> bool:
        """Trade one standby for a lighter one of another client, or none, so that the greater load falls most."""
        mine = [at for at in sorted(self._standbys_on[giver]) if self._weight[self.task[at]] > 0 and self._may_leave(at)]
        load = self._sums / self._size
        others = np.flatnonzero(self._loads.size > 0)
        others = others[others != giver]
        if not mine or not len(others):
            return False
        if len(others) > 2 * PARTNERS:
            least = others[np.argsort(load[others], kind="stable")[:PARTNERS]]
            others = np.union1d(least, self._random.choice(others, PARTNERS, replace=False))
        theirs = [at for partner in others.tolist() for at in sorted(self._standbys_on[partner])]
        theirs = [at for at in theirs if self._may_leave(at) and self._may_be(int(self.task[at]), np.array([giver]))[0]]
        partner = np.concatenate([others, self.client[theirs]])  # first those who give nothing back
        back = np.concatenate([np.zeros(len(others)), self._weight[self.task[theirs]]])
        mine_weight = self._weight[self.task[mine]]
        moved = mine_weight[:, None] - back[None, :]
        more = np.maximum(
            (self._sums[giver] - moved) / self._size[giver], (self._sums[partner] + moved) / self._size[partner][None, :]
        )
        more = np.maximum(more, mine_weight[:, None] / self._loads.capacity[partner][None, :])
        may_be = np.array([self._may_be(int(self.task[at]), others) for at in mine])
        more = np.where((moved > 0) & may_be[:, np.searchsorted(others, partner)], more, np.inf)
        row, column = np.unravel_index(int(np.argmin(more)), more.shape)
        if more[row, column] >= load[giver] * (1 - LEAST_GAIN):
            return False
        self._move(mine[int(row)], int(partner[column]))
        if column >= len(others):
            self._move(theirs[int(column) - len(others)], giver)
        return True

    def _move(self, at: int, to: int) -> None:
        task, here = int(self.task[at]), int(self.client[at])
        self._standbys_on[here].discard(at)
        self._standbys_on[to].add(at)
        self._holders[task].discard(here)
        self._holders[task].add(to)
        self._sums[here] -= self._weight[task]
        self._sums[to] += self._weight[task]
        self.client[at] = to

    def _move_active(self, task: int, to: int) -> None:
        here, weight = int(self.active[task]), self._loads.weight[task]
        self._actives_on[here].discard(task)
        self._actives_on[to].add(task)
        self._holders[task].discard(here)
        self._holders[task].add(to)
        self._sums[here] -= weight
        self._sums[to] += weight
        self._number[here] -= 1
        self._number[to] += 1
        self.active[task] = to

    def _change_roles(self, at: int) -> None:
        """The standby becomes the active copy, and the active one the standby."""
        task, here = int(self.task[at]), int(self.client[at])
        there = int(self.active[task])
        difference = float(self._loads.weight[task] - self._weight[task])
        self._sums[here] += difference
        self._sums[there] -= difference
        self._number[here] += 1
        self._number[there] -= 1
        self._actives_on[there].discard(task)
        self._actives_on[here].add(task)
        self._standbys_on[here].discard(at)
        self._standbys_on[there].add(at)
        self.active[task], self.client[at] = here, there
