"""Large-neighbourhood search: the tasks of a few clients are placed anew among these clients, at the least price, by CP-SAT.

Each neighbourhood is one client that has shed tasks, the clients that have taken them, and some with room. CP-SAT works for a
fixed amount of deterministic time, so that the same question gets the same answer (R9).
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.deadline import Deadline
from optassign_models.load.loads import Loads
from optassign_models.load.prices import NOT_ALLOWED, Prices
from optassign_models.policy.constants import (
    NEIGHBOURHOOD_CLIENTS,
    NEIGHBOURHOOD_SEED,
    NEIGHBOURHOOD_TASKS,
    NEIGHBOURHOOD_WORK,
    ROUNDING,
)
from optassign_models.problem import IntArray

_GRAIN = 10**6
"""Weights are rounded up to this part of the greatest room."""


def improve_actives(loads: Loads, prices: Prices, level: float, active: IntArray, deadline: Deadline, tries: int) -> IntArray:
    """(T,) actives of no greater price; loads stay up to `level`, and clients that had a task for each thread keep them."""
    search = _Search(loads, prices, level, active)
    for turn in range(tries):
        if not deadline.left or not search.step(turn, deadline):
            break
    return search.active


class _Search:
    """Actives, changed in place."""

    def __init__(self, loads: Loads, prices: Prices, level: float, active: IntArray) -> None:
        self._loads, self._prices, self._level = loads, prices, level
        self.active = active.copy()
        self._random = np.random.default_rng(NEIGHBOURHOOD_SEED)
        self._start = prices.start
        self._dull: set[int] = set()

    def step(self, turn: int, deadline: Deadline) -> bool:
        """One neighbourhood; False where nothing is paid for any more, or the optimum over all clients is known."""
        paid = self._pay() - self._prices.base
        homes = self._list_homes()
        lost = np.bincount(homes[homes >= 0], weights=paid[homes >= 0].astype(np.float64), minlength=self._loads.C)
        if not paid.any():
            return False
        givers = np.flatnonzero(lost > 0)
        if not len(givers):
            return False
        fresh = np.array([c for c in givers[np.argsort(-lost[givers], kind="stable")].tolist() if c not in self._dull])
        if not len(fresh):
            self._dull.clear()
            fresh = givers
        centre = int(fresh[0]) if turn % 2 == 0 else int(self._random.choice(fresh))
        clients = self._choose_clients(turn, centre, homes, paid)
        is_better, is_optimal = self._solve(clients, deadline)
        if is_better:
            self._dull.difference_update(clients.tolist())
        else:
            self._dull.add(centre)
        return not (is_optimal and np.isin(self._loads.open_clients, clients).all())

    def _pay(self) -> IntArray:
        """(T,) what each active costs where it is."""
        prices = self._prices
        price = prices.pool.copy()
        here = self.active[prices.task] == prices.client
        price[prices.task[here]] = prices.column[here]
        return price

    def _list_homes(self) -> IntArray:
        """(T,) the cheapest client of each task that is not on one; −1 for the others."""
        prices = self._prices
        at = np.flatnonzero((prices.column == prices.base[prices.task]) & (prices.column < prices.pool[prices.task]))
        home = np.full(self._loads.T, -1, dtype=np.int64)
        home[prices.task[at][::-1]] = prices.client[at][::-1]
        home[self._pay() == prices.base] = -1
        return home

    def _choose_clients(self, turn: int, centre: int, homes: IntArray, paid: IntArray) -> IntArray:
        """The centre, the clients that took its tasks, and in turn clients where its tasks are as cheap, and some with room."""
        loads = self._loads
        shed = np.flatnonzero((homes == centre) & (paid > 0))
        chosen = [centre, *self.active[shed[np.argsort(-paid[shed], kind="stable")]].tolist()[: NEIGHBOURHOOD_CLIENTS // 2]]
        if turn % 3:
            chosen += self._list_others(centre, NEIGHBOURHOOD_CLIENTS // 2)
            chosen += self._list_others(chosen[-1], NEIGHBOURHOOD_CLIENTS // 2)
        room = loads.size * self._level - loads.sum_up(self.active)
        most = loads.open_clients[np.argsort(-room[loads.open_clients], kind="stable")]
        chosen += self._random.choice(most[: max(NEIGHBOURHOOD_CLIENTS, len(most) // 3)], NEIGHBOURHOOD_CLIENTS).tolist()
        chosen += self._random.choice(loads.open_clients, NEIGHBOURHOOD_CLIENTS).tolist()
        distinct = list(dict.fromkeys(chosen))[:NEIGHBOURHOOD_CLIENTS]
        return np.array(sorted(distinct), dtype=np.int64)

    def _list_others(self, client: int, number: int) -> list[int]:
        """Some of the clients where tasks of this one are as cheap as anywhere, with most room first."""
        prices = self._prices
        cheap = prices.column == prices.base[prices.task]
        tasks = np.unique(prices.task[cheap & (prices.client == client)])
        others = np.unique(prices.client[cheap & np.isin(prices.task, tasks)])
        others = others[others != client]
        if not len(others):
            return []
        room = self._loads.size * self._level - self._loads.sum_up(self.active)
        first = others[np.argsort(-room[others], kind="stable")][: 2 * number]
        return self._random.permutation(first)[:number].tolist()

    def _solve(self, clients: IntArray, deadline: Deadline) -> tuple[bool, bool]:
        """Place the clients' tasks anew; whether that costs less, and whether nothing costs less still."""
        loads, prices = self._loads, self._prices
        inside = np.isin(self.active, clients)
        tasks = np.flatnonzero(inside & ~loads.is_oversized)
        if not len(tasks) or len(tasks) > NEIGHBOURHOOD_TASKS:
            return False, False
        fixed = self.active.copy()
        fixed[tasks] = -1
        base = loads.sum_up(fixed)[clients]
        number = np.bincount(self.active[inside], minlength=loads.C)[clients]
        oversized = np.bincount(self.active[inside & loads.is_oversized], minlength=loads.C)[clients]
        room = loads.size[clients] * self._level * (1 + ROUNDING) - base
        grain = max(float(room.max()), 1e-9) / _GRAIN
        weight = np.ceil(loads.weight[tasks] / grain).astype(np.int64)
        most = np.maximum(np.floor(room / grain), 0).astype(np.int64)
        # The present tasks fit, though weights are rounded up.
        of_client = np.searchsorted(clients, self.active[tasks])
        now = np.bincount(of_client, weights=weight, minlength=len(clients)).astype(np.int64)
        most = np.where(now - most <= len(tasks), np.maximum(most, now), most)
        price = np.repeat(prices.pool[tasks][:, None], len(clients), axis=1)
        for i, task in enumerate(tasks.tolist()):
            own = slice(self._start[task], self._start[task + 1])
            at = np.searchsorted(clients, prices.client[own])
            known = (at < len(clients)) & (clients[np.minimum(at, len(clients) - 1)] == prices.client[own])
            price[i, at[known]] = prices.column[own][known]
        fits = loads.weight[tasks][:, None] <= self._level * loads.capacity[clients][None, :] * (1 + ROUNDING)
        fits &= price < NOT_ALLOWED
        fits[np.arange(len(tasks)), of_client] = True
        model = cp_model.CpModel()
        x = {(i, c): model.new_bool_var("") for i, c in zip(*(part.tolist() for part in np.nonzero(fits)), strict=True)}
        for i in range(len(tasks)):
            model.add_exactly_one([x[i, c] for c in range(len(clients)) if (i, c) in x])
        for c in range(len(clients)):
            there = [i for i in range(len(tasks)) if (i, c) in x]
            model.add(cp_model.LinearExpr.weighted_sum([x[i, c] for i in there], weight[there].tolist()) <= int(most[c]))
            least = min(int(number[c]), int(loads.least_number[clients[c]])) - int(oversized[c])
            if least > 0:
                model.add(cp_model.LinearExpr.sum([x[i, c] for i in there]) >= least)
        for (i, c), variable in x.items():
            model.add_hint(variable, int(of_client[i] == c))
        keys = list(x)
        costs = [int(price[key]) for key in keys]
        before = int(price[np.arange(len(tasks)), of_client].sum())
        total = cp_model.LinearExpr.weighted_sum([x[key] for key in keys], costs)
        model.add(total <= before - 1)
        model.minimize(total)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = NEIGHBOURHOOD_WORK
        if np.isfinite(deadline.at):
            solver.parameters.max_time_in_seconds = max(deadline.left, 1e-3)
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return False, status == cp_model.INFEASIBLE
        trial = self.active.copy()
        for (i, c), variable in x.items():
            if solver.boolean_value(variable):
                trial[tasks[i]] = clients[c]
        if loads.greatest(trial) > max(self._level, loads.greatest(self.active)) * (1 + ROUNDING):
            return False, False
        self.active = trial
        return True, status == cp_model.OPTIMAL
