"""A goal: its name, its place in the order, its measure, and the bounds that a report may state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optassign.formats.state import ApplicationState
from optassign.measuring.facts import Facts

Value = int | float


def _find_nothing(state: ApplicationState) -> None:
    return None


def _tolerate_nothing(facts: Facts) -> float:
    return 0.0


def _as_it_is(bound: Value, facts: Facts) -> Value:
    return bound


@dataclass(frozen=True)
class Goal:
    """One goal of a stage. Measures use no solver and share no code with the models."""

    name: str
    place: int
    """Its place in the default order of its stage: goals of lower place come first."""
    unit: str
    """The unit of its value."""
    measure: Callable[[Facts], Value | None]
    """Its value of an answer or of the answer's plan; None where the snapshot does not tell."""
    more_is_better: bool = False
    joins: Callable[[ApplicationState], bool] | None = None
    """For goals (a): whether the snapshot's configuration makes the goal take part. None: it always does."""
    find_data: Callable[[ApplicationState], object | None] = _find_nothing
    """For goals (a): the facts that its model needs in addition to the arrays; None where the snapshot does not say."""
    why_unserved: Callable[[ApplicationState], str | None] = _find_nothing
    """The facts that this snapshot lacks, so that no assignor can serve the goal; None where nothing."""
    in_default_order: bool = True
    """Whether it takes part where the options do not ask for it by name; of goals (a), where it joins."""
    depends_on_owners: bool = False
    """Whether the value depends on previous owners, so that it differs in a follow-up, in which no client owns the task."""
    is_count: bool = False
    """A number of things, so never below 0: a value of 0 needs no solver to be proven."""
    is_reported_at_rest: bool = False
    """Whether it is also reported for an answer that is its own plan, in addition to goals (a)."""
    bound_in_units: Callable[[Value, Facts], Value] = _as_it_is
    """A bound of the model's expression in the units of the measure."""
    tolerance: Callable[[Facts], float] = _tolerate_nothing
    """By how much a value that the model proved may lie above its bound, as the model counts in coarser units."""
    accepted: Callable[[Value, Facts], Value] = _as_it_is
    """The value that is as good as one at the given bound, as the options tolerate it."""

    @property
    def is_configured(self) -> bool:
        """Whether it is one of goals (a), which take part only where they are configured."""
        return self.joins is not None

    def is_wanted(self, state: ApplicationState) -> bool:
        """Whether it takes part where the options do not name any goals."""
        return self.in_default_order and (self.joins is None or self.joins(state))


def measure_stage(facts: Facts, goals: Mapping[str, Goal]) -> dict[str, Value]:
    """The values of the given goals, in their order, where the snapshot tells them."""
    values = {name: goal.measure(facts) for name, goal in goals.items()}
    return {name: value for name, value in values.items() if value is not None}
