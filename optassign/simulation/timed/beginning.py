"""A scenario that begins with a recorded snapshot: its tasks, and the state on every disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.simulation.timed.application import KEPT, Application

__all__ = ["Beginning", "Inputs", "place_copies"]


@dataclass(frozen=True)
class Inputs:
    """What is written to the changelogs from some time on."""

    since: float
    """Seconds after the start."""
    per_s: Mapping[str, float]
    """Task → offsets, and so records, per second; a task that is left out gets none."""


@dataclass(frozen=True)
class Beginning:
    """The recorded numbers in place of the scenario's own."""

    tasks: tuple[TaskInfo, ...]
    """Every task of the scenario, in its order, under the name that it has in the snapshot."""
    inputs: tuple[Inputs, ...]
    """In the order of their times."""
    snapshot: ApplicationState
    """The first rebalance: its tasks and clients are there at the start."""


def place_copies(application: Application, beginning: Beginning) -> None:
    """Give the application the state of the snapshot.

    A task's owner runs it, with its restored part; a client with a remembered standby or warm-up goes on with it; any other
    state is kept on its disk. A lag that is not known counts as nothing, as it does in docs/reference/rules.md.
    """
    state, number = beginning.snapshot, application.number_of
    for task in beginning.tasks:
        t = number[task.id]
        application.end[t] = float(state.full_lags.get(task.id, task.changelog_end_offset or 0)) if task.logged else 0.0
        application.mean_input[t] = 0.0
    roles = {} if state.remembered is None else {each.process_id: each for each in state.remembered.clients}
    for client in state.clients:
        c = application.client_ids.index(client.process_id)
        for task_id, lag in client.lags.items():
            t = number[task_id]
            behind = 0 if lag in (RUNNING, UNKNOWN_LAG) else lag
            application.position[t, c] = max(0.0, application.end[t] - behind)
            application.mode[t, c] = KEPT
        assigned = roles.get(client.process_id)
        for task_id in () if assigned is None else (*assigned.standby, *assigned.warmup):
            if task_id in client.previous_standby and number.get(task_id) is not None:
                application.give_role(number[task_id], c, active=False)
        for task_id in client.previous_active:
            application.give_role(number[task_id], c, active=True)
    application.left_at[np.nonzero(application.mode == KEPT)] = 0.0
    application.change_done()
