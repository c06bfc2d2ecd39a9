"""All goals, and the goals of a snapshot in their order (docs/reference/rules.md, "The target").

The goals of the target are those of every file of `plan/`, by place. Options may give another order. Goals (a) (racks, tags,
load) take part if they are configured: a rack-aware strategy, tags, different weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Literal

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import Options, Weights
from optassign.formats.state import ApplicationState
from optassign.formats.weighing import counts_as_weight
from optassign.goals.goal import Goal, Value, measure_stage
from optassign.goals.rebalance import REBALANCE_GOALS
from optassign.measuring.facts import Facts
from optassign.measuring.load import find_counting_time, list_uncounted

WEIGHTED_COST = "weighted_cost"
"""The name of the sum that preset `weighted` minimises."""
_PLANNERS = ("fallback", "planner")
_TO_PLANNER = {
    "load": "the planner in the JVM counts tasks and standbys, whatever they weigh",
    "rack_traffic": "the planner in the JVM minds it only where that costs neither a move nor restoring",
}
"""Goal → why the planner in the JVM does not serve it."""
UNSERVED = "goal not served: "
"""The beginning of the note on a goal that an assignor did not serve."""


@cache
def find_plan_goals() -> Mapping[str, Goal]:
    """Return name → goal of the target, in the default order."""
    folder = import_module("optassign.goals.plan")
    files = [import_module(f"{folder.__name__}.{found.name}") for found in iter_modules(folder.__path__)]
    goals: list[Goal] = [goal for file in files for goal in file.GOALS]
    return MappingProxyType({goal.name: goal for goal in sorted(goals, key=lambda goal: (goal.place, goal.name))})


def measure_goals(state: ApplicationState, answer: TaskAssignment) -> dict[str, dict[str, Value]]:
    """Return stage (`plan`, `rebalance`) → goal → value of an answer, for the default order without goals (a).

    An answer without a target is its own target.
    """
    facts = Facts(state, answer)
    own = {name: goal for name, goal in find_plan_goals().items() if goal.in_default_order and not goal.is_configured}
    return {"plan": measure_stage(facts, own), "rebalance": measure_stage(facts, REBALANCE_GOALS)}


@dataclass(frozen=True)
class GoalOrder:
    """The goals for which a target is optimised, in order."""

    preset: Literal["lexicographic", "weighted"]
    goals: Mapping[str, Goal]
    """Name → goal, most important first."""
    is_given: bool
    """Whether the options name another order than the preset's own."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, most important first."""
        return tuple(self.goals)

    @property
    def configured(self) -> tuple[str, ...]:
        """The names of goals (a) among them."""
        return tuple(name for name, goal in self.goals.items() if goal.is_configured)

    @property
    def asked_for(self) -> tuple[str, ...]:
        """The goals that this snapshot requests beyond the default order; an assignor reports those it does not serve."""
        if self.preset == "weighted":
            return (WEIGHTED_COST,)
        return self.names if self.is_given else self.configured


def goal_order(state: ApplicationState) -> GoalOrder:
    """Return the goals of a snapshot: as its options say, otherwise the default order with the goals (a) that join."""
    options, known = state.options, find_plan_goals()
    own = tuple(name for name, goal in known.items() if goal.is_wanted(state))
    names = own if options.goals is None else options.goals
    return GoalOrder(options.preset, {name: known[name] for name in names}, names != own)


def note_unserved(unserved: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note for each entry of `unserved`: goal → why an assignor did not serve it."""
    return tuple(f"{UNSERVED}{name}: {why}" for name, why in unserved.items())


def note_unknown_to_planner(state: ApplicationState, assignor: str) -> tuple[str, ...]:
    """Return a note for each goal that the planner in the JVM does not serve; empty for other assignors."""
    if assignor not in _PLANNERS:
        return ()
    order = goal_order(state)
    wanted = [name for name in order.asked_for if name not in order.goals or not order.goals[name].in_default_order]
    wanted += [name for name in order.configured if name not in wanted and name != "tag_spread"]
    return note_unserved({name: _TO_PLANNER.get(name, "the planner in the JVM does not know it") for name in wanted})


def note_unused_weights(options: Options) -> tuple[str, ...]:
    """Return the note that the preset ignores the given weights; empty if they count or are the defaults."""
    if options.preset == "weighted" or options.weights == Weights():
        return ()
    return (f"weights not used: preset {options.preset} has none, preset weighted has",)


def note_weighing(state: ApplicationState) -> tuple[str, ...]:
    """Return notes on weights that do not apply: of unknown tasks, without data, or not measured for long enough."""
    options, notes = state.options, []
    unknown = set(options.task_weights)
    if unknown:
        unknown -= {name for task in state.tasks for name in (task.id, task.id.rpartition("_")[0])}
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        notes.append(f"weights not used: no task or subtopology {', '.join(sorted(unknown)[:3])}{more}")
    if options.weigh_by == "changelog" and all(task.changelog_end_offset is None for task in state.tasks):
        notes.append("weights are as given: no task has a changelog_end_offset to be weighed by")
    if options.weigh_by == "rates" and (state.rates is None or not state.rates.tasks):
        lacks = "taken_at" if state.taken_at is None else "source_end_offset of any task"
        notes.append(f"weights are as given: rates cannot be measured without {lacks}")
    at = find_counting_time(state)
    if at is not None and state.rates is not None:
        uncounted = list_uncounted(state)
        more = f" and {len(uncounted) - 3} more" if len(uncounted) > 3 else ""
        some_count = any(counts_as_weight(row) for row in state.rates.tasks)
        which = f"weights of {', '.join(uncounted[:3])}{more} are the mean" if some_count else "weights are as given"
        notes.append(f"{which}: rates count once they were measured for a minute, from {at} on")
    return tuple(notes)


def find_unservable(state: ApplicationState, names: Iterable[str]) -> dict[str, str]:
    """Return goal → reason, for goals that no assignor can serve on this snapshot, or not in full."""
    known = find_plan_goals()
    why = {name: known[name].why_unserved(state) for name in names if name in known}
    return {name: reason for name, reason in why.items() if reason is not None}
