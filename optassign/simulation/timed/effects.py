"""Figures of each event of a simulated scenario, from the event until the next one or the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from optassign.simulation.timed.measures import Point
from optassign.simulation.timed.scenario import ScenarioEvent
from optassign.simulation.timed.simulator import SimulatedRun

__all__ = ["EventEffect", "describe_event", "measure_effects"]

_NAMED_OF_EVENT = 2
"""Most instances of an event that tables name; they count the others. More names do not fit into two lines of a cell."""

_BEGINS_EMPTY = ("start", "recorded")
"""Reasons of the first rebalance of a run that does not begin stable."""


@dataclass(frozen=True, slots=True)
class EventEffect:
    """The figures of one event, or of simultaneous events, until the next event."""

    at_s: float
    """Seconds from the start of the run."""
    event: str
    """A description such as `crash c3`."""
    down_task_s: float
    """Task-seconds in which a task was not processed."""
    unbalanced_s: float | None
    """Seconds in which the active counts were outside their shares; None if they still were at the next event."""
    stable_after_s: float | None
    """Seconds until the last rebalance or restoration ended; None if copies were still restoring at the next event."""
    moves: int
    """Active tasks that moved from one running instance to another."""
    rebalances: int
    """Number of passes of rebalances."""


def measure_effects(played: SimulatedRun) -> tuple[EventEffect, ...]:
    """Return the effects of each event of a run, in the order of their times.

    Returns:
        One effect for each time at which events happen, and one for the start of a run that does not begin stable.
    """
    duration = played.scenario.duration_s
    events = sorted((event for event in played.scenario.events if event.at < duration), key=lambda event: event.at)
    named = [(at, ", ".join(map(describe_event, group))) for at, group in groupby(events, key=lambda event: event.at)]
    rebalances = (event for event in played.events if event["event"] == "rebalance")
    if next(rebalances, {}).get("reason") in _BEGINS_EMPTY:
        named.insert(0, (0.0, "start"))
    ends = [*(at for at, _ in named), duration][1:]
    return tuple(_measure(played, at, end, text) for (at, text), end in zip(named, ends, strict=True))


def describe_event(event: ScenarioEvent) -> str:
    """Return a short description of an event, such as `crash c3` or `rolling-restart c1, c2 and 8 more`."""
    if event.zone is not None:
        return f"{event.do} {event.zone}"
    named = [*event.clients, *map(str, event.subtopologies)]
    if event.configs is not None:
        named = sorted(event.configs.model_fields_set)
    more = f" and {len(named) - _NAMED_OF_EVENT} more" if len(named) > _NAMED_OF_EVENT else ""
    return f"{event.do} {', '.join(named[:_NAMED_OF_EVENT])}{more}"


def _measure(played: SimulatedRun, at: float, end: float, text: str) -> EventEffect:
    curve = played.measures.curve
    within = [point for point in curve if at <= point.at < end] or [point for point in curve if point.at <= at][-1:]
    of_event = [event for event in played.events if at <= event["at"] < end]
    rebalances = [event for event in of_event if event["event"] == "rebalance"]
    changes = [event["at"] for event in of_event if event["event"] in ("rebalance", "restored")]
    down, unbalanced = ([point.down for point in curve], [point.active_imbalance > 0 for point in curve])
    return EventEffect(
        at_s=at,
        event=text,
        down_task_s=_integrate(curve, down, (at, end)),
        unbalanced_s=None if within[-1].active_imbalance else _integrate(curve, unbalanced, (at, end)),
        stable_after_s=None if within[-1].restoring else round(max(changes, default=at) - at, 3),
        moves=sum(len(event["moved"]) for event in rebalances),
        rebalances=len(rebalances),
    )


def _integrate(curve: Sequence[Point], values: Sequence[float], bounds: tuple[float, float]) -> float:
    """Return the integral of a step curve between two times, to three decimals; each value holds until the next point."""
    times = np.array([*(point.at for point in curve), max(curve[-1].at, bounds[1])])
    areas = np.array(values, dtype=np.float64) * np.diff(times)
    low, high = np.interp(bounds, times, np.concatenate(([0.0], np.cumsum(areas))))
    return round(float(high - low), 3)
