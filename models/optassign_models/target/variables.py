"""The variables of the target, and the places that rules, limits and R3 to R5 leave to copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from optassign_models.limits import Kind
from optassign_models.policy.constants import FIRST_STEPS, MERGE_ALL_FROM, MERGE_FROM, ROOMY_SHARE
from optassign_models.problem import LOGGED, BoolArray, IntArray, Placement, Problem, find_sorted
from optassign_models.shares import ShareFamilies, allow_any_counts
from optassign_models.target.arrays import Program
from optassign_models.target.question import Question

StepNumbers = tuple[IntArray | None, ...]
"""(5,) arrays: the number of steps of each share of a family; None for a family that binds, or that costs nothing."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A question and the choices that state it as a program: zones, steps, and separated places."""

    question: Question
    zone_of: IntArray
    """(C,) zone of each client, 0 to Z − 1: clients that goals or limits distinguish are in different zones."""
    steps: StepNumbers
    separated: BoolArray
    """(G × C,) whether a place is separate in addition to the necessary ones; the other places are merged."""
    has_most_values: bool = False
    """Whether rows require copies to reach as many values as numbers allow; otherwise each value reached is a gain."""

    @classmethod
    def of(cls, question: Question) -> Scope:
        """Return the first scope of a question: with few steps for shares that cost, and only the necessary places separate."""
        problem = question.problem
        labels = [limit.clients.astype(np.int64) for limit in question.limits if limit.kind is not Kind.MOST]
        labels += [goal.distinguishes(problem) for goal in question.goals if goal.distinguishes is not None]
        scope = cls(question, problem.classify(labels), (None,) * 5, np.zeros(problem.G * problem.C, dtype=np.bool_))
        if question.shares_bind:
            return scope
        every = zip(question.shares, question.costs, FIRST_STEPS, strict=True)
        return replace(scope, steps=tuple(np.full(share.low.size, few) if costs else None for share, costs, few in every))

    @property
    def problem(self) -> Problem:
        """The question's problem."""
        return self.question.problem

    @cached_property
    def Z(self) -> int:  # noqa: N802 - the formulation's own letters
        """Number of zones."""
        return int(self.zone_of.max(initial=0)) + 1

    def take_by_zone(self, of_client: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return (Z,) the value of each zone, from values (C,) that are equal for all clients of a zone."""
        member = np.zeros(self.Z, dtype=np.int64)
        member[self.zone_of] = np.arange(len(self.zone_of))
        return of_client[member]

    @cached_property
    def shares(self) -> ShareFamilies:
        """The question's shares; a family that neither binds nor costs has shares that hold every count."""
        question = self.question
        if question.shares_bind:
            return question.shares
        every = zip(question.shares, allow_any_counts(question.problem), question.costs, strict=True)
        return ShareFamilies(*(share if costs else widest for share, widest, costs in every))

    @cached_property
    def column_cell(self) -> IntArray:
        """(A,) subtopology × C + client of each candidate."""
        problem = self.problem
        return problem.group[problem.col_task] * problem.C + problem.col_client

    @cached_property
    def pool_of_cell(self) -> IntArray:
        """(G × C,) pool (subtopology × Z + zone) of each place."""
        problem = self.problem
        return np.repeat(np.arange(problem.G), problem.C) * self.Z + np.tile(self.zone_of, problem.G)

    @cached_property
    def pool_sizes(self) -> IntArray:
        """(T, Z) number of clients of each zone that are no candidates of the task."""
        problem, Z = self.problem, self.Z
        pairs = problem.col_task * Z + self.zone_of[problem.col_client]
        in_columns = np.bincount(pairs, minlength=problem.T * Z).reshape(problem.T, Z)
        return np.bincount(self.zone_of, minlength=Z) - in_columns

    @cached_property
    def is_pooled(self) -> BoolArray:
        """(T, Z) whether a logged task has a pool in the zone."""
        return (self.pool_sizes > 0) & self.problem.logged[:, None]

    @cached_property
    def place_high(self) -> IntArray:
        """(G × C,) logged tasks that may use the place from their pool; at most its upper bound of copies if shares bind."""
        problem, (task, zone) = self.problem, np.nonzero(self.is_pooled)
        number = np.bincount(problem.group[task] * self.Z + zone, minlength=problem.G * self.Z)
        counted = self.is_pooled[problem.col_task, self.zone_of[problem.col_client]]
        room = number[self.pool_of_cell] - np.bincount(self.column_cell[counted], minlength=problem.G * problem.C)
        return np.minimum(room, self.copies_bounds[1]) if self.question.shares_bind else room

    @cached_property
    def copies_bounds(self) -> tuple[IntArray, IntArray]:
        """Least and greatest number of copies of each subtopology on each client, (G × C,) each; 0 without a changelog."""
        is_logged = np.repeat(self.problem.kind == LOGGED, self.problem.C)
        share = self.shares.group_copies
        return np.where(is_logged, share.low.ravel(), 0), np.where(is_logged, share.high.ravel(), 0)

    @cached_property
    def actives_bounds(self) -> tuple[IntArray, IntArray]:
        """Least and greatest number of actives of each subtopology on each client, (G × C,) each."""
        share = self.shares.group_active
        return share.low.ravel(), np.minimum(share.high.ravel(), self.problem.T)

    @cached_property
    def is_separate(self) -> BoolArray:
        """(G × C,) whether the place is separate, not merged. With `MERGE_FROM` places only those with much room are merged."""
        if len(self.separated) <= MERGE_FROM:
            return np.ones_like(self.separated)
        needed = self.separated | (self.copies_bounds[0] > 0) | (self.actives_bounds[0] > 0)
        if len(self.separated) > MERGE_ALL_FROM:
            return needed
        problem, room = self.problem, self.copies_bounds[1].reshape(self.problem.G, -1).sum(axis=1)
        has_room = np.bincount(problem.group, minlength=problem.G) * (problem.standbys + 1) <= ROOMY_SHARE * room
        return needed | np.repeat(~has_room, problem.C)


@dataclass(frozen=True, eq=False)
class MergedPlaces:
    """Places of one kind that the program merges: of pooled copies, or of pooled actives of one kind of tasks."""

    cell: IntArray
    """(k,) subtopology × C + client of each place."""
    row: IntArray
    """(k,) index in `pool` of the pool of each place."""
    pool: IntArray
    """(n,) pools (subtopology × Z + zone) that have such places."""
    of_pool: IntArray
    """(n,) variables: copies of each of these pools."""
    of_client: IntArray
    """(C,) variables: copies on each client."""
    kind: int
    """STATELESS, UNLOGGED or LOGGED, of their tasks."""


@dataclass(frozen=True, eq=False)
class TargetVariables:
    """The ids of all variables, with the task, client or pool of each."""

    scope: Scope
    y_column: IntArray
    y: IntArray
    """(n,) copies on the candidates `y_column` of logged tasks."""
    p_task: IntArray
    p_pool: IntArray
    p: IntArray
    """(k,) copies of logged tasks `p_task` in their pools `p_pool`, subtopology × Z + zone."""
    q_cell: IntArray
    q: IntArray
    """(j,) pooled copies on the places `q_cell` of logged tasks that are separate, subtopology × C + client."""
    m: MergedPlaces
    """Merged places of pooled copies."""
    a_column: IntArray
    a: IntArray
    """(n + N,) actives on candidates: those of `y_column`, then those of tasks without changelog."""
    pa_task: IntArray
    pa_pool: IntArray
    pa: IntArray
    """(k + K,) actives in pools: of the tasks `p_task`, then of tasks without changelog."""
    qa_cell: IntArray
    qa: IntArray
    """(j + J,) pooled actives on separate places: those of `q_cell`, then others."""
    ma: tuple[MergedPlaces, ...]
    """Pooled actives: of logged tasks, in the places of `m`, then of each other kind."""


def _find_allowed(scope: Scope) -> tuple[BoolArray, BoolArray, BoolArray, BoolArray]:
    """Return (A,) whether a candidate may be active, and have a copy; then (T, Z) the same for the pool of a task in a zone.

    Pins and forbidden places exclude pairs, and so do R3 to R5 if the question is about this rebalance.
    """
    problem, question, forced = scope.problem, scope.question, scope.problem.forced
    lead, hold = np.ones((2, len(problem.col_task)), dtype=np.bool_)
    lead_in, hold_in = np.ones((2, problem.T, scope.Z), dtype=np.bool_)
    for limit in question.limits:
        if limit.kind is Kind.MOST:
            continue
        barred = limit.clients if limit.kind is Kind.FORBID else ~limit.clients
        on_column = limit.tasks[problem.col_task] & barred[problem.col_client]
        in_pool = limit.tasks[:, None] & scope.take_by_zone(barred)[None, :]
        lead &= ~on_column
        lead_in &= ~in_pool
        if limit.kind is Kind.FORBID:
            hold &= ~on_column
            hold_in &= ~in_pool
    if question.is_now:
        lead &= forced.leading
        hold &= forced.mandatory | forced.tied
        lead_in &= forced.pool_leading[:, None]
        hold_in &= forced.pool_tied[:, None]
    return lead, hold, lead_in, hold_in


def declare_variables(program: Program, scope: Scope) -> TargetVariables:
    """Add the variables of all copies to a program, with bounds by rules, limits and shares of places; return them."""
    problem, must_hold = scope.problem, scope.problem.forced.mandatory & scope.question.is_now
    may_lead, may_hold, may_lead_in, may_hold_in = _find_allowed(scope)
    y_column = np.flatnonzero(problem.logged[problem.col_task])
    y = program.add_variables(must_hold[y_column], may_hold[y_column])
    p_task, p_zone = np.nonzero(scope.is_pooled)
    p_high = np.minimum(problem.standbys + 1, scope.pool_sizes[p_task, p_zone]) * may_hold_in[p_task, p_zone]
    p = program.add_variables(0, p_high)
    p_pool = problem.group[p_task] * scope.Z + p_zone
    place = np.flatnonzero(scope.place_high > 0)
    q_cell = place[scope.is_separate[place]]
    q = program.add_variables(0, scope.place_high[q_cell])
    m_cell = place[~scope.is_separate[place]]
    m = _merge(program, scope, m_cell, scope.place_high, LOGGED)

    free_column = np.flatnonzero(~problem.logged[problem.col_task])
    free_task, free_zone = np.nonzero((scope.pool_sizes > 0) & ~problem.logged[:, None] & may_lead_in)
    free_pool = problem.group[free_task] * scope.Z + free_zone
    in_pool = np.bincount(free_pool, minlength=problem.G * scope.Z)
    free_cell = np.flatnonzero(in_pool[scope.pool_of_cell])
    free_cell = free_cell[problem.kind[free_cell // problem.C] != LOGGED]
    most = scope.place_high.copy()
    most[free_cell] = in_pool[scope.pool_of_cell[free_cell]]
    if scope.question.shares_bind:
        most = np.minimum(most, scope.actives_bounds[1])
    a_column = np.concatenate([y_column, free_column])
    qa_cell = np.concatenate([q_cell, free_cell[scope.is_separate[free_cell]]])
    a = program.add_variables(0, np.concatenate([may_hold[y_column], np.ones_like(free_column)]) * may_lead[a_column])
    pa_high = np.minimum(p_high, 1) * may_lead_in[p_task, p_zone]
    pa_task, pa_pool = np.concatenate([p_task, free_task]), np.concatenate([p_pool, free_pool])
    pa = program.add_variables(0, np.concatenate([pa_high, np.ones_like(free_task)]))
    qa = program.add_variables(0, most[qa_cell])
    merged = [(LOGGED, m_cell)]
    kinds = problem.kind[free_cell // problem.C]
    for kind in np.unique(kinds).tolist():
        of_kind = free_cell[kinds == kind]
        merged.append((kind, of_kind[~scope.is_separate[of_kind]]))
    ma = tuple(_merge(program, scope, cell, most, kind) for kind, cell in merged)
    of_copies = (y_column, y, p_task, p_pool, p, q_cell, q, m)
    return TargetVariables(scope, *of_copies, a_column, a, pa_task, pa_pool, pa, qa_cell, qa, ma)


def hint_copies(v: TargetVariables, placed: Placement, number: int) -> IntArray:
    """Return (number,) the values of y, a, p and pa in a placement, and −1 for the other variables."""
    problem, Z, zone_of = v.scope.problem, v.scope.Z, v.scope.zone_of
    hint = np.full(number, -1, dtype=np.int64)
    copies = placed.copy_keys(problem.C, problem.logged)
    actives = np.arange(problem.T) * problem.C + placed.active
    hint[v.y] = find_sorted(copies, problem.col_keys[v.y_column]) >= 0
    hint[v.a] = find_sorted(actives, problem.col_keys[v.a_column]) >= 0
    for variables, task, pool, keys in ((v.p, v.p_task, v.p_pool, copies), (v.pa, v.pa_task, v.pa_pool, actives)):
        pooled = keys[problem.find(keys) < 0]
        at = pooled // problem.C * Z + zone_of[pooled % problem.C]
        hint[variables] = np.bincount(at, minlength=problem.T * Z)[task * Z + pool % Z]
    return hint


def _merge(program: Program, scope: Scope, cell: IntArray, most: IntArray, kind: int) -> MergedPlaces:
    """Return the merged places `cell` (k,), with new variables for each pool and client, up to the sum of `most` (G × C,)."""
    C = scope.problem.C
    pool, place = np.unique(scope.pool_of_cell[cell], return_inverse=True)
    of_pool = program.add_variables(0, np.bincount(place, weights=most[cell], minlength=len(pool)))
    of_client = program.add_variables(0, np.bincount(cell % C, weights=most[cell], minlength=C))
    return MergedPlaces(cell, place.reshape(-1), pool, of_pool, of_client, kind)
