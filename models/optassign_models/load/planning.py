"""Actives of least restore work under a greatest load: a heuristic, programs that bound and guide it, neighbourhoods.

*The program* (`solve_pooled`) is one in whole numbers in which cold tasks are pooled by weight. A task has variables x[t, c]
only for clients where it is cheaper than on others, and z[t] if it is *cold*, on any other client. Cold tasks of much weight
fall into geometric classes, and n[k, c] counts those of class k that client c receives, each at the least weight of its class;
light ones are a continuous amount u[c]:

    minimise    Σ price[t, c] x[t, c] + Σ pool price[t] z[t]
    where       Σ_c x[t, c] + z[t] = 1                                  for every task
                Σ_t weight x[t, c] + Σ_k weight[k] n[k, c] + u[c] ≤ L × size[c]
                Σ_c n[k, c] = Σ z[t] of class k,   Σ_c u[c] = Σ weight z[t] of light tasks

No weight is rounded up, so that its optimum bounds every assignment; its solution is where one of real weights starts from.

*Neighbourhoods* (`improve_actives`): the tasks of a few clients are placed anew among these clients, at the least price, by
CP-SAT: one client that has shed tasks, the clients that have taken them, and some with room. CP-SAT works for a fixed amount of
deterministic time, so that the same question gets the same answer (R9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from ortools.math_opt import model_pb2, parameters_pb2, result_pb2
from ortools.sat.python import cp_model

from optassign_models.deadline import Deadline
from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.load.placing import place_actives
from optassign_models.load.prices import NOT_ALLOWED, Prices, bound_price
from optassign_models.policy.constants import (
    CLASS_RATIO,
    LIGHT,
    NEIGHBOURHOOD_CLIENTS,
    NEIGHBOURHOOD_SEED,
    NEIGHBOURHOOD_TASKS,
    NEIGHBOURHOOD_WORK,
    NEIGHBOURHOODS,
    PROGRAM_GAP,
    PROGRAM_NODES,
    PROGRAM_PAIRS,
    PROGRAM_SHARE,
    ROOM_SHARE,
    ROUNDING,
    WHOLE_PAIRS,
    WIDE_TURNS,
)
from optassign_models.problem import IntArray
from optassign_models.target.highs import solve_model, write_model

_GRAIN = 10**6
"""Weights are rounded up to this part of the greatest room."""


@dataclass(frozen=True, eq=False)
class PricedActives:
    """Actives, and what is known of their price."""

    active: IntArray
    """(T,)"""
    price: int
    bound: int
    by_program: bool
    """Whether a program bounds it, not only covers client by client."""
    limited: bool
    """The deadline ended some search."""


def plan_actives(loads: LoadArrays, prices: Prices, fine: Prices, level: float, deadline: Deadline) -> PricedActives:
    """Actives with loads up to `level`, wherever that was found, of little price.

    Args:
        prices: what counts and is bounded.
        fine: the same prices with what comes after them as a little more.
    """
    best = place_actives(loads, fine, level)
    bound = bound_price(loads, prices, level)
    by_program = limited = False
    columns = int(np.sum(prices.column < prices.pool[prices.task]))
    tried = (False, True) if columns <= WHOLE_PAIRS else (False,)
    for whole in tried if columns <= PROGRAM_PAIRS else ():
        if _is_best(loads, prices, level, best, bound):
            break
        part = Deadline.after(deadline.left * PROGRAM_SHARE if np.isfinite(deadline.at) else None)
        pooled = solve_pooled(loads, prices, level, part, PROGRAM_NODES, whole=whole)
        limited |= not part.left
        if np.isfinite(pooled.bound) and pooled.bound > bound:
            bound, by_program = int(np.ceil(pooled.bound - 1e-6 * max(1.0, abs(pooled.bound)))), True
        if pooled.active is not None:
            best = _choose(loads, fine, level, best, place_actives(loads, fine, level, start=pooled.active))
    if loads.greatest(best) <= level * (1 + ROUNDING) and not _is_best(loads, prices, level, best, bound):
        best = improve_actives(loads, fine, level, best, deadline, NEIGHBOURHOODS)
        limited |= not deadline.left
    return PricedActives(best, _add_up(prices, best), bound, by_program, limited)


def _add_up(prices: Prices, active: IntArray) -> int:
    """Sum up the prices of all actives."""
    price = prices.pool.copy()
    here = active[prices.task] == prices.client
    price[prices.task[here]] = prices.column[here]
    return int(price.sum())


def _is_best(loads: LoadArrays, prices: Prices, level: float, active: IntArray, bound: int) -> bool:
    return loads.greatest(active) <= level * (1 + ROUNDING) and _add_up(prices, active) <= bound


def _choose(loads: LoadArrays, prices: Prices, level: float, one: IntArray, other: IntArray) -> IntArray:
    """The one that is within the level, of both the cheaper."""

    def rank(active: IntArray) -> tuple[float, int, int]:
        return max(level * (1 + ROUNDING), loads.greatest(active)), loads.count_idle(active), _add_up(prices, active)

    return min((one, other), key=rank)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The program's result."""

    active: IntArray | None
    """(T,) actives where x has them, −1 for cold tasks; None where no solution was found."""
    received: IntArray
    """(k, 3) class, client and number of the cold tasks of classes."""
    member: IntArray
    """(T,) class of each task, −1 for light ones."""
    bound: float
    """A lower bound of the prices of all tasks; −inf if none was proven."""
    is_optimal: bool


