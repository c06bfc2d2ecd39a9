"""Least restore work under a greatest load, as a program in whole numbers in which cold tasks are pooled by weight.

A task has variables x[t, c] only for clients where it is cheaper than on others, and z[t] if it is *cold*, on any other client.
Cold tasks of much weight fall into geometric classes, and n[k, c] counts those of class k that client c receives, each at the
least weight of its class; light ones are a continuous amount u[c]:

    minimise    Σ price[t, c] x[t, c] + Σ pool price[t] z[t]
    where       Σ_c x[t, c] + z[t] = 1                                  for every task
                Σ_t weight x[t, c] + Σ_k weight[k] n[k, c] + u[c] ≤ L × size[c]
                Σ_c n[k, c] = Σ z[t] of class k,   Σ_c u[c] = Σ weight z[t] of light tasks

No weight is rounded up, so that its optimum bounds every assignment; its solution is where one of real weights starts from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from ortools.math_opt import model_pb2, parameters_pb2, result_pb2

from optassign_models.deadline import Deadline
from optassign_models.load.loads import FloatArray, Loads
from optassign_models.load.prices import Prices
from optassign_models.lp.mathopt import solve_model, write_model
from optassign_models.policy.constants import CLASS_RATIO, LIGHT, ROUNDING
from optassign_models.problem import IntArray


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
    loads: Loads, prices: Prices, level: float, deadline: Deadline, nodes: int, gap: float = 1e-4, *, whole: bool = True
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

    parameters = parameters_pb2.SolveParametersProto(node_limit=nodes, relative_gap_tolerance=gap)
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


def _classify(loads: Loads, level: float) -> tuple[IntArray, FloatArray]:
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
