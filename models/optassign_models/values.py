"""Values of the goals of a plan, so that plans of several methods can be compared goal by goal.

The values of a report are recomputed by the measures of `optassign.goals`, which share no code with this.
"""

from __future__ import annotations

from collections.abc import Sequence

from optassign_models.forced import Forced
from optassign_models.goals import (
    GoalModel,
    active_migrations,
    actives_not_caught_up,
    copies_not_caught_up,
    restore_work,
    standby_migrations,
)
from optassign_models.goals.goal import Placed
from optassign_models.problem import Placement, Problem

FLOW_ORDER: tuple[GoalModel, ...] = (
    restore_work.GOAL,
    copies_not_caught_up.GOAL,
    actives_not_caught_up.GOAL,
    active_migrations.GOAL,
    standby_migrations.GOAL,
)
"""Goals (b) to (f): the order that the flows, which place copies first and then choose actives among them, are made for."""


def evaluate(problem: Problem, forced: Forced, plan: Placement, goals: Sequence[GoalModel] = FLOW_ORDER) -> dict[str, int]:
    """Goal → value of a plan, in the order of `goals`; all are the better the less."""
    placed = Placed(problem, forced, plan)
    return {goal.name: goal.value(placed) for goal in goals}


def plan_values(problem: Problem, forced: Forced, plan: Placement) -> dict[str, int]:
    """Goals (b) to (f) of a plan, in this order."""
    return evaluate(problem, forced, plan)
