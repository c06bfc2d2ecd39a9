"""Goals in any order under a greatest load: rows of the program of the target, with all pairs as candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from optassign_models.forced import prepare
from optassign_models.goals import GoalModel, evaluate
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.load.loads import LoadArrays
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.shares import compute_shares
from optassign_models.target.arrays import FAR, Program
from optassign_models.target.objectives import list_in_order
from optassign_models.target.search import Question, TargetAnswer, find_best
from optassign_models.target.solver import Effort, Solver
from optassign_models.target.variables import TargetVariables

_PARTS = 1 << 44
"""Weights are rounded down to this part of all weight, and room in full: what is lost is less than the tolerance of loads."""


def pose_under_load(
    problem: Problem,
    loads: LoadArrays,
    most: float,
    goals: Sequence[GoalModel],
    limits: Sequence[PlacementLimit],
    start: Placement,
) -> Question:
    """The goals in their order, with loads up to `most`, and all pairs as candidates.

    Copies of `start` are allowed, whatever they weigh.
    """
    problem, forced = prepare(problem.with_all_columns())
    everywhere = compute_shares(problem).widen_fully(problem.T * (problem.standbys + 1))
    require = partial(_require_load, loads=loads, most=most, start=start)
    return Question(problem, forced, everywhere, list_in_order(goals), limits=tuple(limits), require=require, start=start)


def solve_under_load(question: Question, effort: Effort) -> TargetAnswer:
    """The best placement in a question of `pose_under_load`."""

    def judge(placed: Placement) -> tuple[int, ...] | None:
        if list_broken(question.limits, placed):
            return None
        return tuple(evaluate(question.problem, question.forced, placed, question.goals).values())

    by_cp_sat = replace(effort, solver=Solver.CP_SAT) if effort.solver is Solver.AUTO else effort  # loads are knapsacks
    return find_best(question, judge, by_cp_sat)


def _require_load(program: Program, v: TargetVariables, *, loads: LoadArrays, most: float, start: Placement) -> None:
    """Loads up to `most`, and a task for each thread wherever the start has one; copies of the start are allowed."""
    p = v.scope.problem
    every = float(loads.weight.sum()) + (0.0 if loads.standby is None else p.standbys * float(loads.standby.sum()))
    # A task that is pinned to a draining client has no finite load.
    room = np.minimum(loads.measure_room(most) * (1 - ROUNDING / 4), every)
    grain = max(every, 1e-9) / _PARTS
    task, client = p.col_task[v.a_column], p.col_client[v.a_column]
    # An oversized task on a client of next to no capacity weighs more than all room: less is enough to bar it.
    weight = np.floor(np.minimum(loads.weigh_pairs(task, client) / grain, 2.0 * _PARTS)).astype(np.int64)
    is_start = start.active[task] == client
    has = np.bincount(client[is_start], weights=weight[is_start], minlength=p.C).astype(np.int64)
    beside = np.zeros(len(v.y), dtype=np.int64)
    holder = p.col_client[v.y_column]
    if loads.standby is not None:
        standby = loads.standby[p.col_task[v.y_column]]
        beside = np.floor(standby * (loads.size[holder] > 0) / grain).astype(np.int64)
        had = np.isin(p.col_keys[v.y_column], start.standby_keys(p.C))
        has += np.bincount(holder[had], weights=beside[had], minlength=p.C).astype(np.int64)
        bears = standby <= most * loads.capacity[holder] * (1 + ROUNDING)
        barred = np.flatnonzero(((loads.size[holder] == 0) | ~bears) & ~had)
        rows = _add_rows(program, np.zeros(len(barred), dtype=np.int64))  # a copy there is active
        program.add_entries(rows, v.y[barred], 1)
        program.add_entries(rows, v.a[barred], -1)
    fits = loads.fits_thread(task, client, most) & (loads.size[client] > 0)
    barred = np.flatnonzero(~(fits | is_start))
    program.add_entries(_add_rows(program, np.zeros(len(barred), dtype=np.int64)), v.a[barred], 1)
    rows = _add_rows(program, np.maximum(np.floor(room / grain).astype(np.int64), has))
    program.add_weighted_entries(rows[holder], v.y, beside)
    weight[: len(beside)] -= beside
    program.add_weighted_entries(rows[client], v.a, weight)
    number = np.bincount(start.active, minlength=p.C)
    least = np.minimum(number, loads.least_number).astype(np.int64)
    program.add_entries(program.add_rows(least, np.full(p.C, p.T))[client], v.a, 1)


def _add_rows(program: Program, high: IntArray) -> IntArray:
    return program.add_rows(np.full(len(high), -FAR), high)
