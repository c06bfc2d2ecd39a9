"""Objectives of the target as linear forms in the variables of a program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.goals import GoalModel
from optassign_models.goals.goal import PairCosts
from optassign_models.problem import IntArray
from optassign_models.target.constraints import TargetProgram
from optassign_models.target.question import Objective


@dataclass(frozen=True, eq=False)
class LinearForm:
    """An objective in numbers: unit × (each · x) + paid."""

    each: IntArray
    """(variables,) without their common divisor."""
    unit: int
    paid: int

    def total(self, reduced: int) -> int:
        """Return a number in the units of `each`, in those of the objective."""
        return self.unit * reduced + self.paid


def price(program: TargetProgram, objective: Objective) -> LinearForm:
    """Return the linear form of an objective."""
    total, paid = np.zeros(len(program.matrix.low), dtype=np.int64), 0
    for step in program.steps:
        total[step.variables] = step.number * objective.imbalance[step.family]
    for goal, weight in objective.goals:
        each, anyway = _price_goal(program, goal)
        total += weight * each
        paid += weight * anyway
    unit = max(1, int(np.gcd.reduce(total))) if len(total) else 1
    return LinearForm(total // unit, unit, paid)


def _price_goal(program: TargetProgram, goal: GoalModel) -> tuple[IntArray, int]:
    """Return (variables,) what the goal costs in addition to what this answer forces anyway; and what that is."""
    v, problem, forced = program.v, program.v.scope.problem, program.v.scope.question.forced
    cost, paid = np.zeros(len(program.matrix.low), dtype=np.int64), 0
    if goal.name in program.gained:
        return cost, -program.gained[goal.name]
    if goal.cost_per_active is not None:
        each = goal.cost_per_active(problem)
        cost[v.a] += each.columns[v.a_column]
        cost[v.pa] += _price_pools(program, goal, each, v.pa_task, v.pa_pool)
    if goal.cost_per_standby is not None:  # a standby is a copy that is not active
        each = goal.cost_per_standby(problem)
        on_column, in_pool = each.columns[v.y_column], _price_pools(program, goal, each, v.p_task, v.p_pool)
        cost[v.y] += on_column
        cost[v.p] += in_pool
        cost[v.a[: len(v.y)]] -= on_column
        cost[v.pa[: len(v.p)]] -= in_pool
    for variables, one in program.counted.get(goal.name, ()):
        cost[variables] += one
    if goal.cost_per_copy is not None and goal.forced_costs is not None:
        each, (per_tie, paid) = goal.cost_per_copy(problem), goal.forced_costs(forced)
        cold = forced.tie_not_caught_up
        is_free = forced.mandatory | (forced.tied & cold[problem.col_task])
        cost[v.y] += np.where(is_free, 0, each.columns)[v.y_column]
        cost[v.p] += np.where(forced.pool_tied & cold, 0, each.pools)[v.p_task]
        cost[program.beyond] += per_tie[program.beyond_task]
    return cost, paid


def _price_pools(program: TargetProgram, goal: GoalModel, each: PairCosts, task: IntArray, pool: IntArray) -> IntArray:
    """Return (k,) what copies of tasks (k,) cost in pools (k,)."""
    if goal.tells_apart is None or each.pools.ndim == 1:
        return each.pools[task]
    scope = program.v.scope
    return each.pools[task, scope.tell_zones(goal.tells_apart(scope.problem))[pool % scope.Z]]


def price_tie(program: TargetProgram) -> LinearForm:
    """Return the form that is least where clients keep their smallest tasks, as actives first, and give away their greatest.

    If no client held a task, the first clients have the most places.
    """
    v, problem, T = program.v, program.v.scope.problem, program.v.scope.problem.T
    held = problem.col_owner | problem.col_standby
    cost = np.zeros(len(program.matrix.low), dtype=np.int64)
    cost[v.a] = np.where(held[v.a_column], (T + 1) * (problem.col_task[v.a_column] - T), 0)
    cost[v.y] = np.where(held[v.y_column], problem.col_task[v.y_column] - T, 0)
    if not held.any():
        cost[v.q] = v.q_cell % problem.C
        cost[v.qa] = v.qa_cell % problem.C
    return LinearForm(cost, 1, 0)
