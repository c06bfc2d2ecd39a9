"""Goals in their order under a greatest load: rows of the program of the target.

All pairs of task and client are candidates if they are few, and the program has every placement. Otherwise its relaxation
bounds the first goal, and says which tasks stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from optassign_models.forced import prepare
from optassign_models.goals import GoalModel
from optassign_models.goals.goal import Carried
from optassign_models.limits import PlacementLimit
from optassign_models.load.loads import LoadArrays
from optassign_models.policy.constants import CLASS_RATIO, POOLED_WORK, ROUNDING
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.results import ProvedBy
from optassign_models.shares import allow_any_counts
from optassign_models.target.arrays import FAR, FloatArray, Program
from optassign_models.target.constraints import add_weights
from optassign_models.target.cp_sat import decide
from optassign_models.target.duals import prove_best_bound
from optassign_models.target.highs import relax
from optassign_models.target.objectives import price
from optassign_models.target.question import Question, list_in_order
from optassign_models.target.solver import Effort
from optassign_models.target.statement import state_target
from optassign_models.target.variables import Scope, TargetVariables

_PARTS, _PARTS_RELAXED = 1 << 44, 1 << 24
"""Weights are rounded down to this part of all weight, and room in full: what is lost is less than the tolerance of loads. A
relaxation is solved in floating point, and needs coefficients that are alike."""
_MOST_COST = 1 << 36
"""A proof by duals counts greater costs in units of two, four and so on."""


def make_question_under_load(
    problem: Problem,
    loads: LoadArrays,
    most: float,
    goals: Sequence[GoalModel],
    limits: Sequence[PlacementLimit],
    start: Placement,
    *,
    has_pools: bool,
) -> Question:
    """Return the goals in their order, with loads up to `most`. Copies of `start` are allowed, whatever they weigh.

    has_pools: count copies in pools; otherwise all pairs of task and client are candidates.
    """
    problem, forced = prepare(problem if has_pools else problem.with_all_columns())
    parts = _PARTS_RELAXED if has_pools else _PARTS
    require = partial(_require_load, loads=loads, most=most, start=start, parts=parts)
    return Question(
        problem, forced, allow_any_counts(problem), list_in_order(goals), limits=tuple(limits), require=require, start=start
    )


def relax_under_load(question: Question, loads: LoadArrays, effort: Effort) -> tuple[int, ProvedBy, IntArray] | None:
    """Relax the first goal of a question of `make_question_under_load` with many pairs. None if the deadline comes first.

    Copies in pools are alike within a class of weights, and weigh as the lightest of it.

    Returns:
        A bound of the goal, its prover, and (T,) the candidate that has at least half of a task's active copy; −1 if none has.
    """
    problem = _group_by_weight(question.problem, loads)
    question = replace(question, problem=problem, shares=allow_any_counts(problem))
    scope = Scope.of(question)
    program = state_target(replace(scope, apart=np.ones_like(scope.apart)))
    form = price(program, question.objectives[0])
    spare = (int(form.each.max(initial=0)) // _MOST_COST).bit_length()
    found = relax(program.matrix, form.each >> spare, effort.deadline)
    if found is None:
        return None
    bound = form.total(prove_best_bound(program.matrix, form.each >> spare, found.duals).bound << spare)
    proved_by, values = ProvedBy.HIGHS, cast(FloatArray | IntArray, found.values)
    decided = decide(program.matrix, form.each, None, POOLED_WORK, effort.deadline, presolves=True)
    values = values if decided.values is None else decided.values
    if decided.bound is not None and form.total(decided.bound) > bound:
        bound, proved_by = form.total(decided.bound), ProvedBy.CP_SAT
    column = program.v.a_column[values[program.v.a] > 0.5]
    active = np.full(problem.T, -1, dtype=np.int64)
    active[problem.col_task[column]] = problem.col_client[column]
    return bound, proved_by, active


def _group_by_weight(problem: Problem, loads: LoadArrays) -> Problem:
    """Return the problem with a subtopology for each kind of tasks and class of weights.

    Under load no share counts subtopologies.
    """
    weight = np.maximum(loads.weight, 1e-12)
    grade = np.floor(np.log(weight / weight.min()) / math.log(CLASS_RATIO)).astype(np.int64)
    kind = problem.kind[problem.group]
    classes, group = np.unique(np.stack([kind, grade]), axis=1, return_inverse=True)
    return replace(problem, group=group.reshape(-1), kind=classes[0])


def _require_load(
    program: Program, v: TargetVariables, *, loads: LoadArrays, most: float, start: Placement, parts: int
) -> None:
    """Require loads up to `most`, and a task for each thread that has one in the start; copies of the start are allowed."""
    p = v.scope.problem
    every = float(loads.weight.sum()) + (0.0 if loads.standby is None else p.standbys * float(loads.standby.sum()))
    grain = max(every, 1e-9) / parts

    def weigh_active(task: IntArray, client: IntArray) -> IntArray:
        # An oversized task on a client of next to no capacity weighs more than all room: less is enough to bar it.
        return np.floor(np.minimum(loads.weigh_pairs(task, client) / grain, 2.0 * parts)).astype(np.int64)

    def weigh_standby(task: IntArray, client: IntArray) -> IntArray:
        weight = np.zeros(len(task)) if loads.standby is None else loads.standby[task] * (loads.size[client] > 0)
        return np.floor(weight / grain).astype(np.int64)

    # A task that is pinned to a draining client has no finite load.
    room = np.minimum(loads.measure_room(most) * (1 - ROUNDING / 4), every)
    tasks = np.arange(p.T)
    has = np.bincount(start.active, weights=weigh_active(tasks, start.active), minlength=p.C)
    has += np.bincount(start.standby_client, weights=weigh_standby(start.standby_task, start.standby_client), minlength=p.C)
    rows = program.add_rows(np.full(p.C, -FAR), np.maximum(np.floor(room / grain), has).astype(np.int64))
    order = np.argsort(-loads.weight, kind="stable")
    of_task = np.empty(p.T, dtype=np.int64)
    of_task[order[::-1]] = tasks
    add_weights(program, v, rows, Carried(of_task, weigh_active, weigh_standby))

    task, client = p.col_task[v.a_column], p.col_client[v.a_column]
    fits = loads.fits_thread(task, client, most) & (loads.size[client] > 0)
    barred = v.a[~(fits | (start.active[task] == client))]
    program.add_entries(_add_rows(program, np.zeros(len(barred), dtype=np.int64)), barred, 1)
    if loads.standby is not None:
        task, holder = p.col_task[v.y_column], p.col_client[v.y_column]
        bears = (loads.standby[task] <= most * loads.capacity[holder] * (1 + ROUNDING)) & (loads.size[holder] > 0)
        had = np.isin(p.col_keys[v.y_column], start.standby_keys(p.C))
        barred = np.flatnonzero(~bears & ~had)  # a copy there is active
        rows = _add_rows(program, np.zeros(len(barred), dtype=np.int64))
        program.add_entries(rows, v.y[barred], 1)
        program.add_entries(rows, v.a[barred], -1)
    if not p.pool_size.any():
        least = np.minimum(np.bincount(start.active, minlength=p.C), loads.least_number).astype(np.int64)
        program.add_entries(program.add_rows(least, np.full(p.C, p.T))[client], v.a, 1)


def _add_rows(program: Program, high: IntArray) -> IntArray:
    return program.add_rows(np.full(len(high), -FAR), high)
