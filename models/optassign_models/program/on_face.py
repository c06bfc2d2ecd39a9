"""The best plan on the optimal face of the copies' flow, goal after goal, and a proof of each value.

The goals that do not ask which copy is active are solved by the flow; the one model on its face has the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.flows.copies import CopiesFace, find_balanced_copies
from optassign_models.flows.decomposition import find_optimal_copies
from optassign_models.forced import Forced, prepare
from optassign_models.goals import GoalModel
from optassign_models.goals.caught_up import ACTIVES_NOT_CAUGHT_UP
from optassign_models.goals.moves import ACTIVE_MIGRATIONS, ACTIVE_MOVES
from optassign_models.policy.constants import TOLD_APART_ROUNDS
from optassign_models.problem import Placement, Problem
from optassign_models.program.optimum import Stage, break_tie, find_optimum
from optassign_models.program.placement_program import build_face_program
from optassign_models.program.reading import Reading, read_plan
from optassign_models.program.scope import Scope
from optassign_models.results import Found, FoundBy
from optassign_models.shares import Shares


def improve_plan(face: CopiesFace, forced: Forced, shares: Shares, goals: Sequence[GoalModel], deadline: Deadline) -> Found:
    """The plan on the face that is best in the goals, in their order, inside the shares of actives, with bounds of the face.

    None where these shares leave no plan on the face, or no whole one was found. It is looked for again with more places told
    apart, or with pools written out as columns, where they could not be dealt.
    """
    apart = np.zeros(face.problem.G * face.problem.C, dtype=np.bool_)
    stages = tuple(Stage.of_goal(goal) for goal in goals)
    for _ in range(TOLD_APART_ROUNDS):
        program = build_face_program(Scope.on_face(face, shares, apart))
        optimum = find_optimum(program, forced, stages, deadline)
        tied = break_tie(program, optimum, deadline)
        values = optimum.values if tied is None else tied
        reading = Reading() if values is None else read_plan(program.v, values)
        if len(reading.overfull):
            apart[reading.overfull] = True
            continue
        if not len(reading.undealt):
            break
        written, forced = prepare(face.problem.with_all_columns(reading.undealt))
        copies = find_balanced_copies(written, forced, shares, now=False)
        if copies is None or copies.face is None:
            break
        face = copies.face
    bounds = {goal.name: bound for goal, bound in zip(goals, optimum.bounds, strict=False)}
    return Found(reading.placement, bounds=bounds, found_by=FoundBy.LP, limited=not deadline.left)


def find_nearest(problem: Problem, shares: Shares, placement: Placement, deadline: Deadline) -> Placement | None:
    """Find the plan inside the shares that is nearest to one outside them, as merged places may hold more than their room.

    A flow restores as few offsets as it can, as if the copies of the given plan were all state that there is. The program on
    its face then moves as few actives as it can. None if no copies keep the shares, or if the deadline comes first.
    """
    restored, forced = prepare(problem.as_restored(placement))
    copies = find_optimal_copies(restored, forced, shares)
    if copies is None or copies.chosen.face is None:
        return None
    goals = ACTIVE_MIGRATIONS, ACTIVE_MOVES, ACTIVES_NOT_CAUGHT_UP
    return improve_plan(copies.chosen.face, copies.forced, shares, goals, deadline).placement