@dataclass
class _Rows:
    """Rows, variables and entries in blocks."""

    low: list[FloatArray] = field(default_factory=list)
    high: list[FloatArray] = field(default_factory=list)
    cost: list[FloatArray] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row_low: list[FloatArray] = field(default_factory=list)
    row_high: list[FloatArray] = field(default_factory=list)
    entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    variables: int = 0
    rows: int = 0

    def add_variables(self, number: int, high: float, cost: FloatArray | None = None, *, whole: bool = True) -> IntArray:
        self.low.append(np.zeros(number))
        self.high.append(np.full(number, high))
        self.cost.append(np.zeros(number) if cost is None else cost.astype(np.float64))
        self.whole += [whole] * number
        self.variables += number
        return np.arange(self.variables - number, self.variables)

    def add_rows(self, low: FloatArray, high: FloatArray) -> IntArray:
        self.row_low.append(np.asarray(low, dtype=np.float64))
        self.row_high.append(np.asarray(high, dtype=np.float64))
        self.rows += len(low)
        return np.arange(self.rows - len(low), self.rows)

    def add_entries(self, rows: IntArray, variables: IntArray, values: FloatArray | float) -> None:
        self.entries.append((rows, variables, np.broadcast_to(np.asarray(values, dtype=np.float64), len(rows))))

    def write(self) -> model_pb2.ModelProto:
        """In MathOpt's format."""
        row, variable, value = (np.concatenate(parts) for parts in zip(*self.entries, strict=True))
        order = np.lexsort((variable, row))
        return write_model(
            (np.concatenate(self.low), np.concatenate(self.high)),
            np.array(self.whole),
            (np.concatenate(self.row_low), np.concatenate(self.row_high)),
            (row[order], variable[order], value[order]),
            np.concatenate(self.cost),
        )


