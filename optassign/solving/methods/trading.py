"""Goals (a) that are served by trades of places where pairs are too many for one model of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from optassign.models.flows.traffic import bound_traffic, count_traffic, lessen_traffic
from optassign.models.goals import disk, rack_cost, rack_traffic
from optassign.models.greedy.disks import bound_state, count_state, even_out_state
from optassign.models.problem import Placement, Problem


@dataclass(frozen=True)
class Trading:
    """What tasks trade places for: counts of all windows stay as they are."""

    goal: str
    is_known: Callable[[Problem], bool]
    """Whether the snapshot tells what the goal needs."""
    count: Callable[[Problem, Placement], int]
    bound: Callable[[Problem], int]
    lessen: Callable[[Problem, Placement], Placement]
    resolution: int
    """By so much a value may be above its bound and as good, as both are rounded."""
    rests_nearby: bool
    """Whether a group is at rest that trades would bring only a little (2%) further: state grows all the time."""


def _has_racks(problem: Problem) -> bool:
    return problem.data_of(rack_traffic.NAME, rack_traffic.Racks) is not None


def _has_costs(problem: Problem) -> bool:
    return problem.data_of(rack_cost.NAME, rack_cost.Costs) is not None


def _has_state(problem: Problem) -> bool:
    return bool(problem.logged.any())


TRADINGS: Mapping[str, Trading] = MappingProxyType(
    {
        each.goal: each
        for each in (
            Trading(rack_traffic.NAME, _has_racks, count_traffic, bound_traffic, lessen_traffic, 0, rests_nearby=False),
            Trading(rack_cost.NAME, _has_costs, count_traffic, bound_traffic, lessen_traffic, 0, rests_nearby=False),
            Trading(disk.GOAL.name, _has_state, count_state, bound_state, even_out_state, 1, rests_nearby=True),
        )
    }
)
"""By goal."""
