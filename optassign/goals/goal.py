"""A goal: its name, place in the order, measure, and the conversion of its bounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optassign.formats.state import ApplicationState
from optassign.measuring.facts import Facts

Value = int | float


@dataclass(frozen=True)
class Goal:
    """One goal of a stage. Measures use no solver and share no code with the models."""

    name: str
    place: int
    """Its place in the default order of its stage, ascending."""
    unit: str
    """The unit of its value."""
    measure: Callable[[Facts], Value | None]
    """Return its value for an answer or for the answer's target, by stage; None if the snapshot lacks the data."""
    more_is_better: bool = False
    joins: Callable[[ApplicationState], bool] | None = None
    """For goals (a): whether the snapshot's configuration makes the goal take part. None: it always takes part."""
    find_data: Callable[[ApplicationState], object | None] = lambda state: None
    """For goals (a): the data that its model needs in addition to the arrays; None if the snapshot lacks it."""
    why_unserved: Callable[[ApplicationState], str | None] = lambda state: None
    """Why no assignor can serve the goal on this snapshot, or not in full; None if it can be served."""
    in_default_order: bool = True
    """Whether it takes part without being named in the options; for goals (a), if it joins."""
    depends_on_owners: bool = False
    """Whether its value depends on previous owners: it differs in a follow-up, when no client owns tasks in transit."""
    is_count: bool = False
    """Whether its value is a count, so that 0 is proven without a solver."""
    is_reported_at_rest: bool = False
    """Whether it is also reported for an answer that is its own target, in addition to goals (a)."""
    bound_in_units: Callable[[Value, Facts], Value] = lambda bound, facts: bound
    """Convert a bound of the model into the unit of the measure."""
    tolerance: Callable[[Facts], float] = lambda facts: 0.0
    """The most by which a value proven by the model may differ from its bound, because the model counts in coarser units."""
    accepted: Callable[[Value, Facts], Value] = lambda bound, facts: bound
    """Return the value that the options accept for the given bound."""

    @property
    def is_configured(self) -> bool:
        """Whether it is one of goals (a), which take part only if they are configured."""
        return self.joins is not None

    def is_wanted(self, state: ApplicationState) -> bool:
        """Return whether it takes part if the options name no goals."""
        return self.in_default_order and (self.joins is None or self.joins(state))


def convert_thousandths(bound: Value, facts: Facts) -> Value:
    """Return the least value in units that a bound of the model allows; the model counts in thousandths, rounded up."""
    return max(0.0, (1000 * bound - 999) / 1_000_000)


def tolerate_thousandths(copies: Mapping[str, int]) -> float:
    """Return a thousandth, plus the model's rounding: less than a millionth for each copy on the client with most `copies`."""
    return (1_001 + max(copies.values(), default=0)) / 1_000_000


def measure_stage(facts: Facts, goals: Mapping[str, Goal]) -> dict[str, Value]:
    """Return goal → value in the given order, without goals whose value is None."""
    values = {name: goal.measure(facts) for name, goal in goals.items()}
    return {name: value for name, value in values.items() if value is not None}
