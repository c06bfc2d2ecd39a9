"""Limits of tiny groups."""

from __future__ import annotations

import random

import numpy as np

from optassign_models.limits import Kind, PlacementLimit
from optassign_models.problem import Problem


def draw_limits(dice: random.Random, problem: Problem) -> tuple[PlacementLimit, ...]:
    """Return one to three random limits of different kinds: a pin, a forbidden place, a greatest number of copies."""
    limits = []
    for kind in dice.sample(list(Kind), dice.randint(1, 3)):
        tasks = np.array([dice.random() < 0.3 for _ in range(problem.T)])
        clients = np.array([dice.random() < 0.5 for _ in range(problem.C)])
        weight = np.ones(problem.T, dtype=np.int64)
        limits.append(PlacementLimit(kind.name, kind, tasks, clients, dice.randint(1, problem.T), weight))
    return tuple(limits)
