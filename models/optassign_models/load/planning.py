"""Actives of least restore work under a greatest load: a heuristic, a program that bounds and guides it, neighbourhoods.

*The program* pools *cold* tasks. A task has variables x[t, c] only for clients where it is cheaper than on others, and z[t] if
it is cold, on any other client. Cold tasks of much weight fall into geometric classes. n[k, c] counts those of class k on a
client, each at the least weight of its class. The light ones are an amount u[c]:

    minimise    Σ price[t, c] x[t, c] + Σ pool price[t] z[t]
    where       Σ_c x[t, c] + z[t] = 1                                                 for every task
                Σ_t weight[t] x[t, c] + Σ_k weight[k] n[k, c] + u[c] ≤ L × size[c]     for every client
                Σ_c n[k, c] = Σ z[t] of class k,   Σ_c u[c] = Σ weight[t] z[t] of light tasks

Weights are rounded down, so that its optimum bounds every assignment; CP-SAT, or the duals of its relaxation, prove the bound.
The tasks that are whole in its solution are where the heuristic starts from.

*Neighbourhoods*: CP-SAT places the tasks of a few clients anew among these clients, at the least price: one client that has
shed tasks, the clients that have taken them, and some with room. A limit of deterministic work ends each search, so that the
same question gets the same answer (R9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.forced import exact_sum
from optassign_models.load.loads import LoadArrays
from optassign_models.load.placing import place_actives
from optassign_models.load.prices import NOT_ALLOWED, FinePrices, Prices, bound_price
from optassign_models.policy.constants import (
    CLASS_RATIO,
    LIGHT,
    NEIGHBOURHOOD_CLIENTS,
    NEIGHBOURHOOD_SEED,
    NEIGHBOURHOOD_TASKS,
    NEIGHBOURHOOD_WORK,
    NEIGHBOURHOODS,
    POOLED_WORK,
    ROUNDING,
    WEIGHT_PARTS,
    WHOLE_PAIRS,
)
from optassign_models.problem import BoolArray, IntArray
from optassign_models.target.arrays import FAR, FloatArray, Matrix, Program
from optassign_models.target.cp_sat import decide
from optassign_models.target.duals import prove_best_bound
from optassign_models.target.highs import relax

_MOST_PRICE = 1 << 36
"""A proof by duals counts greater prices in units of two, four and so on."""
_PARTS = 1 << 20
"""Weights in a neighbourhood are rounded up to this part of the greatest room."""


@dataclass(frozen=True, eq=False)
class PricedActives:
    """Actives, and a bound of their price."""

    active: IntArray
    """(T,)"""
    bound: int
    by_solver: bool
    """A solver proves the bound; otherwise covers client by client do."""
    limited: bool
    """The deadline ended some search."""


def plan_actives(loads: LoadArrays, prices: Prices, fine: FinePrices, level: float, deadline: Deadline) -> PricedActives:
    """Actives of little price with loads up to `level`, wherever that was found.

    Args:
        prices: what counts and is bounded.
        fine: the same prices with what comes after them as a little more.
    """
    best, bound, by_solver = place_actives(loads, fine.prices, level), bound_price(loads, prices, level), False

    def is_within(active: IntArray) -> bool:
        return loads.greatest(active) <= level * (1 + ROUNDING)

    def is_best() -> bool:
        return is_within(best) and add_up(prices, best) <= bound

    def rank(active: IntArray) -> tuple[float, int]:
        return max(level, loads.greatest(active)), add_up(fine.prices, active)

    pooled = None if is_best() else _Pooled.state(loads, fine.prices, level)
    for whole in (False, True) if pooled is not None and len(pooled.x) <= WHOLE_PAIRS else (False,):
        if pooled is None or is_best():
            break
        values, proven = pooled.decide(deadline) if whole else pooled.relax(deadline)
        if proven is not None and fine.bound_coarse(proven) > bound:
            bound, by_solver = fine.bound_coarse(proven), True
        if values is not None:
            best = min((best, place_actives(loads, fine.prices, level, start=pooled.read(values))), key=rank)
    if is_within(best) and not is_best():
        best = _Neighbourhoods(loads, fine.prices, level, best).improve(deadline)
    return PricedActives(best, bound, by_solver, limited=pooled is not None and not deadline.left)


def add_up(prices: Prices, active: IntArray) -> int:
    """The sum of the prices of actives (T,)."""
    return exact_sum(_pay(prices, active))


def _pay(prices: Prices, active: IntArray) -> IntArray:
    """(T,) the price of each active where it is."""
    price = prices.pool.copy()
    here = active[prices.task] == prices.client
    price[prices.task[here]] = prices.column[here]
    return price


@dataclass(frozen=True, eq=False)
class _Pooled:
    """The program in arrays."""

    matrix: Matrix
    cost: IntArray
    x: IntArray
    """(k,) variables, with the task and the client of each."""
    task: IntArray
    client: IntArray
    T: int

    @classmethod
    def state(cls, loads: LoadArrays, prices: Prices, level: float) -> _Pooled:
        program, T, open_ = Program(), loads.T, loads.open_clients
        fits = loads.is_oversized[prices.task] | loads.fits_thread(prices.task, prices.client, level)
        near = np.flatnonzero((prices.column < prices.pool[prices.task]) & fits)
        task, client = prices.task[near], prices.client[near]
        part = max(float(loads.weight.mean()), 1e-12) / WEIGHT_PARTS

        def count(weights: FloatArray) -> IntArray:
            return np.floor(weights / part).astype(np.int64)

        room = np.minimum(loads.measure_room(level), loads.weight.sum() + float(loads.size.max())) / part
        room = np.ceil(room).astype(np.int64)[open_]
        one = np.ones(T, dtype=np.int64)
        x = program.add_variables(np.zeros_like(near), np.ones_like(near))
        z = program.add_variables(np.zeros_like(one), one)
        u = program.add_variables(np.zeros_like(room), room)
        once = program.add_rows(one, one)
        program.add_entries(once[task], x, 1)
        program.add_entries(once, z, 1)
        within = np.full(loads.C, -1, dtype=np.int64)
        within[open_] = program.add_rows(np.full(len(open_), -FAR), room)
        program.add_weighted_entries(within[client], x, count(loads.weigh_pairs(task, client)))
        program.add_entries(within[open_], u, 1)
        of_task, least = _classify(loads, level)
        nothing = np.zeros(len(least) + 1, dtype=np.int64)
        pools = program.add_rows(nothing, nothing)  # one for each class, and the last one of the light tasks
        program.add_entries(np.repeat(pools[-1:], len(open_)), u, 1)
        heavy = of_task >= 0
        program.add_entries(pools[of_task[heavy]], z[heavy], -1)
        program.add_weighted_entries(np.repeat(pools[-1:], int(np.sum(~heavy))), z[~heavy], -count(loads.weight[~heavy]))
        for k, weight in enumerate(least.tolist()):
            able = open_[weight <= level * loads.capacity[open_] * (1 + ROUNDING)]
            number = np.full(len(able), int(np.sum(of_task == k)))
            n = program.add_variables(np.zeros_like(number), number)
            program.add_weighted_entries(within[able], n, np.repeat(count(least[k : k + 1]), len(able)))
            program.add_entries(np.repeat(pools[k : k + 1], len(able)), n, 1)
        cost = np.zeros(program.variables, dtype=np.int64)
        cost[x], cost[z] = prices.column[near], prices.pool
        return cls(program.finish(), cost, x, task, client, T)

    @property
    def _spare_bits(self) -> int:
        """Bits of prices that proofs leave out, so that products of duals and weights have room in 64."""
        return (int(self.cost.max(initial=0)) // _MOST_PRICE).bit_length()

    def relax(self, deadline: Deadline) -> tuple[FloatArray | IntArray | None, int | None]:
        """Values (variables,) of the relaxation, and the bound that its duals prove."""
        found = relax(self.matrix, self.cost >> self._spare_bits, deadline)
        if found is None:
            return None, None
        proof = prove_best_bound(self.matrix, self.cost >> self._spare_bits, found.duals)
        return found.values, proof.bound << self._spare_bits

    def decide(self, deadline: Deadline) -> tuple[FloatArray | IntArray | None, int | None]:
        """Whole values (variables,), and a bound, by CP-SAT."""
        found = decide(self.matrix, self.cost, None, POOLED_WORK, deadline, presolves=True)
        return found.values, found.bound

    def read(self, values: FloatArray | IntArray) -> IntArray:
        """(T,) clients of the actives that x gives (variables,); −1 for cold tasks."""
        active = np.full(self.T, -1, dtype=np.int64)
        chosen = values[self.x] > 0.5
        active[self.task[chosen]] = self.client[chosen]
        return active


def _classify(loads: LoadArrays, level: float) -> tuple[IntArray, FloatArray]:
    """(T,) class of each task, −1 for light ones, and the least weight in each class."""
    light = LIGHT * level * float(np.median(loads.size[loads.open_clients]))
    heavy = loads.weight > light
    of_task = np.full(loads.T, -1, dtype=np.int64)
    grade = np.floor(np.log(loads.weight[heavy] / light) / math.log(CLASS_RATIO)).astype(np.int64)
    kinds, of_task[heavy] = np.unique(grade, return_inverse=True)
    least = np.full(len(kinds), np.inf)
    np.minimum.at(least, of_task[heavy], loads.weight[heavy])
    return of_task, least


class _Neighbourhoods:
    """Actives, changed in place. Loads stay up to a level, and clients that had a task for each thread keep them."""

    def __init__(self, loads: LoadArrays, prices: Prices, level: float, active: IntArray) -> None:
        self._loads, self._prices, self._level, self._active = loads, prices, level, active.copy()
        self._is_cheap = prices.column == prices.base[prices.task]
        self._random = np.random.default_rng(NEIGHBOURHOOD_SEED)

    def improve(self, deadline: Deadline) -> IntArray:
        """(T,) the actives after some neighbourhoods, of no greater price."""
        dull = np.zeros(self._loads.C, dtype=np.bool_)
        for turn in range(NEIGHBOURHOODS):
            lost = self._sum_up_lost()
            givers = np.flatnonzero((lost > 0) & ~dull)
            if not len(givers):
                dull[:] = False
                givers = np.flatnonzero(lost > 0)
            if not len(givers) or not deadline.left:
                break
            centre = int(givers[np.argmax(lost[givers])] if turn % 2 == 0 else self._random.choice(givers))
            clients = self._choose_clients(centre)
            is_better, is_optimal = self._place_anew(clients, deadline)
            dull[clients] &= not is_better
            dull[centre] |= not is_better
            if is_optimal and len(clients) == len(self._loads.open_clients):
                break
        return self._active

    def _is_home(self) -> BoolArray:
        """(A,) columns that are the cheapest of a task that is dearer where it is."""
        paid = _pay(self._prices, self._active) > self._prices.base
        return self._is_cheap & paid[self._prices.task]

    def _sum_up_lost(self) -> FloatArray:
        """(C,) what tasks cost more than on their cheapest client, for that client."""
        prices, home = self._prices, self._is_home()
        task, first = np.unique(prices.task[home], return_index=True)
        more = (_pay(prices, self._active) - prices.base)[task].astype(np.float64)
        lost: FloatArray = np.bincount(prices.client[home][first], weights=more, minlength=self._loads.C).astype(np.float64)
        return lost

    def _choose_clients(self, centre: int) -> IntArray:
        """The centre, the clients that have its tasks, some where these are as cheap, and some with room, ascending."""
        loads, prices, half = self._loads, self._prices, NEIGHBOURHOOD_CLIENTS // 2
        shed = prices.task[self._is_home() & (prices.client == centre)]
        taken = self._active[shed[np.argsort(-prices.pool[shed], kind="stable")]][:half]
        own = np.flatnonzero(self._active == centre)
        alike = np.unique(prices.client[self._is_cheap & np.isin(prices.task, own)])
        room = loads.size * self._level - loads.sum_up(self._active)
        by_room = loads.open_clients[np.argsort(-room[loads.open_clients], kind="stable")]
        roomy = by_room[: 2 * NEIGHBOURHOOD_CLIENTS]
        chosen = [centre, *taken.tolist(), *self._random.permutation(alike)[:half].tolist()]
        chosen += self._random.permutation(roomy).tolist() + self._random.permutation(loads.open_clients).tolist()
        return np.array(sorted(list(dict.fromkeys(chosen))[:NEIGHBOURHOOD_CLIENTS]), dtype=np.int64)

    def _place_anew(self, clients: IntArray, deadline: Deadline) -> tuple[bool, bool]:
        """Place the clients' tasks anew among them; whether that costs less, and whether the result is proven to be least."""
        loads = self._loads
        inside = np.isin(self._active, clients)
        tasks = np.flatnonzero(inside & ~loads.is_oversized)
        if not len(tasks) or len(tasks) > NEIGHBOURHOOD_TASKS:
            return False, False
        here = np.searchsorted(clients, self._active[tasks])
        price = self._price(tasks, clients)
        bears = loads.weight[tasks][:, None] <= self._level * loads.capacity[clients][None, :] * (1 + ROUNDING)
        task, client = np.nonzero((bears & (price < NOT_ALLOWED)) | (np.arange(len(clients)) == here[:, None]))
        others = self._active.copy()
        others[tasks] = -1
        room = loads.measure_room(self._level)[clients] - loads.sum_up(others)[clients]
        part = max(float(room.max()), 1e-9) / _PARTS
        weight = np.ceil(loads.weight[tasks] / part).astype(np.int64)
        now = np.zeros(len(clients), dtype=np.int64)
        np.add.at(now, here, weight)  # the present tasks fit, though weights are rounded up
        kept = np.bincount(others[others >= 0], minlength=loads.C)[clients]
        least = np.minimum(loads.least_number[clients] - kept, np.bincount(here, minlength=len(clients)))
        program, one = Program(), np.ones(len(tasks), dtype=np.int64)
        x = program.add_variables(np.zeros_like(task), np.ones_like(task))
        program.add_entries(program.add_rows(one, one)[task], x, 1)
        within = program.add_rows(np.full(len(clients), -FAR), np.maximum(np.floor(room / part).astype(np.int64), now))
        program.add_weighted_entries(within[client], x, weight[task])
        program.add_entries(program.add_rows(np.maximum(least, 0), np.full(len(clients), len(tasks)))[client], x, 1)
        cost, hint = price[task, client], (client == here[task]).astype(np.int64)
        less = program.finish().with_row(cost, exact_sum(cost, hint) - 1)
        found = decide(less, cost, hint, NEIGHBOURHOOD_WORK, deadline, presolves=True)
        if found.values is None:
            return False, found.is_impossible
        others[tasks[task[found.values > 0]]] = clients[client[found.values > 0]]
        self._active = others
        return True, found.is_optimal(cost)

    def _price(self, tasks: IntArray, clients: IntArray) -> IntArray:
        """(tasks, clients) prices."""
        prices = self._prices
        found = np.repeat(prices.pool[tasks][:, None], len(clients), axis=1)
        own = np.flatnonzero(np.isin(prices.task, tasks) & np.isin(prices.client, clients))
        found[np.searchsorted(tasks, prices.task[own]), np.searchsorted(clients, prices.client[own])] = prices.column[own]
        return found
