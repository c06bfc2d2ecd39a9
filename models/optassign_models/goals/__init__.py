"""The goals of a plan as the models see them, one file each: `find_goal("load")` is `load.py`'s `GOAL`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from optassign_models.goals.goal import GoalModel

__all__ = ["GoalModel", "find_goal", "find_goals"]


def find_goal(name: str) -> GoalModel:
    """The model of a goal. ModuleNotFoundError if no file in optassign_models/goals/ has this name."""
    goal: GoalModel = import_module(f"{__name__}.{name}").GOAL
    return goal


def find_goals(names: Iterable[str]) -> tuple[GoalModel, ...]:
    """The models of several goals, in their order."""
    return tuple(find_goal(name) for name in names)
