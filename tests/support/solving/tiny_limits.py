"""Limits of tiny groups, and placements from enumeration."""

from __future__ import annotations

import random

import numpy as np
from enumeration import Copies, Tiny

from optassign_models.limits import Kind, PlacementLimit
from optassign_models.problem import Placement, Problem, make_placement


def draw_limits(dice: random.Random, problem: Problem) -> tuple[PlacementLimit, ...]:
    """Return one to three limits: a pin, a forbidden place, a number of copies."""
    limits = []
    for kind in dice.sample(list(Kind), dice.randint(1, 3)):
        tasks = np.array([dice.random() < 0.3 for _ in range(problem.T)])
        clients = np.array([dice.random() < 0.5 for _ in range(problem.C)])
        weight = np.ones(problem.T, dtype=np.int64) if kind is Kind.MOST else None
        limits.append(PlacementLimit(kind.name, kind, tasks, clients, dice.randint(1, problem.T), weight))
    return tuple(limits)


def place(tiny: Tiny, problem: Problem, copies: Copies) -> Placement:
    clients, tasks = list(tiny.state.kafka_streams_states), list(tiny.state.all_tasks)
    active = np.array([clients.index(copies[task][0]) for task in tasks])
    keys = [t * problem.C + clients.index(c) for t, task in enumerate(tasks) for c in copies[task][1]]
    return make_placement(active, np.array(keys, dtype=np.int64), problem.C)
