"""Measures that users of a simulated application notice: sums over time, and the curves behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from optassign.formats.state import ApplicationState
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.described import About
from optassign.measuring.placement import TaskPlacement
from optassign.simulation.timed.application import FOLLOWING, KEPT, RUNNING, Application

__all__ = ["Point", "RunMeasures", "measure_perceived_imbalance"]


@dataclass(frozen=True)
class Point:
    """The values of the application from one time to the next point's time."""

    at: float
    active_imbalance: int
    """The imbalance of the shares of active tasks: all, stateful, and per subtopology."""
    client_imbalance: int
    """The part of `active_imbalance` that concerns all active tasks of a client; temporary offload reduces it."""
    imbalance: int
    """The imbalance of all shares."""
    down: int
    """Tasks that are not processed."""
    backlog: float
    """Records that wait at this time."""
    standbys_missing: int
    """In-sync standbys that logged tasks lack; a task lacks at most one less than there are running clients."""
    restoring: int
    """Copies that are restoring."""


@dataclass
class RunMeasures:
    """The sums and curves of a run. Task-seconds count each task: two tasks down for three seconds are six task-seconds."""

    down_task_s: Annotated[float, About("task-seconds", "in which a task was not processed", "downtime, task-seconds")] = 0.0
    longest_down_s: Annotated[float, About("s", "longest of one task", "longest downtime of a task, s")] = 0.0
    unbalanced_s: Annotated[float, About("s", "in which the actives were outside of a share", "out of balance, s")] = 0.0
    active_imbalance_s: Annotated[float, About("imbalance × s", "of the actives' shares", "imbalance of actives × s")] = 0.0
    client_imbalance_s: Annotated[
        float, About("imbalance × s", "of it, of the clients' shares of all active tasks", "  of clients as a whole")
    ] = 0.0
    balanced_at_s: Annotated[
        float | None,
        About(
            "s",
            "from the start until the actives came into their shares for good; null: they did not",
            "balanced for good after, s",
        ),
    ] = None
    last_change_at: Annotated[
        float,
        About("s", "from the start until the last rebalance or restoration came to its end", "last change after, s"),
    ] = 0.0
    without_standby_task_s: Annotated[
        float,
        About("copies × s", "missing copies in sync of logged tasks, without the active", "without standby, task-seconds"),
    ] = 0.0
    without_copy_task_s: Annotated[
        float,
        About("task-seconds", "of logged tasks without any copy in sync on a living client", "without a copy, task-seconds"),
    ] = 0.0
    backlog_s: Annotated[float, About("records × s", "that waited", "backlog, records × s")] = 0.0
    most_backlog: Annotated[float, About("records", "that waited at most", "greatest backlog, records")] = 0.0
    most_load: Annotated[
        float,
        About("%", "of its threads' rate that the input of an instance's active tasks took at most", "greatest load, %"),
    ] = 0.0
    most_state: Annotated[
        float, About("offsets", "on the disk of one instance at most", "most state of an instance, offsets")
    ] = 0.0
    restored: Annotated[float, About("offsets", "restored", "restored, offsets")] = 0.0
    rebalances: Annotated[int, About("passes", "of rebalances; passes of two-pass rebalances count one each", "rebalances")] = 0
    followups: Annotated[int, About("rebalances", "that only a timer asked for", "  by timer")] = 0
    moves: Annotated[int, About("tasks", "active ones that went from a living client to another", "active task migrations")] = 0
    moves_logged: Annotated[int, About("tasks", "of them, logged ones", "  of logged tasks")] = 0
    down_logged_task_s: float = 0.0
    """The part of `down_task_s` that concerns logged tasks."""
    curve: list[Point] = field(default_factory=list)
    holders: list[tuple[float, tuple[int, ...], tuple[bool, ...]]] = field(default_factory=list)
    """Time → the client of each task's active copy (-1 if unassigned), and whether the task is processed."""
    imbalances: tuple[int, int, int] = (0, 0, 0)
    """The present imbalance of the active shares, of the clients' shares of all active tasks, and of all shares; while no
    client runs, the number of tasks."""
    _down_since: dict[int, float] = field(default_factory=dict)
    _is_logged_down: int = 0
    _without_copy: int = 0
    _seen: tuple[bytes, ...] = ()

    def needs_imbalance(self, application: Application) -> bool:
        """Return whether tasks, clients, threads or roles have changed since the last call, so that `imbalances` must be
        renewed."""
        roles = (application.up.tobytes(), application.owner.tobytes(), (application.mode > KEPT).tobytes())
        seen = (*roles, application.threads.tobytes(), application.present.tobytes())
        is_new = seen != self._seen
        self._seen = seen
        return is_new

    def look(self, application: Application, now: float) -> None:
        """Add the present state as a new point of the curves."""
        down = application.is_down
        wanted = min(application.configs.num_standby_replicas, max(0, int(application.up.sum()) - 1))
        missing = np.maximum(0, wanted - application.count_standbys_in_sync())[application.logged & application.present]
        active_imbalance, client_imbalance, all_imbalance = self.imbalances
        point = Point(
            at=now,
            active_imbalance=active_imbalance,
            client_imbalance=client_imbalance,
            imbalance=all_imbalance,
            down=int(np.sum(down)),
            backlog=float(application.backlog.sum()),
            standbys_missing=int(missing.sum()),
            restoring=application.number_restoring,
        )
        self._watch_downtime(down, now)
        held = (now, tuple(application.owner.tolist()), tuple((~down).tolist()))
        if not self.holders or held[1:] != self.holders[-1][1:]:
            self.holders.append(held)
        self._without_copy = application.count_without_copy_in_sync()
        self._is_logged_down = int(np.sum(down & application.logged))
        if self.curve and self.curve[-1].at == now:
            self.curve.pop()
        self.curve.append(point)
        self.most_backlog = max(self.most_backlog, point.backlog)
        self.most_load = max(self.most_load, 100 * float(application.measure_loads().max(initial=0.0)))
        self.most_state = max(self.most_state, float(application.measure_states().max(initial=0.0)))

    def pass_time(self, seconds: float, backlog_after: float) -> None:
        """Add `seconds` seconds of the last point's values; the backlog changes linearly."""
        point = self.curve[-1]
        self.down_task_s += point.down * seconds
        self.down_logged_task_s += self._is_logged_down * seconds
        self.without_copy_task_s += self._without_copy * seconds
        self.unbalanced_s += seconds if point.active_imbalance else 0.0
        self.active_imbalance_s += point.active_imbalance * seconds
        self.client_imbalance_s += point.client_imbalance * seconds
        self.without_standby_task_s += point.standbys_missing * seconds
        self.backlog_s += (point.backlog + backlog_after) / 2 * seconds

    def end(self, now: float) -> None:
        """Close open downtimes at `now`, and set the time from which the active counts stay in their shares."""
        for since in self._down_since.values():
            self.longest_down_s = max(self.longest_down_s, now - since)
        since_s = self.balanced_since()
        self.balanced_at_s = None if math.isinf(since_s) else since_s

    def balanced_since(self) -> float:
        """Return the time from which the active counts stay in their shares; infinite if they are outside at the end."""
        since = math.inf
        for point in reversed(self.curve):
            if point.active_imbalance:
                break
            since = point.at
        return since

    def _watch_downtime(self, down: np.ndarray, now: float) -> None:
        """Record the start of each downtime, and the longest downtime that has ended. `down`: (T,) whether a task is down."""
        for task in np.flatnonzero(down).tolist():
            self._down_since.setdefault(task, now)
        for task in [task for task in self._down_since if not down[task]]:
            self.longest_down_s = max(self.longest_down_s, now - self._down_since.pop(task))


