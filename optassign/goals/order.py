"""Which goals a snapshot asks for, in which order (docs/rules.md, "The plan").

A snapshot's options may give the order; what they do not give is the preset's own. Goals (a) (rack traffic, tag spread, load)
take part by themselves where they are configured: a rack-aware strategy, tags, weights that differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from optassign.formats.configs import Options, Weights
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.goals.registry import find_plan_goals

WEIGHTED_COST = "weighted_cost"
"""Name of the one sum that preset `weighted` minimises."""
UNSERVED = "goal not served: "
"""How the note on a goal begins that an assignor did not serve."""


@dataclass(frozen=True)
class GoalOrder:
    """What a plan is optimised for."""

    preset: Literal["ordered", "weighted"]
    goals: Mapping[str, Goal]
    """Name → goal, most important first."""
    weights: Weights
    is_given: bool
    """The options name the goals: the order is asked for, not the preset's own."""

    @property
    def names(self) -> tuple[str, ...]:
        """Most important first."""
        return tuple(self.goals)

    @property
    def configured(self) -> tuple[str, ...]:
        """Goals (a) among them."""
        return tuple(name for name, goal in self.goals.items() if goal.is_configured)

    @property
    def asked_for(self) -> tuple[str, ...]:
        """What this snapshot asks for beyond the default order: an assignor that does not serve it says so."""
        if self.preset == "weighted":
            return (WEIGHTED_COST,)
        return self.names if self.is_given else self.configured


def goal_order(state: ApplicationState) -> GoalOrder:
    """The goals of a snapshot: as its options say, or the default order with goals (a) where they are configured."""
    options, known = state.options, find_plan_goals()
    names = options.goals
    if names is None:
        names = tuple(name for name, goal in known.items() if goal.is_wanted(state))
    return GoalOrder(options.preset, {name: known[name] for name in names}, options.weights, options.goals is not None)


def note_unserved(unserved: Mapping[str, str]) -> tuple[str, ...]:
    """Goal → why an assignor did not serve it, as notes of a report, in the order given."""
    return tuple(f"{UNSERVED}{name}: {why}" for name, why in unserved.items())


def note_unused_weights(options: Options) -> tuple[str, ...]:
    """The note that weights are given to a preset that has none; nothing where they count, or are as they always are."""
    if options.preset == "weighted" or options.weights == Weights():
        return ()
    return (f"weights not used: preset {options.preset} has none, preset weighted has",)


def find_unservable(state: ApplicationState, names: Iterable[str]) -> dict[str, str]:
    """Goals that nobody can serve on this snapshot, or not in full, and what it lacks."""
    known = find_plan_goals()
    why = {name: known[name].why_unserved(state) for name in names if name in known}
    return {name: reason for name, reason in why.items() if reason is not None}
