"""Finds the plan inside the shares that is nearest to a plan outside them, as merged places may hold more than their room.

A flow restores as few offsets as it can, as if the copies of the given plan were all state that there is. The program on the
flow's face then moves as few actives as it can.
"""

from __future__ import annotations

from optassign_models.deadline import Deadline
from optassign_models.flows.decomposition import find_optimal_copies
from optassign_models.forced import prepare
from optassign_models.goals import active_migrations, active_moves, actives_not_caught_up
from optassign_models.problem import Placement, Problem
from optassign_models.program.on_face import improve_plan
from optassign_models.shares import Shares


def find_nearest(problem: Problem, shares: Shares, placement: Placement, deadline: Deadline) -> Placement | None:
    """Return the plan; None if no copies keep the shares, or if the deadline comes first."""
    restored, forced = prepare(problem.as_restored(placement))
    copies = find_optimal_copies(restored, forced, shares)
    if copies is None or copies.chosen.face is None:
        return None
    goals = active_migrations.GOAL, active_moves.GOAL, actives_not_caught_up.GOAL
    return improve_plan(copies.chosen.face, copies.forced, shares, goals, deadline).placement
