"""Copies of a few clients placed anew among these clients, again and again (large neighbourhood search, Shaw 1998).

CP-SAT places them at least cost with loads up to a level: a client that lacks copies which it has state of, the clients that
have these copies, and clients with room. A limit of deterministic work ends each search, so that the same question gets the
same answer (R9). The costs are those of the default order's goals: restore work, and a little for each goal after it.
"""

from __future__ import annotations

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.forced import Forced, exact_sum
from optassign_models.goals import DEFAULT_ORDER
from optassign_models.goals.default_order import RESTORE_WORK
from optassign_models.goals.goal import PairCosts
from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.policy.constants import (
    NEIGHBOURHOOD_CLIENTS,
    NEIGHBOURHOOD_COPIES,
    NEIGHBOURHOOD_SEED,
    NEIGHBOURHOOD_TRIES,
    NEIGHBOURHOOD_WORK,
    NEIGHBOURHOODS,
    ROUNDING,
)
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.target.arrays import FAR, Matrix, Program
from optassign_models.target.cp_sat import decide

_PARTS = 1 << 20
"""Weights in a neighbourhood are rounded up to this part of the greatest room."""
_MOST_COST = 1 << 40
"""Greater costs are counted in greater units, so that sums over a neighbourhood stay exact."""


def _price(problem: Problem, forced: Forced) -> tuple[PairCosts, PairCosts]:
    """Return the costs of copies, and what active copies cost in addition, on columns (A,) and in pools (T,).

    They are those of the default order: restore work, and each goal after it counts half of the one before.
    """
    unit = 1 + max(int(problem.col_cost.max(initial=0)), int(problem.pool_cost.max(initial=0))) // _MOST_COST
    copy, active = (PairCosts.nothing(problem) for _ in range(2))
    for place, goal in enumerate(reversed(DEFAULT_ORDER)):
        of_copy, of_active, of_standby = (
            PairCosts.nothing(problem) if price is None else price(problem)
            for price in (goal.cost_per_copy, goal.cost_per_active, goal.cost_per_standby)
        )
        if goal is RESTORE_WORK:
            of_copy = PairCosts(of_copy.columns // unit, of_copy.pools // unit)
        copy = copy.plus(of_copy, 1 << place).plus(of_standby, 1 << place)
        active = active.plus(of_active, 1 << place).plus(of_standby, -(1 << place))
    is_free = forced.mandatory | (forced.tied & forced.tie_not_caught_up[problem.col_task])
    is_pool_free = forced.pool_tied & forced.tie_not_caught_up
    copy = PairCosts(np.where(is_free, 0, copy.columns), np.where(is_pool_free, 0, copy.pools[:, 0]))
    return copy, PairCosts(active.columns, active.pools[:, 0])


class Neighbourhoods:
    """Copies on clients, changed in place, with loads up to `level`; clients keep a task for each thread."""

    def __init__(self, problem: Problem, forced: Forced, loads: LoadArrays, level: float, start: Placement) -> None:
        self._problem, self._loads, self._level = problem, loads, level
        self._copy_cost, self._active_cost = _price(problem, forced)
        self._active = start.active.copy()
        self._task, self._client = start.standby_task.copy(), start.standby_client.copy()
        copy = self._copy_cost
        open_ = loads.size[problem.col_client] > 0
        self._cheap = np.flatnonzero((copy.columns < copy.pools[problem.col_task]) & open_)
        self._random = np.random.default_rng(NEIGHBOURHOOD_SEED)

    def improve(self, deadline: Deadline) -> Placement:
        """Return the placement after some neighbourhoods, which costs no more than the start."""
        failures = np.zeros(self._loads.C, dtype=np.int64)
        for turn in range(NEIGHBOURHOODS):
            missing, loss = self._find_missing()
            lost = np.bincount(self._problem.col_client[missing], weights=loss, minlength=self._loads.C)
            centres = np.flatnonzero((lost > 0) & (failures < NEIGHBOURHOOD_TRIES))
            if not len(centres) or not deadline.left:
                break
            centre = int(centres[np.argmax(lost[centres])] if turn % 2 == 0 else self._random.choice(centres))
            clients = self._choose_clients(centre, missing, loss)
            is_better, is_optimal = self._place_anew(clients, deadline)
            if is_better:
                failures[clients] = 0
            else:
                failures[centre] += 1
            if is_optimal and len(clients) == len(self._loads.open_clients):
                break
        keys = self._task * self._problem.C + self._client
        return make_placement(self._active, keys, self._problem.C)

    def _find_missing(self) -> tuple[IntArray, IntArray]:
        """Return (m,) columns without a copy of a task that has a dearer copy elsewhere, and (m,) how much dearer it is."""
        problem, copy = self._problem, self._copy_cost
        held = np.concatenate([np.arange(problem.T) * problem.C + self._active, self._task * problem.C + self._client])
        held = held[problem.logged[held // problem.C]]
        cost = problem.look_up(held, copy.columns, copy.pools[held // problem.C])
        dearest = np.zeros(problem.T, dtype=np.int64)
        np.maximum.at(dearest, held // problem.C, cost)
        lacks = ~np.isin(problem.col_keys, held)
        loss = dearest[problem.col_task[self._cheap]] - copy.columns[self._cheap]
        kept = lacks[self._cheap] & (loss > 0)
        return self._cheap[kept], loss[kept]

    def _choose_clients(self, centre: int, missing: IntArray, loss: IntArray) -> IntArray:
        """Return the centre and clients that have copies it lacks, share tasks with it, or have room; ascending."""
        problem, loads, half = self._problem, self._loads, NEIGHBOURHOOD_CLIENTS // 2
        own = problem.col_client[missing] == centre
        lacked = problem.col_task[missing[own]][np.argsort(-loss[own], kind="stable")]
        has = {int(t): [int(self._active[t])] for t in lacked.tolist()}
        for at in np.flatnonzero(np.isin(self._task, lacked)).tolist():
            has[int(self._task[at])].append(int(self._client[at]))
        takers = [client for t in lacked.tolist() for client in has[t]][: half + problem.standbys]
        led = np.flatnonzero(self._active == centre)
        cheap = self._cheap[np.isin(problem.col_task[self._cheap], led)]
        alike = np.union1d(self._client[np.isin(self._task, led)], problem.col_client[cheap])
        room = loads.size * self._level - self._sum_up()
        by_room = loads.open_clients[np.argsort(-room[loads.open_clients], kind="stable")]
        chosen = [centre, *takers, *self._random.permutation(alike)[: half // 2].tolist()]
        chosen += self._random.permutation(by_room[: 2 * NEIGHBOURHOOD_CLIENTS]).tolist()
        chosen += self._random.permutation(loads.open_clients).tolist()
        chosen = [client for client in dict.fromkeys(chosen) if loads.size[client] > 0]
        return np.array(sorted(chosen[:NEIGHBOURHOOD_CLIENTS]), dtype=np.int64)

    def _sum_up(self) -> FloatArray:
        """Return (C,) the weight on each client."""
        keys = self._task * self._problem.C + self._client
        return self._loads.sum_up_all(make_placement(self._active, keys, self._problem.C))

    def _place_anew(self, clients: IntArray, deadline: Deadline) -> tuple[bool, bool]:
        """Place the clients' copies anew; return whether that costs less, and whether the result is proven to be least."""
        loads = self._loads
        actives = np.flatnonzero(np.isin(self._active, clients) & ~loads.is_oversized)
        standbys = np.flatnonzero(np.isin(self._client, clients) & ~loads.is_oversized[self._task])
        if not 0 < len(actives) + len(standbys) <= NEIGHBOURHOOD_COPIES:
            return False, False
        tasks = np.union1d(actives, self._task[standbys])
        leads: BoolArray = np.zeros((len(tasks), len(clients)), dtype=np.bool_)
        leads[np.searchsorted(tasks, actives), np.searchsorted(clients, self._active[actives])] = True
        holds: BoolArray = leads.copy()
        holds[np.searchsorted(tasks, self._task[standbys]), np.searchsorted(clients, self._client[standbys])] = True
        (matrix, cost, now), hold, lead = self._state(tasks, clients, leads, holds)
        less = matrix.with_row(cost, exact_sum(cost, now) - 1)
        found = decide(less, cost, now, NEIGHBOURHOOD_WORK, deadline, presolves=True)
        if found.values is None:
            return False, found.is_impossible
        held, led = hold[found.values[: len(hold)] > 0], lead[found.values[len(hold) :] > 0]
        self._active[led // loads.C] = led % loads.C
        task, client = np.divmod(held, loads.C)
        is_standby = self._active[task] != client
        stays = np.setdiff1d(np.arange(len(self._task)), standbys)
        self._task = np.concatenate([self._task[stays], task[is_standby]])
        self._client = np.concatenate([self._client[stays], client[is_standby]])
        return True, found.is_optimal(cost)

    def _state(
        self, tasks: IntArray, clients: IntArray, leads: BoolArray, holds: BoolArray
    ) -> tuple[tuple[Matrix, IntArray, IntArray], IntArray, IntArray]:
        """State the program that places these tasks' copies on these clients anew.

        There are as many copies and actives per task as now, each active among the copies, loads within the level or as now,
        and no client below its least number of actives. `leads`, `holds`: (tasks, clients) where actives and copies are now.

        Returns:
            The program, its costs (n,) and present values (n,); task × C + client of the variables of copies (k,), which come
            first, and of the variables of active copies (l,).
        """
        loads, number, program = self._loads, len(clients), Program()
        light = np.zeros(len(tasks)) if loads.standby is None else loads.standby[tasks]
        limit = self._level * loads.capacity[clients] * (1 + ROUNDING)
        hold = np.argwhere(holds | (light[:, None] <= limit))
        may_lead = (loads.weight[tasks][:, None] <= limit) & (leads.sum(axis=1) > 0)[:, None]
        lead = np.argwhere(leads | (may_lead & (light[:, None] <= limit)))
        y, a = (program.add_variables(np.zeros_like(at[:, 0]), np.ones_like(at[:, 0])) for at in (hold, lead))
        copy_at = np.full(leads.shape, -1, dtype=np.int64)
        copy_at[tuple(hold.T)] = y
        for variables, at, counts in ((y, hold, holds.sum(axis=1)), (a, lead, leads.sum(axis=1))):
            program.add_entries(program.add_rows(counts, counts)[at[:, 0]], variables, 1)
        inside = program.add_rows(np.zeros_like(a), np.ones_like(a))
        program.add_entries(inside, copy_at[tuple(lead.T)], 1)
        program.add_entries(inside, a, -1)

        now = np.concatenate([holds[tuple(hold.T)], leads[tuple(lead.T)]]).astype(np.int64)
        weight = np.concatenate([light[hold[:, 0]], (loads.weight[tasks] - light)[lead[:, 0]]])
        client = np.concatenate([hold[:, 1], lead[:, 1]])
        own = np.bincount(client, weights=weight * now, minlength=number)
        room = loads.measure_room(self._level)[clients] - (self._sum_up()[clients] - own)
        part = max(float(room.max()), 1e-9) / _PARTS
        whole = np.ceil(weight / part).astype(np.int64)
        most = np.floor(room / part).astype(np.int64)
        present = np.bincount(client, weights=whole * now, minlength=number).astype(np.int64)
        within = program.add_rows(np.full(number, -FAR), np.maximum(most, present))  # what is there fits, though rounded up
        program.add_entries(within[client], np.concatenate([y, a]), whole)
        led = leads.sum(axis=0)
        elsewhere = np.bincount(self._active, minlength=loads.C)[clients] - led
        least = np.clip(loads.least_number[clients] - elsewhere, 0, led)
        program.add_entries(program.add_rows(least, np.full(number, len(tasks)))[lead[:, 1]], a, 1)

        hold_keys, lead_keys = (tasks[at[:, 0]] * loads.C + clients[at[:, 1]] for at in (hold, lead))
        prices = ((hold_keys, self._copy_cost), (lead_keys, self._active_cost))
        cost = [self._problem.look_up(keys, each.columns, each.pools[keys // loads.C]) for keys, each in prices]
        return (program.finish(), np.concatenate(cost), now), hold_keys, lead_keys
