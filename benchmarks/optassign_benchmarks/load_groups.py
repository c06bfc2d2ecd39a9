"""Groups whose tasks weigh differently, by seed: fresh, drifted, growing, shrinking; and a day of drifting weights."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generate import generate
from optassign.simulation.successors import make_restored_snapshot

Weights = Literal["lognormal", "hot subtopology"]
Event = Literal["fresh", "steady", "scale-out", "scale-in"]
EVENTS: tuple[Event, ...] = ("fresh", "steady", "scale-out", "scale-in")

_SIGMA = 1.0
"""The sigma of lognormal weights' logarithms."""
_HOT = 10.0
"""Times as much as others a task of the hot subtopology weighs."""
_DRIFT = 0.2
"""The sigma of the logarithms of weights' changes between settling and the snapshot."""
_PART = 10
"""One client in this many has joined, or has gone."""


def make_group(event: Event, tasks: int, clients: int, standbys: int, weights: Weights, seed: int) -> ApplicationState:
    """A snapshot of `tasks` tasks and `clients` clients.

    `fresh`: all clients are empty. `steady`: a group at rest, whose weights have drifted by a fifth since. `scale-out`: a tenth
    of the clients has just joined a group at rest. `scale-in`: a tenth has gone.
    """
    ever = {"scale-in": clients + clients // _PART, "scale-out": clients}.get(event, clients)
    state = weigh(generate("cold", tasks, ever, standbys, seed=seed, stateless=0.0), weights, seed)
    if event == "fresh":
        return state
    before = clients - clients // _PART if event == "scale-out" else ever
    settled = state.model_copy(update={"clients": state.clients[:before]})
    settled = make_restored_snapshot(settled, assign(settled, "greedy"))
    if event == "steady":
        return drift(settled, _DRIFT, seed)
    return settled.model_copy(update={"clients": (*settled.clients, *state.clients[before:])[:clients]})


def weigh(state: ApplicationState, weights: Weights, seed: int) -> ApplicationState:
    """The snapshot with weights drawn anew."""
    rng = np.random.default_rng([seed, 1])
    if weights == "lognormal":
        drawn = np.exp(rng.normal(0.0, _SIGMA, len(state.tasks)))
    else:
        hot = np.array([task.task_id.subtopology == 0 for task in state.tasks])
        drawn = np.where(hot, _HOT, 1.0) * rng.uniform(0.8, 1.2, len(state.tasks))
    return reweigh(state, drawn.tolist())


def reweigh(state: ApplicationState, weights: list[float]) -> ApplicationState:
    """The snapshot with these weights."""
    pairs = zip(state.tasks, weights, strict=True)
    return state.model_copy(update={"tasks": tuple(task.model_copy(update={"weight": round(w, 6)}) for task, w in pairs)})


def drift(state: ApplicationState, sigma: float, seed: int) -> ApplicationState:
    """The snapshot with each weight multiplied by a lognormal factor."""
    factors = np.exp(np.random.default_rng([seed, 2]).normal(0.0, sigma, len(state.tasks)))
    return reweigh(state, [task.weight * f for task, f in zip(state.tasks, factors.tolist(), strict=True)])


def weights_at(base: np.ndarray, phase: np.ndarray, hour: int, rng: np.random.Generator) -> list[float]:
    """Weights at an hour of the day: a curve of ±30% by the phase of each task, and 5% of noise."""
    curve = 1 + 0.3 * np.sin(2 * math.pi * (hour / 24 + phase))
    noisy: list[float] = (base * curve * np.exp(rng.normal(0.0, 0.05, len(base)))).tolist()
    return noisy
