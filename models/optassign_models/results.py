"""The results of models, for methods with a solver and without one alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from optassign_models.problem import Placement


class FoundBy(StrEnum):
    """The stage that found an answer; a baseline gives its own name instead."""

    FLOW = "flow"
    CP_SAT = "cp-sat"
    HIGHS = "highs"
    GREEDY = "greedy"
    REMEMBERED = "remembered"
    """No search was needed: it is the remembered answer or plan, or the assignment before."""


class ProvedBy(StrEnum):
    """The prover of a bound: a solver, a flow, or the rules."""

    CP_SAT = "cp-sat"
    HIGHS = "highs"
    """The duals of a relaxation, summed in whole numbers."""
    FLOW = "flow"
    """A min-cost flow of actives in this rebalance."""
    RULES = "rules"
    """R3 to R5 leave no other restore work, and a number that is never below 0 is 0."""


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search for a plan, for an assignment that is balanced now, or for the answer on the way to a plan."""

    placement: Placement | None
    """None where nothing was found."""
    impossible: bool = False
    """Proven that there is nothing to be found."""
    bounds: dict[str, int] = field(default_factory=dict)
    """Goal → a number that its value cannot be below, given the goals before it; not above, where a goal is to be great."""
    proved_by: ProvedBy = ProvedBy.FLOW
    """The prover of the bounds."""
    found_by: str = FoundBy.FLOW
    limited: bool = False
    """A limit ended the search."""
    default_reason: str | None = None
    """Why the plan is one of the default order though another one is asked for; None while it is not."""

    @property
    def whole(self) -> Placement:
        """The placement, where one must have been found."""
        assert self.placement is not None
        return self.placement
