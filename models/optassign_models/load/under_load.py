"""Goals in their order under a greatest load: rows of the program of the target.

All pairs of task and client are candidates if they are few, and the program has every placement. Otherwise its relaxation
bounds the first goal, and suggests the candidates on which tasks stay.

Then CP-SAT improves the actives by its large neighbourhood search (Shaw 1998), among a few candidates of each task. A limit of
deterministic work ends the search, so the same question gets the same answer (R9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from optassign_models.goals import GoalModel
from optassign_models.goals.goal import Carried
from optassign_models.limits import PlacementLimit
from optassign_models.load.loads import LoadArrays
from optassign_models.load.placing import LoadTarget, price_actives
from optassign_models.policy import constants as policy
from optassign_models.problem import FloatArray, IntArray, Placement, Problem, exact_sum, prepare, sort_unique
from optassign_models.results import Deadline, Effort, FoundBy
from optassign_models.shares import spare_draining_clients
from optassign_models.target.arrays import FAR, MOST, Program
from optassign_models.target.backends import decide, prove_bound, relax
from optassign_models.target.constraints import add_weights, state_target
from optassign_models.target.deal import deal_places
from optassign_models.target.question import Question, list_in_order
from optassign_models.target.solver import price
from optassign_models.target.variables import Scope, TargetVariables

_PARTS, _PARTS_RELAXED = 1 << 44, 1 << 24
"""Weights and room are rounded down to this fraction of all weight, an error below the tolerance of loads. A relaxation is
solved in floating point, so its coefficients must be of similar size."""
_MOST_COST = 1 << 36
"""A proof by duals counts greater costs in units of 2, 4 and so on."""


def make_question_under_load(
    problem: Problem,
    loads: LoadArrays,
    most: float,
    goals: Sequence[GoalModel],
    limits: Sequence[PlacementLimit],
    start: Placement | None,
    *,
    has_pools: bool,
) -> Question:
    """Return the question of the goals in their order, with loads up to `most`.

    start: a placement whose copies are allowed at any load; None for no such copies.
    has_pools: count copies in pools; otherwise all pairs of task and client are candidates.
    """
    problem = prepare(problem if has_pools else problem.with_all_columns())
    parts = _PARTS_RELAXED if has_pools else _PARTS
    require = partial(_require_load, loads=loads, most=most, start=start, parts=parts)
    return Question(
        problem, spare_draining_clients(problem), list_in_order(goals), limits=tuple(limits), require=require, start=start
    )


def lower_target(problem: Problem, load: LoadTarget, tolerance: float, deadline: Deadline) -> LoadTarget:
    """Return the target, lowered by bisection to within the tolerance of the least load, while CP-SAT decides each level."""
    unreached = load.least
    while math.isfinite(load.most) and load.most > unreached * (1 + max(tolerance, policy.ROUNDING)) * (1 + policy.ROUNDING):
        level = max(unreached * (1 + tolerance), math.sqrt(unreached * load.most))
        question = make_question_under_load(problem, load.loads, level, (), (), None, has_pools=False)
        program = state_target(Scope.of(question))
        nothing = np.zeros_like(program.matrix.low)
        decided = decide(program.matrix, nothing, None, policy.POOLED_WORK, deadline, presolves=True)
        placed = None if decided.values is None else deal_places(program.v, decided.values)[0]
        if placed is not None:
            most = max(unreached * (1 + tolerance), load.measure(placed)[0])
            load = replace(load, dealt=placed, idle=load.measure(placed)[1], most=most)
        elif decided.is_impossible:
            unreached = level
        else:
            break
    return load


def relax_under_load(question: Question, loads: LoadArrays, effort: Effort) -> tuple[int, FoundBy, IntArray] | None:
    """Return a bound of the first goal by the relaxation of a question of `make_question_under_load`, and its prover.

    The third value is (T,) the client of the candidate that has more than half of a task's active copy, −1 if none has. Copies
    in pools weigh as the lightest of their class of weights. None if the relaxation is not solved in time.
    """
    problem = _group_by_weight(question.problem, loads)
    question = replace(question, problem=problem, shares=spare_draining_clients(problem))
    scope = Scope.of(question)
    program = state_target(replace(scope, separated=np.ones_like(scope.separated)))
    form = price(program, question.objectives[0])
    spare = (int(form.coefficients.max(initial=0)) // _MOST_COST).bit_length()
    relaxed = relax(program.matrix, form.coefficients >> spare, effort.deadline)
    if relaxed is None:
        return None
    bound = form.total(prove_bound(program.matrix, form.coefficients >> spare, relaxed[1]).bound << spare)
    proved_by, values = FoundBy.HIGHS, cast(FloatArray | IntArray, relaxed[0])
    spare = (exact_sum(np.abs(form.coefficients), program.matrix.high) // MOST).bit_length()
    decided = decide(program.matrix, form.coefficients >> spare, None, policy.POOLED_WORK, effort.deadline, presolves=True)
    values = values if decided.values is None else decided.values
    if decided.bound is not None and form.total(decided.bound << spare) > bound:
        bound, proved_by = form.total(decided.bound << spare), FoundBy.CP_SAT
    column = program.v.a_column[values[program.v.a] > 0.5]
    active = np.full(problem.T, -1, dtype=np.int64)
    active[problem.col_task[column]] = problem.col_client[column]
    return bound, proved_by, active


def _group_by_weight(problem: Problem, loads: LoadArrays) -> Problem:
    """Return the problem with a subtopology for each kind of tasks and class of weights.

    Under load no share counts subtopologies.
    """
    weight = np.maximum(loads.weight, 1e-12)
    grade = np.floor(np.log(weight / weight.min()) / math.log(policy.CLASS_RATIO)).astype(np.int64)
    kind = problem.kind[problem.group]
    classes, group = np.unique(np.stack([kind, grade]), axis=1, return_inverse=True)
    return replace(problem, group=group.reshape(-1), kind=classes[0])


def _require_load(
    program: Program, v: TargetVariables, *, loads: LoadArrays, most: float, start: Placement | None, parts: int
) -> None:
    """Require loads up to `most`, and a task for each thread. Copies of `start` that break this are allowed."""
    p = v.scope.problem
    most_of_task = np.where(loads.is_oversized, np.maximum(loads.weight, loads.capacity.max()), loads.weight)
    every = float(most_of_task.sum()) + p.standbys * float(loads.standby.sum())
    grain = max(every, 1e-9) / parts

    def weigh_active(task: IntArray, client: IntArray) -> IntArray:
        # An oversized task on a client of tiny capacity weighs more than all room; twice all weight is enough to bar it.
        return np.floor(np.minimum(loads.weigh_actives(task, client) / grain, 2.0 * parts)).astype(np.int64)

    def weigh_standby(task: IntArray, client: IntArray) -> IntArray:
        return np.floor(loads.weigh_standbys(task, client) / grain).astype(np.int64)

    # A task that is pinned to a draining client has no finite load.
    room = np.floor(np.minimum(loads.measure_room(most) * (1 - policy.ROUNDING / 4), every) / grain).astype(np.int64)
    least, active, standby_keys = loads.least_number, np.full(p.T, -1, dtype=np.int64), p.col_keys[:0]
    if start is not None:
        active, standby_keys = start.active, start.standby_keys(p.C)
        has = np.bincount(active, weights=weigh_active(np.arange(p.T), active), minlength=p.C)
        weight = weigh_standby(start.standby_task, start.standby_client)
        has += np.bincount(start.standby_client, weights=weight, minlength=p.C)
        room = np.maximum(room, has).astype(np.int64)
        least = np.minimum(loads.count_actives(active), least)
    rows = program.add_rows(-FAR, room)
    order = np.argsort(-loads.weight, kind="stable")
    of_task = np.empty(p.T, dtype=np.int64)
    of_task[order[::-1]] = np.arange(p.T)
    add_weights(program, v, rows, Carried(of_task, weigh_active, weigh_standby))

    task, client = p.col_task[v.a_column], p.col_client[v.a_column]
    barred = v.a[~loads.fits(loads.weight[task], client, most) & (active[task] != client)]
    program.add_entries(program.add_rows(-FAR, np.zeros(len(barred), dtype=np.int64)), barred, 1)
    if loads.standbys:
        bears = loads.fits(loads.standby[p.col_task[v.y_column]], p.col_client[v.y_column], most)
        barred = np.flatnonzero(~bears & ~np.isin(p.col_keys[v.y_column], standby_keys))  # a copy there is active
        rows = program.add_rows(-FAR, np.zeros(len(barred), dtype=np.int64))
        program.add_entries(rows, v.y[barred], 1)
        program.add_entries(rows, v.a[barred], -1)
    if not p.pool_size.any():
        program.add_entries(program.add_rows(least, p.T)[client], v.a, 1)


_SEARCH_PARTS = 1 << 20
"""Weights in the search are rounded up to this part of the greatest room."""


def improve_actives(problem: Problem, loads: LoadArrays, level: float, active: IntArray, deadline: Deadline) -> IntArray:
    """Return actives (T,) that cost no more than `active` (T,), with loads up to `level` and a task for each thread.

    The candidates of a task are its present client, all clients where it costs less than in its pool, and some with room.
    """
    T, C, price = problem.T, problem.C, price_actives(problem)
    every = float(np.maximum(loads.weight, loads.capacity.max()).sum())  # a task pinned to a draining client has no finite load
    room = np.minimum(loads.measure_room(level), every)
    by_room = loads.open_clients[np.argsort((loads.sum_up(active) - room)[loads.open_clients], kind="stable")]
    roomy = by_room[: max(policy.ROOMY_CANDIDATES, len(by_room) // 2)]
    some = np.repeat(np.arange(T), policy.ROOMY_CANDIDATES) * C + np.resize(roomy, T * policy.ROOMY_CANDIDATES)
    is_cheap = price.columns < price.pools[problem.col_task]
    task, client = np.divmod(sort_unique(np.concatenate([np.arange(T) * C + active, problem.col_keys[is_cheap], some])), C)
    may = (active[task] == client) | (loads.fits(loads.weight[task], client, level) & ~loads.is_oversized[task])
    task, client = task[may], client[may]
    now = (active[task] == client).astype(np.int64)

    # Present actives always fit, though their weights are rounded up.
    part = max(float(room.max()), 1e-9) / _SEARCH_PARTS
    weight = np.ceil(loads.weigh_actives(task, client) / part).astype(np.int64)
    present = np.bincount(client, weights=weight * now, minlength=C)
    program, one = Program(), np.ones(T, dtype=np.int64)
    a = program.add_variables(0, np.ones_like(now))
    program.add_entries(program.add_rows(one, one)[task], a, 1)
    program.add_entries(program.add_rows(-FAR, np.maximum(np.floor(room / part), present))[client], a, weight)
    program.add_entries(program.add_rows(np.minimum(loads.least_number, np.bincount(active, minlength=C)), T)[client], a, 1)
    cost = problem.look_up(task * C + client, price.columns, price.pools[task])
    if exact_sum(np.abs(cost), np.ones_like(cost)) >= MOST:
        return active  # CP-SAT has no room for the sum
    found = decide(program.finish(), cost, now, policy.SEARCH_WORK, deadline, presolves=True, by_neighbourhoods=True)
    if found.values is None or exact_sum(cost, found.values) >= exact_sum(cost, now):
        return active
    better = active.copy()
    better[task[found.values > 0]] = client[found.values > 0]
    return better
