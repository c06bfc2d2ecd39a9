"""The best plan on the optimal face of the copies' flow, goal after goal, and a proof of each value.

For each goal:

1. The linear program is minimised, and its duals prove a bound in whole numbers.
2. Where the bound is reached, the face shrinks to the optima (complementary slackness); else whole numbers are asked for.

At the end the vertex is whole, or made so on the last face; places in pools are dealt to tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from optassign.models.flows.copies import find_balanced_copies
from optassign.models.flows.face import CopiesFace
from optassign.models.forced import prepare
from optassign.models.goals import GoalModel
from optassign.models.lp.face_program import FaceProgram, build_face_program
from optassign.models.lp.program import Matrix, Solved
from optassign.models.lp.proof import fix_to_optima, is_whole, prove_bound
from optassign.models.pooling import deal_pool
from optassign.models.problem import BoolArray, IntArray, Placement, make_placement
from optassign.models.windows import Windows

_GREATEST_WEIGHT = 10_000_000
"""Of a goal over the one after it, in one cost: more would be lost in the solver's tolerance."""
_SAME = 1e-3
"""Costs are whole, so a value so near to a whole number is that number."""
_MOST_TIED = 10_000
"""Columns up to which the last tie is worth a program of its own: in larger groups nobody looks for the least id."""
_MOST_ROUNDS = 4
"""How often a face is looked at again after pools that could not be dealt were written out as columns."""
_MOST_WHOLE = 30_000
"""Variables that are still free: up to so many, whole numbers are asked for where the program's vertex has fractions."""


