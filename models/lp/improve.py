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
from optassign.models.lp.program import Matrix, Solved
from optassign.models.lp.proof import fix_to_optima, is_whole, prove_bound, split_duals
from optassign.models.lp.stages import Step, find_whole, is_near, minimise
from optassign.models.problem import IntArray, Placement
from optassign.models.program.placement_program import PlacementProgram, build_face_program
from optassign.models.program.reading import Reading, read_plan
from optassign.models.program.scope import Scope
from optassign.models.windows import Windows

_WEIGHT = 1_000
"""Of a goal over the one after it. Less is often not enough, and with much more HiGHS takes twenty times as long."""
_MOST_TIED = 10_000
"""Columns up to which the last tie is worth a program of its own: in larger groups nobody looks for the least id."""
_MOST_ROUNDS = 4
"""How often a face is looked at again after pools that could not be dealt were written out as columns."""
_MOST_CROWDED = 2
"""How often only those merged places are told apart that are short of room; then all are, which can take ten times as long."""


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
        program = build_face_program(Scope.on_face(face, windows, apart))
        optimum = _find_optimum(program, goals, deadline)
        reading = Reading() if optimum.values is None else read_plan(program.v, optimum.values)
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


def _find_optimum(program: PlacementProgram, goals: Sequence[GoalModel], deadline: Deadline) -> _Optimum:
    """The optimum in the goals, in their order, and then in the tie."""
    costs = [program.price(goal) for goal in goals]
    solved, proven = _minimise_together(program.matrix, costs, deadline)
    if solved is None:
        return _Optimum(None, {})
    bounds = {goal.name: step.bound for goal, step in zip(goals, proven, strict=False)}
    faces = [program.matrix, *(step.matrix for step in proven)]
    is_reached = True
    for goal, cost in zip(goals[len(proven) :], costs[len(proven) :], strict=True):
        step = minimise(faces[-1], cost, deadline)
        if step is None:
            return _Optimum(None, bounds)
        solved = step.solved
        faces.append(step.matrix)
        if is_reached:
            bounds[goal.name] = step.bound
        is_reached = is_reached and step.is_reached
    tie = faces[-1].minimise(program.price_tie(), deadline) if len(program.v.y) <= _MOST_TIED else None
    ties_broken = tie is not None and bool(is_whole(tie.values).all())
    if tie is not None and ties_broken:
        solved = tie
    return _Optimum(find_whole(faces, costs, solved, deadline), bounds, ties_broken)


def _minimise_together(matrix: Matrix, costs: list[IntArray], deadline: Deadline) -> tuple[Solved | None, list[Step]]:
    """An optimum of the weighted sum, and a step for each of the first goals that it is proven to be optimal in."""
    total = np.zeros_like(costs[0])
    for cost in costs:
        total = total * _WEIGHT + cost
    solved = matrix.minimise(total, deadline)
    steps: list[Step] = []
    if solved is None or solved.duals is None:
        return None, steps
    for cost, duals in zip(costs, split_duals(solved.duals, len(costs), _WEIGHT), strict=True):
        proof = prove_bound(matrix, cost, duals)
        if not proof.is_tight or not is_near(float(cost @ solved.values), proof.bound):
            break
        matrix = fix_to_optima(matrix, proof)
        steps.append(Step(matrix, solved, proof.bound))
    return solved, steps