def solve_pooled(
    loads: LoadArrays, prices: Prices, level: float, deadline: Deadline, nodes: int, *, whole: bool = True
) -> Pooled:
    """The program's solution and bound. `nodes`: a limit that does not depend on the machine (R9)."""
    T, C = loads.T, loads.C
    rows = _Rows()
    fits = loads.is_oversized[prices.task] | loads.fits_thread(prices.task, prices.client, level)
    column = np.flatnonzero((prices.column < prices.pool[prices.task]) & fits)
    task, client = prices.task[column], prices.client[column]
    is_cold_only = np.ones(T, dtype=np.bool_)
    is_cold_only[task] = False
    unit = max(1.0, float(prices.pool.max(initial=1)) / 1e6)
    x = rows.add_variables(len(column), 1.0, prices.column[column] / unit, whole=whole)
    z = rows.add_variables(T, 1.0, prices.pool / unit, whole=False)
    once = rows.add_rows(np.ones(T), np.ones(T))
    rows.add_entries(once[task], x, 1.0)
    rows.add_entries(once, z, 1.0)

    open_ = loads.open_clients
    place = np.full(C, -1, dtype=np.int64)
    room = rows.add_rows(np.full(len(open_), -np.inf), loads.size[open_] * level * (1 + ROUNDING))
    place[open_] = room
    rows.add_entries(place[client], x, loads.weigh_pairs(task, client))

    member, least = _classify(loads, level)
    amounts = rows.add_rows(np.zeros(1), np.zeros(1))
    u = rows.add_variables(len(open_), np.inf, whole=False)
    rows.add_entries(place[open_], u, 1.0)
    rows.add_entries(np.full(len(open_), amounts[0]), u, 1.0)
    light = np.flatnonzero(member < 0)
    rows.add_entries(np.full(len(light), amounts[0]), z[light], -loads.weight[light])
    counts = rows.add_rows(np.zeros(len(least)), np.zeros(len(least)))
    heavy = np.flatnonzero(member >= 0)
    rows.add_entries(counts[member[heavy]], z[heavy], -1.0)
    received: list[tuple[int, IntArray, IntArray]] = []
    for k, weight in enumerate(least.tolist()):
        able = open_[weight <= level * loads.capacity[open_] * (1 + ROUNDING)]
        n = rows.add_variables(len(able), float(np.sum(member == k)), whole=whole)
        rows.add_entries(place[able], n, weight)
        rows.add_entries(np.full(len(able), counts[k]), n, 1.0)
        received.append((k, able, n))

    parameters = parameters_pb2.SolveParametersProto(node_limit=nodes, relative_gap_tolerance=PROGRAM_GAP)
    result = solve_model(rows.write(), parameters_pb2.SOLVER_TYPE_HIGHS, parameters, deadline)
    bound = result.termination.objective_bounds.dual_bound * unit
    is_optimal = result.termination.reason == result_pb2.TERMINATION_REASON_OPTIMAL
    solution = next(iter(result.solutions), None)
    if solution is None:
        return Pooled(None, np.zeros((0, 3), dtype=np.int64), member, bound, is_optimal)
    values = np.zeros(rows.variables)
    primal = solution.primal_solution.variable_values
    values[np.array(primal.ids, dtype=np.int64)] = primal.values
    active = np.full(T, -1, dtype=np.int64)
    chosen = np.flatnonzero(values[x] > 0.5)
    active[task[chosen]] = client[chosen]
    given = [
        (k, int(c), round(number))
        for k, able, n in received
        for c, number in zip(able.tolist(), values[n].tolist(), strict=True)
        if number > 0.5
    ]
    return Pooled(active, np.array(given, dtype=np.int64).reshape(-1, 3), member, bound, is_optimal)


def _classify(loads: LoadArrays, level: float) -> tuple[IntArray, FloatArray]:
    """(T,) class of each task, −1 for light ones, and the least weight in each class."""
    weight = np.where(loads.is_oversized, loads.oversized_weight, loads.weight)
    light = LIGHT * level * float(np.median(loads.size[loads.open_clients]))
    grade = np.where(weight > light, np.floor(np.log(np.maximum(weight, light) / light) / math.log(CLASS_RATIO)), -1).astype(
        np.int64
    )
    kinds, member = np.unique(grade[grade >= 0], return_inverse=True)
    of_task = np.full(loads.T, -1, dtype=np.int64)
    of_task[grade >= 0] = member
    least = np.array([float(weight[of_task == k].min()) for k in range(len(kinds))])
    return of_task, least


def improve_actives(
    loads: LoadArrays, prices: Prices, level: float, active: IntArray, deadline: Deadline, tries: int
) -> IntArray:
    """(T,) actives of no greater price; loads stay up to `level`, and clients that had a task for each thread keep them."""
    search = _Search(loads, prices, level, active)
    for turn in range(tries):
        if not deadline.left or not search.step(turn, deadline):
            break
    return search.active


class _Search:
    """Actives, changed in place."""

    def __init__(self, loads: LoadArrays, prices: Prices, level: float, active: IntArray) -> None:
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
        if turn % WIDE_TURNS:
            chosen += self._list_others(centre, NEIGHBOURHOOD_CLIENTS // 2)
            chosen += self._list_others(chosen[-1], NEIGHBOURHOOD_CLIENTS // 2)
        room = loads.size * self._level - loads.sum_up(self.active)
        most = loads.open_clients[np.argsort(-room[loads.open_clients], kind="stable")]
        roomy = most[: max(NEIGHBOURHOOD_CLIENTS, len(most) // ROOM_SHARE)]
        chosen += self._random.choice(roomy, NEIGHBOURHOOD_CLIENTS).tolist()
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
