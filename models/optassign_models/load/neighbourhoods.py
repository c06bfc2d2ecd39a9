"""Active copies of a few clients placed anew among these clients, again and again (large neighbourhood search, Shaw 1998).

CP-SAT places them at the least price with loads up to a level: those of a client that lacks tasks which are cheaper there, of
the clients that have these tasks, and of clients with room. A limit of deterministic work ends each search, so that the same
question gets the same answer (R9).
"""

from __future__ import annotations

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.forced import Forced, exact_sum
from optassign_models.load.loads import LoadArrays
from optassign_models.load.placing import price_actives
from optassign_models.policy.constants import (
    NEIGHBOURHOOD_CLIENTS,
    NEIGHBOURHOOD_COPIES,
    NEIGHBOURHOOD_SEED,
    NEIGHBOURHOOD_TRIES,
    NEIGHBOURHOOD_WORK,
    NEIGHBOURHOODS,
    ROUNDING,
)
from optassign_models.problem import IntArray, Problem
from optassign_models.target.arrays import FAR, Program
from optassign_models.target.cp_sat import decide

_PARTS = 1 << 20
"""Weights in a neighbourhood are rounded up to this part of the greatest room."""


class Neighbourhoods:
    """Actives on clients, changed in place, with loads up to `level`; clients keep a task for each thread."""

    def __init__(self, problem: Problem, forced: Forced, loads: LoadArrays, level: float, active: IntArray) -> None:
        self._problem, self._loads, self._level, self._active = problem, loads, level, active.copy()
        self._price = price_actives(problem, forced)
        self._random = np.random.default_rng(NEIGHBOURHOOD_SEED)

    def improve(self, deadline: Deadline) -> IntArray:
        """Return the actives (T,) after some neighbourhoods, which cost no more than the start."""
        loads, failures = self._loads, np.zeros(self._loads.C, dtype=np.int64)
        for turn in range(NEIGHBOURHOODS):
            column, loss = self._find_cheaper()
            lost = np.bincount(self._problem.col_client[column], weights=loss, minlength=loads.C)
            centres = np.flatnonzero((lost > 0) & (failures < NEIGHBOURHOOD_TRIES))
            if not len(centres) or not deadline.left:
                break
            centre = int(centres[np.argmax(lost[centres])] if turn % 2 == 0 else self._random.choice(centres))
            clients = self._choose_clients(centre, column, loss)
            is_better, is_optimal = self._place_anew(clients, deadline)
            if is_better:
                failures[clients] = 0
            else:
                failures[centre] += 1
            if is_optimal and len(clients) == len(loads.open_clients):
                break
        return self._active

    def _price_of(self, keys: IntArray) -> IntArray:
        """Return (n,) the prices of actives on pairs (n,) of task × C + client."""
        return self._problem.look_up(keys, self._price.columns, self._price.pools[keys // self._problem.C])

    def _find_cheaper(self) -> tuple[IntArray, IntArray]:
        """Return (m,) columns on which a task is cheaper than on its client, and (m,) how much cheaper."""
        problem = self._problem
        now = self._price_of(np.arange(problem.T) * problem.C + self._active)
        loss = np.where(self._loads.size[problem.col_client] > 0, now[problem.col_task] - self._price.columns, 0)
        column = np.flatnonzero(loss > 0)
        return column, loss[column]

    def _choose_clients(self, centre: int, column: IntArray, loss: IntArray) -> IntArray:
        """Return the centre and clients that have tasks it lacks, are cheap for its tasks, or have room; ascending."""
        problem, loads, half = self._problem, self._loads, NEIGHBOURHOOD_CLIENTS // 2
        own = np.flatnonzero(problem.col_client[column] == centre)
        lacked = problem.col_task[column[own[np.argsort(-loss[own], kind="stable")]]]
        cheap = self._price.columns < self._price.pools[problem.col_task]
        alike = np.unique(problem.col_client[cheap & (self._active[problem.col_task] == centre)])
        room = loads.size * self._level - loads.sum_up(self._active)
        by_room = loads.open_clients[np.argsort(-room[loads.open_clients], kind="stable")]
        chosen = [centre, *self._active[lacked].tolist()[:half], *self._random.permutation(alike)[: half // 2].tolist()]
        chosen += self._random.permutation(by_room[: 2 * NEIGHBOURHOOD_CLIENTS]).tolist()
        chosen += self._random.permutation(loads.open_clients).tolist()
        chosen = [client for client in dict.fromkeys(chosen) if loads.size[client] > 0]
        return np.array(sorted(chosen[:NEIGHBOURHOOD_CLIENTS]), dtype=np.int64)

    def _place_anew(self, clients: IntArray, deadline: Deadline) -> tuple[bool, bool]:
        """Place the clients' actives anew; return whether that costs less, and whether the result is proven to be least."""
        loads, number = self._loads, len(clients)
        tasks = np.flatnonzero(np.isin(self._active, clients) & ~loads.is_oversized)
        if not 0 < len(tasks) <= NEIGHBOURHOOD_COPIES:
            return False, False
        here = np.searchsorted(clients, self._active[tasks])
        may = loads.weight[tasks][:, None] <= self._level * loads.capacity[clients] * (1 + ROUNDING)
        may[np.arange(len(tasks)), here] = True
        task, client = np.nonzero(may)
        now = (here[task] == client).astype(np.int64)

        # What is there fits, though rounded up.
        own = np.bincount(here, weights=loads.weight[tasks], minlength=number)
        room = loads.measure_room(self._level)[clients] - (loads.sum_up(self._active)[clients] - own)
        part = max(float(room.max()), 1e-9) / _PARTS
        weight = np.ceil(loads.weight[tasks] / part).astype(np.int64)[task]
        present = np.bincount(client, weights=weight * now, minlength=number).astype(np.int64)
        carries = np.bincount(here, minlength=number)
        elsewhere = np.bincount(self._active, minlength=loads.C)[clients] - carries
        least = np.clip(loads.least_number[clients] - elsewhere, 0, carries)

        program = Program()
        a = program.add_variables(np.zeros_like(now), np.ones_like(now))
        one = np.ones(len(tasks), dtype=np.int64)
        program.add_entries(program.add_rows(one, one)[task], a, 1)
        most = np.maximum(np.floor(room / part).astype(np.int64), present)
        program.add_entries(program.add_rows(np.full(number, -FAR), most)[client], a, weight)
        program.add_entries(program.add_rows(least, np.full(number, len(tasks)))[client], a, 1)
        cost = self._price_of(tasks[task] * loads.C + clients[client])
        less = program.finish().with_row(cost, exact_sum(cost, now) - 1)
        found = decide(less, cost, now, NEIGHBOURHOOD_WORK, deadline, presolves=True)
        if found.values is None:
            return False, found.is_impossible
        chosen = np.flatnonzero(found.values)
        self._active[tasks[task[chosen]]] = clients[client[chosen]]
        return True, found.is_optimal(cost)
