"""The goals of a plan as the models see them: each file lists those of one concept as `GOALS`.

The values of a report are recomputed by the measures of `optassign.goals`, which share no code with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from optassign_models.goals.goal import DEFAULT_ORDER, GoalModel
from optassign_models.problem import Placement, Problem

__all__ = ["DEFAULT_ORDER", "GoalModel", "evaluate", "find_goals"]


def evaluate(problem: Problem, plan: Placement, goals: Sequence[GoalModel] = DEFAULT_ORDER) -> dict[str, int]:
    """Return goal → value of a plan, in the order of `goals`. Less is better for all of them."""
    return {goal.name: goal.evaluate(problem, plan) for goal in goals}


def find_goals(names: Iterable[str]) -> tuple[GoalModel, ...]:
    """Return the models of several goals, in their order. KeyError if no file in optassign_models/goals/ has one of them."""
    known = _list_goals()
    return tuple(known[name] for name in names)


@cache
def _list_goals() -> Mapping[str, GoalModel]:
    files = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return {goal.name: goal for file in files for goal in file.GOALS}
