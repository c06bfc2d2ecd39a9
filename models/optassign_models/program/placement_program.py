"""The one model put together: a program, where its variables are, and what goals cost in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals import GoalModel
from optassign_models.goals.goal import PairCosts
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.lp import FloatArray, Matrix, Program
from optassign_models.problem import IntArray
from optassign_models.program.constraints import (
    Imbalance,
    ImbalanceSteps,
    add_steps,
    count_reached,
    require_actives_to_be_copies,
    require_most,
    require_most_values,
    require_one_active,
    require_pooled_actives_to_add_up,
    require_pooled_copies_to_add_up,
    require_room,
    require_shares_of_actives,
    require_shares_of_copies,
    require_standby_number,
    require_tied_copies,
)
from optassign_models.program.variables import ProgramVariables, Scope, declare_variables

_FAR = 1 << 50
"""More than any cost."""


@dataclass(frozen=True, eq=False)
class Rules:
    """The rows of the rules, each of one task."""

    one_active: IntArray
    """(T,)"""
    copies: IntArray
    """(T,)"""
    on_column: IntArray
    """(n,) the active on a column is a copy;"""
    in_pool: IntArray
    """(k,) the active in a pool is one."""


@dataclass(frozen=True, eq=False)
class PlacementProgram:
    """The program in arrays. Its variables are those of `v`, then further ones that goals need."""

    v: ProgramVariables
    matrix: Matrix
    beyond: IntArray
    """(j,) variables: copies of each of `copies.tied_task` beyond those on tied clients that this answer forces; or none."""
    steps: ImbalanceSteps | None = None
    """The counts beyond the shares, if they are a cost."""
    reached: Mapping[str, tuple[tuple[IntArray, int], ...]] = field(default_factory=dict)
    """By goal: (logged tasks × values,) variables of the values that tasks reach, and what each gains."""
    gained: Mapping[str, int] = field(default_factory=dict)
    """By goal: the gain of tasks that have to reach as many values as they can."""
    rules: Rules | None = None
    """The rows that speak of one task."""
    tells_apart: frozenset[str] = frozenset()
    """Goals whose costs of copies tell clients of one pool apart."""

    def has_enough_steps(self, relaxed: FloatArray) -> bool:
        """Whether no count (variables,) is as far from its share as its steps go."""
        return self.steps is None or self.steps.extend_where_short(relaxed) is None

    def price(self, goal: GoalModel) -> IntArray:
        """(variables,) what the goal costs: per active, and per standby (a copy that is not active)."""
        scope, v = self.v.scope, self.v
        problem = scope.problem
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        if goal.cost_per_active is not None:
            each = goal.cost_per_active(problem)
            cost[v.a] += each.columns[v.a_column]
            cost[v.f] += self._price_pools(goal, each, v.f_task, v.f_pool % scope.zones.number)
        if goal.cost_per_standby is not None:
            each = goal.cost_per_standby(problem)
            on_column = each.columns[scope.copies.column]
            in_pool = self._price_pools(goal, each, scope.copies.pooled, scope.copies.pooled_zone)
            cost[v.y] += on_column
            cost[v.p] += in_pool
            cost[v.a[: len(v.y)]] -= on_column
            cost[v.f[: len(v.p)]] -= in_pool
        for variables, gain in self.reached.get(goal.name, ()):
            cost[variables] -= gain
        return cost

    def price_forced_sum(self, goal: GoalModel, forced: Forced) -> tuple[IntArray, int]:
        """(variables,) what the goal costs in addition to what this answer forces anyway; and what that is."""
        scope, v = self.v.scope, self.v
        problem, copies = scope.problem, scope.copies
        cost = self.price(goal)
        if goal.name in self.gained:
            return cost, -self.gained[goal.name]
        if goal.cost_per_copy is None or goal.forced_costs is None:
            return cost, 0
        each, anyway = goal.cost_per_copy(problem), goal.forced_costs(forced)
        cold = forced.tie_not_caught_up
        is_free = forced.mandatory | (forced.tied & cold[problem.col_task])
        cost[v.y] += np.where(is_free, 0, each.columns)[copies.column]
        cost[v.p] += np.where(forced.pool_tied & cold, 0, each.pools)[copies.pooled]
        cost[self.beyond] += anyway.per_tie[copies.tied_task]
        return cost, anyway.paid

    def price_imbalance(self, prices: Sequence[int]) -> IntArray:
        """(variables,) what counts beyond their shares cost, by the price of each family."""
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        for step in self.steps.listed if self.steps is not None else ():
            cost[step.variables] = step.number * prices[step.family]
        return cost

    def price_tasks(self, cost: IntArray) -> IntArray | None:
        """(m,) duals that price each task by itself: its active and its standbys where they cost least; None without rules.

        `cost` (variables,) must be one of copies alone. A standby costs what y does, an active what y and a do together.
        """
        if self.rules is None:
            return None
        v, problem = self.v, self.v.scope.problem
        number, pooled = len(v.y), len(v.p)
        as_standby = np.concatenate([cost[v.y], cost[v.p]])
        task = np.concatenate([problem.col_task[v.scope.copies.column], v.scope.copies.pooled])
        standby, active = np.full(problem.T, _FAR), np.full(problem.T, _FAR)
        np.minimum.at(standby, task, as_standby)
        as_active = cost[v.a].copy(), cost[v.f].copy()
        as_active[0][:number] += cost[v.y]
        as_active[1][:pooled] += cost[v.p]
        np.minimum.at(active, problem.col_task[v.a_column], as_active[0])
        np.minimum.at(active, v.f_task, as_active[1])
        standby[standby == _FAR] = 0
        duals = np.zeros(len(self.matrix.row_low), dtype=np.int64)
        duals[self.rules.copies] = standby
        duals[self.rules.one_active] = active - standby
        duals[np.concatenate([self.rules.on_column, self.rules.in_pool])] = as_standby - standby[task]
        return duals

    def price_tie(self) -> IntArray:
        """(variables,) least where clients keep their smallest tasks, as actives first, and give away their greatest."""
        problem, T = self.v.scope.problem, self.v.scope.problem.T
        held = problem.col_owner | problem.col_standby
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        task = problem.col_task[self.v.a_column]
        cost[self.v.a] = np.where(held[self.v.a_column], (T + 1) * (task - T), 0)
        column = self.v.scope.copies.column
        cost[self.v.y] = np.where(held[column], problem.col_task[column] - T, 0)
        return cost

    def _price_pools(self, goal: GoalModel, each: PairCosts, task: IntArray, zone: IntArray) -> IntArray:
        """(k,) what a copy costs in the pool of a zone."""
        if goal.tells_apart is None or each.pools.ndim == 1:
            return each.pools[task]
        of_client, zones = goal.tells_apart(self.v.scope.problem), self.v.scope.zones
        label = np.zeros(zones.number, dtype=np.int64)
        label[zones.of_client] = of_client
        return each.pools[task, label[zone]]


def build_face_program(scope: Scope) -> PlacementProgram:
    """The program on the optimal face of the copies' flow."""
    program = Program()
    v = declare_variables(program, scope)
    _require_rules(program, v)
    require_tied_copies(program, v)
    require_shares_of_copies(program, v)
    require_shares_of_actives(program, v)
    require_room(program, v, None)
    return PlacementProgram(v, program.finish(), np.zeros(0, dtype=np.int64))


