"""Enumerated placements in the types of the measures and of the models, and back."""

from __future__ import annotations

import numpy as np
from enumeration import Copies, Tiny

from optassign.measuring.placement import TaskPlacement
from optassign_models.problem import Placement, Problem, make_placement


def to_task_placement(copies: Copies) -> TaskPlacement:
    active = {task: (client,) for task, (client, _) in copies.items()}
    return TaskPlacement(active, {task: tuple(sorted(s)) for task, (_, s) in copies.items()}, dict.fromkeys(copies, ()))


def to_copies(placed: TaskPlacement) -> Copies:
    return {task: (clients[0], frozenset(placed.standby[task])) for task, clients in placed.active.items()}


def to_placement(tiny: Tiny, problem: Problem, copies: Copies) -> Placement:
    clients, tasks = list(tiny.state.kafka_streams_states), list(tiny.state.all_tasks)
    active = np.array([clients.index(copies[task][0]) for task in tasks])
    keys = [t * problem.C + clients.index(c) for t, task in enumerate(tasks) for c in copies[task][1]]
    return make_placement(active, np.array(keys, dtype=np.int64), problem.C)