@dataclass(frozen=True, eq=False)
class Improved:
    """What came of a face."""

    placement: Placement | None
    """None where the windows of the actives leave no plan on the face, or no whole one was found."""
    bounds: dict[str, int] = field(default_factory=dict)
    """Goal → what no plan on the face costs less than, given that the goals before it are at their bounds."""
    ties_broken: bool = False
    """Of all plans that are equal in the goals, it is the one in which clients keep their smallest tasks."""
    stuck: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Tasks of the subtopologies whose pooled copies could not be dealt: with all their pairs as columns they can."""


def improve_on_face(face: CopiesFace, windows: Windows, goals: Sequence[GoalModel], start: Placement | None = None) -> Improved:
    """The plan on the face that is best in the goals, in their order, inside the windows of actives; `start`: some plan."""
    program = build_face_program(face, windows)
    used = program.choose_columns(start)
    groups = _merge_goals(program, goals)
    faces, proven = [program.matrix], True
    solved: Solved | None = None
    bounds: dict[str, int] = {}
    for group in groups:
        step = _minimise(faces[-1], group.cost, used)
        if step is None:
            return Improved(None, bounds)
        solved, used = step.solved, step.used
        faces.append(step.matrix)
        if proven:
            bounds.update(group.split_bound(step.bound, solved))
        proven = proven and step.is_reached
    tie = program.price_tie()
    step = _minimise(faces[-1], tie, used) if len(face.column) <= _MOST_TIED else None
    ties_broken = step is not None and bool(is_whole(step.solved.values).all())
    if step is not None and ties_broken:
        solved = step.solved
    values = _find_whole(faces, [group.cost for group in groups], solved)
    if values is None:
        return Improved(None, bounds)
    return replace(_read_plan(program, values), bounds=bounds, ties_broken=ties_broken)


@dataclass(frozen=True, eq=False)
class _Group:
    """Goals that are one cost, each weighted so that it outweighs all that come after it."""

    names: tuple[str, ...]
    costs: tuple[IntArray, ...]
    weight: int

    @property
    def cost(self) -> IntArray:
        """(variables,)"""
        total = np.zeros_like(self.costs[0])
        for cost in self.costs:
            total = total * self.weight + cost
        return total

    def split_bound(self, bound: int, solved: Solved) -> dict[str, int]:
        """Goal → its bound given the goals before it, up to the first that the solution does not have at its bound."""
        found: dict[str, int] = {}
        for place, (name, cost) in enumerate(zip(self.names, self.costs, strict=True)):
            each = self.weight ** (len(self.costs) - 1 - place)
            found[name], bound = divmod(bound, each)
            if abs(float(cost @ solved.values) - found[name]) > 1e-6:
                break
        return found


def _merge_goals(program: FaceProgram, goals: Sequence[GoalModel]) -> list[_Group]:
    """As many goals to a program as the solver can tell apart."""
    weight = program.face.problem.T * (program.face.problem.standbys + 1) + 1
    size = next(n for n in range(len(goals), 0, -1) if n == 1 or weight ** (n - 1) <= _GREATEST_WEIGHT)
    parts = [goals[i : i + size] for i in range(0, len(goals), size)]
    return [_Group(tuple(g.name for g in part), tuple(program.price(g) for g in part), weight) for part in parts]


def improve_plan(windows: Windows, face: CopiesFace, goals: Sequence[GoalModel], start: Placement | None = None) -> Improved:
    """`improve_on_face`, again with more columns where pooled copies could not be dealt."""
    improved = improve_on_face(face, windows, goals, start)
    for _ in range(_MOST_ROUNDS):
        if not len(improved.stuck):
            break
        written, forced = prepare(face.problem.with_all_columns(improved.stuck))
        copies = find_balanced_copies(written, forced, windows, now=False)
        if copies is None or copies.face is None:
            break
        face = copies.face
        improved = improve_on_face(face, windows, goals)
    return improved


@dataclass(frozen=True, eq=False)
class _Step:
    """One cost minimised."""

    matrix: Matrix
    """What is left of the face."""
    solved: Solved
    used: BoolArray
    """(n,) variables that the solution took."""
    bound: int
    is_reached: bool


def _minimise(matrix: Matrix, cost: IntArray, used: BoolArray) -> _Step | None:
    """What is left of the face, one of its optima, and the bound; None where nothing is left, or found."""
    solved, used = matrix.minimise_by_columns(cost, used)
    if solved is None or solved.duals is None:
        return None
    proof = prove_bound(matrix, cost, solved.duals)
    if abs(float(cost @ solved.values) - proof.bound) < max(_SAME, 1e-9 * abs(proof.bound)) and proof.is_tight:
        return _Step(fix_to_optima(matrix, proof), solved, used | (solved.values > matrix.low), proof.bound, True)
    whole = _solve_whole(matrix, cost)
    if whole is None:
        return None
    value = int(cost @ np.rint(whole.values).astype(np.int64))
    return _Step(matrix.with_row(cost, value), whole, matrix.low < matrix.high, proof.bound, value == proof.bound)


def _solve_whole(matrix: Matrix, cost: IntArray) -> Solved | None:
    free = matrix.low < matrix.high
    return matrix.minimise(cost, free) if int(free.sum()) <= _MOST_WHOLE else None


def _find_whole(faces: list[Matrix], costs: list[IntArray], solved: Solved | None) -> IntArray | None:
    """Whole values that are best in the goals, in their order: the last vertex, if it is whole.

    Else whole numbers are asked for on the last face; where it has none, for the last goal again on the face before, and so on.
    """
    if solved is not None and is_whole(solved.values).all():
        return np.rint(solved.values).astype(np.int64)
    for first in range(len(costs), -1, -1):
        matrix, whole = faces[first], None
        for cost in costs[first:] or [np.zeros(len(faces[0].low), dtype=np.int64)]:
            whole = _solve_whole(matrix, cost)
            if whole is None:
                break
            matrix = matrix.with_row(cost, int(cost @ np.rint(whole.values).astype(np.int64)))
        if whole is not None:
            return np.rint(whole.values).astype(np.int64)
    return None


def _read_plan(program: FaceProgram, values: IntArray) -> Improved:
    """The plan of whole values, once pooled actives and then pooled standbys are dealt places."""
    face, problem = program.face, program.face.problem
    C, G = problem.C, problem.G
    active = np.full(problem.T, -1, dtype=np.int64)
    on = program.a_column[values[program.a] > 0]
    active[problem.col_task[on]] = problem.col_client[on]
    held = problem.col_keys[face.column[values[program.y] > 0]]

    in_pool = np.zeros(problem.T, dtype=np.int64)
    in_pool[program.f_task] = values[program.f]
    places = np.zeros((G, C), dtype=np.int64)
    np.add.at(places, (program.b_group, program.b_client), values[program.b])
    closed = {task: _list_columns(program, task) for task in np.flatnonzero(in_pool).tolist()}
    dealt = _deal(problem.group, in_pool, places, C, closed)
    if dealt.stuck:
        return Improved(None, stuck=_list_tasks(problem.group, dealt.stuck))
    active[dealt.keys // C] = dealt.keys % C

    copies = np.zeros(problem.T, dtype=np.int64)
    copies[face.pooled] = values[program.p]
    copies[problem.logged] -= in_pool[problem.logged]
    standby_places = np.zeros((G, C), dtype=np.int64)
    np.add.at(standby_places, (face.place_group, face.place_client), values[program.q])
    logged_places = np.zeros((G, C), dtype=np.int64)
    number = len(program.q)
    np.add.at(logged_places, (program.b_group[:number], program.b_client[:number]), values[program.b[:number]])
    closed = {task: {*_list_columns(program, task), int(active[task])} for task in np.flatnonzero(copies).tolist()}
    more = _deal(problem.group, copies, standby_places - logged_places, C, closed)
    if more.stuck:
        return Improved(None, stuck=_list_tasks(problem.group, more.stuck))
    logged = np.flatnonzero(problem.logged)
    standby = np.setdiff1d(np.concatenate([held, more.keys]), logged * C + active[logged])
    return Improved(make_placement(active, standby, C))


@dataclass(frozen=True, eq=False)
class _Dealt:
    keys: IntArray
    stuck: list[int]
    """Subtopologies."""


def _deal(group: IntArray, need: IntArray, places: IntArray, C: int, closed: dict[int, set[int]]) -> _Dealt:
    """The places (G, C) dealt to tasks, `need` (T,) each, none on the clients that are `closed` to it."""
    keys: list[int] = []
    stuck: list[int] = []
    needing = np.flatnonzero(need)
    for g in np.unique(group[needing]).tolist():
        tasks = needing[group[needing] == g]
        found = deal_pool(tasks, need[tasks], places[g], closed, C)
        if found is None:
            stuck.append(g)
        else:
            keys.extend(found)
    return _Dealt(np.array(keys, dtype=np.int64), stuck)


def _list_columns(program: FaceProgram, task: int) -> set[int]:
    """Clients that are no part of a logged task's pool."""
    problem = program.face.problem
    if not problem.logged[task]:
        return set()
    return set(problem.col_client[problem.col_start[task] : problem.col_start[task + 1]].tolist())


def _list_tasks(group: IntArray, stuck: list[int]) -> IntArray:
    return np.flatnonzero(np.isin(group, stuck))