def build_program(
    scope: Scope,
    imbalance: Imbalance | None,
    goals: Iterable[GoalModel] = (),
    limits: Iterable[PlacementLimit] = (),
    *,
    has_most_values: bool = False,
) -> PlacementProgram:
    """The program of all plans; with `imbalance` shares are no bounds, but counts beyond them cost.

    Args:
        goals: the goals that need variables of their own.
        limits: the limits, with rows for those on clients' copies.
        has_most_values: copies have to reach as many values as their numbers allow, instead of being paid for each.
    """
    program = Program()
    v = declare_variables(program, scope)
    rules = _require_rules(program, v)
    rows = require_tied_copies(program, v)
    most = np.full(len(rows), scope.problem.standbys + 1)
    beyond = program.add_variables(np.zeros_like(most), most)
    program.add_entries(rows, beyond, -1)
    of_copies, of_clients = require_shares_of_copies(program, v)
    of_actives, stateful, every = require_shares_of_actives(program, v)
    families = (every, stateful, of_clients, of_actives, of_copies)
    steps = None if imbalance is None else add_steps(program, v, families, imbalance)
    require_room(program, v, steps)
    for limit in limits:
        if limit.kind is Kind.MOST:
            require_most(program, v, limit)
    goals = tuple(goals)
    apart = frozenset(goal.name for goal in goals if goal.tells_apart is not None and goal.reaches is None)
    reached: dict[str, tuple[tuple[IntArray, int], ...]] = {}
    gained: dict[str, int] = {}
    for goal in goals:
        kinds = () if goal.reaches is None else goal.reaches(scope.problem)
        if kinds and has_most_values:
            gained[goal.name] = sum(each.gain * require_most_values(program, v, each.of_client) for each in kinds)
        elif kinds:
            reached[goal.name] = tuple((count_reached(program, v, each.of_client), each.gain) for each in kinds)
    return PlacementProgram(v, program.finish(glop_up_to=0), beyond, steps, reached, gained, rules, apart)


def _require_rules(program: Program, v: ProgramVariables) -> Rules:
    """R1, R2 and R4, and places that add up."""
    copies = require_standby_number(program, v)
    require_pooled_copies_to_add_up(program, v)
    one_active = require_one_active(program, v)
    require_pooled_actives_to_add_up(program, v)
    return Rules(one_active, copies, *require_actives_to_be_copies(program, v))
