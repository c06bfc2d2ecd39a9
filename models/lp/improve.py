"""The best plan on the optimal face of the copies' flow, goal after goal, and a proof of each value.

1. One linear program with all goals, each weighing more than what the next can usually gain, is minimised. Its duals are taken
   apart into duals of each goal. In their order, each proves a bound in whole numbers; where the solution is there, the face
   shrinks to the goal's optima (complementary slackness), and it is the next one's turn.
2. From the first goal on of which that is not so, each goal has a program of its own; where this leaves a gap, too, whole
   numbers are asked for.
3. The vertex is whole, or made so on the last face, and read as a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from optassign.models.deadline import Deadline
from optassign.models.flows.copies import find_balanced_copies
from optassign.models.flows.face import CopiesFace
from optassign.models.forced import prepare
from optassign.models.goals import GoalModel
from optassign.models.lp.building import build_face_program
from optassign.models.lp.face_program import FaceProgram
from optassign.models.lp.places import Reading, read_plan
from optassign.models.lp.program import Matrix, Solved
from optassign.models.lp.proof import fix_to_optima, is_whole, prove_bound, split_duals
from optassign.models.problem import BoolArray, IntArray, Placement
from optassign.models.windows import Windows

_WEIGHT = 1_000
"""Of a goal over the one after it. Less is often not enough, and with much more HiGHS takes twenty times as long."""
_SAME = 1e-3
"""Costs are whole, so a value so near to a whole number is that number."""
_MOST_TIED = 10_000
"""Columns up to which the last tie is worth a program of its own: in larger groups nobody looks for the least id."""
_MOST_ROUNDS = 4
"""How often a face is looked at again after pools that could not be dealt were written out as columns."""
_MOST_CROWDED = 2
"""How often only those merged places are told apart that are short of room; then all are, which can take ten times as long."""
_MOST_WHOLE = 30_000
"""Variables that are still free: up to so many, whole numbers are asked for where the program's vertex has fractions."""
_SHORT_ROW = 200
"""Entries up to which a row says that its variables are near to each other."""


@dataclass(frozen=True, eq=False)
class Improved:
    """What came of a face."""

    placement: Placement | None
    """None where the windows of the actives leave no plan on the face, or no whole one was found."""
    bounds: dict[str, int] = field(default_factory=dict)
    """Goal → what no plan on the face costs less than, given that the goals before it are at their bounds."""
    ties_broken: bool = False
    """Of all plans that are equal in the goals, it is the one in which clients keep their smallest tasks."""
    is_cut_short: bool = False
    """The deadline came first, or was too near to begin: something better may have been found later."""


def improve_plan(face: CopiesFace, windows: Windows, goals: Sequence[GoalModel], deadline: Deadline) -> Improved:
    """The plan on the face that is best in the goals, in their order, inside the windows of actives.

    It is looked for again with more places told apart, or with pools written out as columns, where they could not be dealt.
    """
    apart = np.zeros(face.problem.G * face.problem.C, dtype=np.bool_)
    crowded = 0
    for _ in range(_MOST_ROUNDS):
        program = build_face_program(face, windows, apart)
        optimum = _find_optimum(program, goals, deadline)
        reading = Reading() if optimum.values is None else read_plan(program, optimum.values)
        if len(reading.crowded):
            crowded += 1
            apart[reading.crowded if crowded <= _MOST_CROWDED else slice(None)] = True
            continue
        if not len(reading.stuck):
            break
        written, forced = prepare(face.problem.with_all_columns(reading.stuck))
        copies = find_balanced_copies(written, forced, windows, now=False, spread=bool(face.layers))
        if copies is None or copies.face is None:
            break
        face = copies.face
    return Improved(reading.placement, optimum.bounds, optimum.ties_broken, is_cut_short=not deadline.left)


@dataclass(frozen=True, eq=False)
class _Optimum:
    """Of one program."""

    values: IntArray | None
    """(variables,) whole; None where nothing whole was found."""
    bounds: dict[str, int]
    ties_broken: bool = False


def _find_optimum(program: FaceProgram, goals: Sequence[GoalModel], deadline: Deadline) -> _Optimum:
    """The optimum in the goals, in their order, and then in the tie."""
    costs = [program.price(goal) for goal in goals]
    solved, proven = _minimise_together(program.matrix, costs, deadline)
    if solved is None:
        return _Optimum(None, {})
    bounds = {goal.name: step.bound for goal, step in zip(goals, proven, strict=False)}
    faces = [program.matrix, *(step.matrix for step in proven)]
    is_reached = True
    for goal, cost in zip(goals[len(proven) :], costs[len(proven) :], strict=True):
        step = _minimise(faces[-1], cost, deadline)
        if step is None:
            return _Optimum(None, bounds)
        solved = step.solved
        faces.append(step.matrix)
        if is_reached:
            bounds[goal.name] = step.bound
        is_reached = is_reached and step.is_reached
    tie = faces[-1].minimise(program.price_tie(), deadline) if len(program.face.column) <= _MOST_TIED else None
    ties_broken = tie is not None and bool(is_whole(tie.values).all())
    if tie is not None and ties_broken:
        solved = tie
    return _Optimum(_find_whole(faces, costs, solved, deadline), bounds, ties_broken)


