"""The goals there are: every file of `plan/`, in the order of their places, and those of this rebalance."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.goals.rebalance import GOALS
from optassign.measuring.facts import Facts


@cache
def find_plan_goals() -> Mapping[str, Goal]:
    """The goals of the plan by name, in their default order."""
    folder = import_module("optassign.goals.plan")
    goals: list[Goal] = [import_module(f"{folder.__name__}.{found.name}").GOAL for found in iter_modules(folder.__path__)]
    return _by_name(sorted(goals, key=lambda goal: (goal.place, goal.name)))


@cache
def find_rebalance_goals() -> Mapping[str, Goal]:
    """The goals of this rebalance by name, in their order."""
    return _by_name(GOALS)


def measure_goals(state: ApplicationState, answer: TaskAssignment) -> dict[str, dict[str, Value]]:
    """Stage (`plan`, `rebalance`) → goal → its value of an answer, for the default order without goals (a).

    An answer without a plan is its own.
    """
    facts = Facts(state, answer)
    return {
        stage: measure_stage(
            facts, {name: goal for name, goal in goals.items() if goal.in_default_order and not goal.is_configured}
        )
        for stage, goals in (("plan", find_plan_goals()), ("rebalance", find_rebalance_goals()))
    }


def measure_stage(facts: Facts, goals: Mapping[str, Goal]) -> dict[str, Value]:
    """The values of the given goals, in their order, where the snapshot tells them."""
    values = {name: goal.measure(facts) for name, goal in goals.items()}
    return {name: value for name, value in values.items() if value is not None}


def _by_name(goals: Iterable[Goal]) -> Mapping[str, Goal]:
    return MappingProxyType({goal.name: goal for goal in goals})