def measure_perceived_imbalance(application: Application, state: ApplicationState) -> tuple[int, int, int]:
    """Return the imbalance of the active shares, of the clients' shares of all active tasks, and of all shares. Only copies
    with a role on running clients count."""
    active: dict[str, tuple[str, ...]] = {}
    standby: dict[str, tuple[str, ...]] = {}
    for t in np.flatnonzero(application.present).tolist():
        name = application.names[t]
        owner = int(application.owner[t])
        active[name] = (application.client_ids[owner],) if owner >= 0 and application.up[owner] else ()
        has_role = (application.mode[t] > KEPT) & application.up
        if owner >= 0:
            has_role[owner] = False
        in_sync = [c for c in np.flatnonzero(has_role).tolist() if application.mode[t, c] in (FOLLOWING, RUNNING)]
        behind = [c for c in np.flatnonzero(has_role).tolist() if c not in in_sync]
        wanted = state.configs.num_standby_replicas
        standby[name] = tuple(application.client_ids[c] for c in (*in_sync, *behind)[:wanted])
    found = measure_imbalance(state, TaskPlacement(active, standby, dict.fromkeys(active, ())))
    of_actives = sum(found[name] for name in ("active", "stateful_active", "subtopology_active"))
    return of_actives, found["active"], sum(found.values())