@dataclass(frozen=True, eq=False)
class _Step:
    """One goal minimised."""

    matrix: Matrix
    """What is left of the face."""
    solved: Solved
    bound: int
    is_reached: bool = True


def _minimise_together(matrix: Matrix, costs: list[IntArray], deadline: Deadline) -> tuple[Solved | None, list[_Step]]:
    """An optimum of the weighted sum, and a step for each of the first goals that it is proven to be optimal in."""
    total = np.zeros_like(costs[0])
    for cost in costs:
        total = total * _WEIGHT + cost
    solved = matrix.minimise(total, deadline)
    steps: list[_Step] = []
    if solved is None or solved.duals is None:
        return None, steps
    for cost, duals in zip(costs, split_duals(solved.duals, len(costs), _WEIGHT), strict=True):
        proof = prove_bound(matrix, cost, duals)
        if not proof.is_tight or not _is_same(float(cost @ solved.values), proof.bound):
            break
        matrix = fix_to_optima(matrix, proof)
        steps.append(_Step(matrix, solved, proof.bound))
    return solved, steps


def _minimise(matrix: Matrix, cost: IntArray, deadline: Deadline) -> _Step | None:
    """What is left of the face, one of its optima, and the bound; None where nothing is left, or found."""
    solved = matrix.minimise(cost, deadline)
    if solved is None or solved.duals is None:
        return None
    proof = prove_bound(matrix, cost, solved.duals)
    if proof.is_tight and _is_same(float(cost @ solved.values), proof.bound):
        return _Step(fix_to_optima(matrix, proof), solved, proof.bound)
    whole = _solve_whole(matrix, cost, deadline)
    if whole is None:
        return None
    value = int(cost @ np.rint(whole.values).astype(np.int64))
    return _Step(matrix.with_row(cost, value), whole, proof.bound, is_reached=value == proof.bound)


def _is_same(value: float, bound: int) -> bool:
    return abs(value - bound) < max(_SAME, 1e-9 * abs(bound))


def _solve_whole(matrix: Matrix, cost: IntArray, deadline: Deadline) -> Solved | None:
    return matrix.minimise(cost, deadline, whole=True) if int(matrix.is_free.sum()) <= _MOST_WHOLE else None


def _find_whole(faces: list[Matrix], costs: list[IntArray], solved: Solved, deadline: Deadline) -> IntArray | None:
    """Whole values that are best in the goals, in their order: the last vertex, if it is whole.

    Else whole numbers are asked for near its fractions, then on all of the last face; where it has none, for the last goal
    again on the face before, and so on.
    """
    if is_whole(solved.values).all():
        return np.rint(solved.values).astype(np.int64)
    near = _find_whole_near(faces[-1], solved, deadline)
    if near is not None:
        return near
    for first in range(len(costs), -1, -1):
        matrix, whole = faces[first], None
        for cost in costs[first:] or [np.zeros(len(faces[0].low), dtype=np.int64)]:
            whole = _solve_whole(matrix, cost, deadline)
            if whole is None:
                break
            matrix = matrix.with_row(cost, int(cost @ np.rint(whole.values).astype(np.int64)))
        if whole is not None:
            return np.rint(whole.values).astype(np.int64)
    return None


def _find_whole_near(face: Matrix, solved: Solved, deadline: Deadline) -> IntArray | None:
    """Whole values on the face that differ from the solution near its fractions only, in wider and wider circles."""
    near: BoolArray = ~is_whole(solved.values)
    entries = np.bincount(face.row, minlength=len(face.row_low))
    is_short = entries[face.row] <= _SHORT_ROW
    nothing = np.zeros(len(face.low), dtype=np.int64)
    while int(near.sum()) <= _MOST_WHOLE:
        touched = np.zeros(len(face.row_low), dtype=np.bool_)
        touched[face.row[is_short & near[face.variable]]] = True
        wider = near.copy()
        wider[face.variable[is_short & touched[face.row]]] = True
        wider &= face.is_free
        if np.array_equal(wider, near):
            return None
        near = wider
        values = np.rint(solved.values).astype(np.int64)
        low, high = np.where(near, face.low, values), np.where(near, face.high, values)
        whole = _solve_whole(face.fix(low, high, face.row_low, face.row_high), nothing, deadline)
        if whole is not None:
            return np.rint(whole.values).astype(np.int64)
    return None
