"""The simulated application between two events: restoration, processing and backlogs at constant rates."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optassign.formats.state import TaskId
from optassign.simulation.timed.scenario import Scenario, Subtopologies

_IN_SYNC = 0.001
"""Distance from the end of a changelog within which a copy is caught up, in offsets. Sums of fractions are not exact."""
_START_ROUNDING_S = 1e-9
"""Rest of a slow start that counts as zero, in seconds. Sums of fractions are not exact."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ABSENT, KEPT, RESTORING, FOLLOWING, RUNNING = range(5)
"""Modes of a copy: no state; state without a role; behind; in sync; active and in sync."""
UNASSIGNED = -1


@dataclass(frozen=True)
class SimulatedTask:
    """One task of the scenario."""

    id: str
    kind: str
    group: Subtopologies


class Application:
    """The state of all tasks (T) on all clients (C) of a scenario, present or not, and its change with time.

    Offsets and records are real numbers, as in a fluid model without single records.
    """

    def __init__(self, scenario: Scenario, names: Sequence[str] | None = None) -> None:
        """Draw the first state. `names`: the tasks' ids in the scenario's order, if they differ from the scenario's own."""
        self.scenario = scenario
        self.tasks = tuple(_list_tasks(scenario))
        self.subtopology = tuple(TaskId.parse(task.id).subtopology for task in self.tasks)
        """(T,) number of the task's subtopology."""
        if names is not None:
            self.tasks = tuple(replace(task, id=name) for task, name in zip(self.tasks, names, strict=True))
        self.names = _name_for_assignors(scenario, self.tasks) if names is None else tuple(names)
        """(T,) task names in snapshots for assignors."""
        self.number_of = {name: t for t, name in enumerate(self.names)}
        """Task name for assignors → task number."""
        kinds = dict(scenario.list_clients())
        self.client_ids = tuple(sorted(kinds))
        self.clients = tuple(kinds[name] for name in self.client_ids)
        T, C = len(self.tasks), len(self.clients)
        dice = random.Random(scenario.seed)
        size = [_draw_factor(dice, task.group) for task in self.tasks]
        self.logged = np.array([task.kind == "logged" for task in self.tasks])
        self.end = np.array([float(int(task.group.state * s)) for task, s in zip(self.tasks, size, strict=True)])
        self.end[~self.logged] = 0.0
        """(T,) end offset of each changelog."""
        self.mean_input = np.array([task.group.input_per_s * s for task, s in zip(self.tasks, size, strict=True)])
        """(T,) mean records per second."""
        self._writes = np.array([task.group.writes if task.kind == "logged" else 0.0 for task in self.tasks])
        speed = [dice.lognormvariate(-(kind.spread**2) / 2, kind.spread) for kind in self.clients]
        self._restore = np.array([kind.restore_per_s * s for kind, s in zip(self.clients, speed, strict=True)])
        self._noise = np.array([kind.noise for kind in self.clients])
        self._noise_dice = np.random.default_rng(scenario.seed)
        self._mean_restore = self._restore
        self._slow_start_s = scenario.faults.slow_start_s
        self.unnoticed: set[int] = set()
        """Clients that have stopped but are still members of the group."""
        self.configs = scenario.configs
        """The present configs."""
        self.threads = np.array([kind.threads for kind in self.clients])
        """(C,) present number of threads."""
        self._process_of_thread = np.array([kind.process_per_s for kind in self.clients])
        self.present = np.array([not task.group.joins for task in self.tasks])
        """(T,) whether the application has the task."""
        self.factor = np.ones(T)
        """(T,) present factor of the input, by its profile."""
        self.up = np.zeros(C, dtype=np.bool_)
        """(C,) whether the process runs."""
        self.draining = np.zeros(C, dtype=np.bool_)
        """(C,) whether the client is leaving and gives its tasks away first."""
        self.leaves_empty = np.zeros(C, dtype=np.bool_)
        """(C,) whether a draining client stays until it holds no copy, rather than no active task."""
        self.owner = np.full(T, UNASSIGNED, dtype=np.int64)
        """(T,) the client to which the active copy is assigned, or `UNASSIGNED`."""
        self.mode = np.full((T, C), ABSENT, dtype=np.int8)
        self.position = np.zeros((T, C))
        """(T, C) offsets of a copy; not used for a copy in sync, which is at the end of its changelog."""
        self.restoring_s = np.zeros((T, C))
        """(T, C) seconds since the copy's restoration began; kept only with slow starts."""
        self.left_at = np.full((T, C), -math.inf)
        """(T, C) the time at which a kept copy lost its role."""
        self.backlog = np.zeros(T)
        """(T,) records that wait to be processed."""
        self.produced = np.zeros(T)
        """(T,) records produced since the start: the end offset of each task's source partitions."""
        self.restored = 0.0
        """Offsets restored since the start."""
        self.is_paused = False
        """Whether an eager rebalance runs, so that no task is processed."""
        self._fill_disks()
        self._refresh()

    @property
    def is_running(self) -> BoolArray:
        """Return (T,) whether the active copy is being processed."""
        here = self.owner >= 0
        running = np.zeros(len(self.owner), dtype=np.bool_)
        running[here] = self.mode[np.flatnonzero(here), self.owner[here]] == RUNNING
        return running & here & self.up[self.owner] & (not self.is_paused)

    @property
    def is_down(self) -> BoolArray:
        """Return (T,) whether the task exists and is not processed."""
        return self.present & ~self.is_running

    @property
    def is_noisy(self) -> bool:
        """Return whether restore rates change with time."""
        return bool(self._noise.any())

    def change_noise(self) -> None:
        """Draw new restore rates around the means."""
        dice = self._noise_dice.standard_normal(len(self.clients))
        self._restore = self._mean_restore * np.exp(self._noise * dice - self._noise**2 / 2)
        self._refresh()

    @property
    def restore_rates(self) -> FloatArray:
        """Return (C,) the mean offsets per second that each client restores."""
        return self._mean_restore

    @property
    def number_restoring(self) -> int:
        """Return the number of copies with a role that are behind, on running clients."""
        return len(self._restoring)

    def count_standbys_in_sync(self) -> IntArray:
        """Return (T,) the number of standbys and warm-ups in sync on running clients."""
        return np.asarray(np.sum((self.mode == FOLLOWING) & self.up[None, :], axis=1), dtype=np.int64)

    def count_without_copy_in_sync(self) -> int:
        """Return the number of present logged tasks without a copy in sync, of any role, on a running client."""
        in_sync = np.any((self.mode >= FOLLOWING) & self.up[None, :], axis=1)
        return int(np.sum(self.logged & self.present & ~in_sync))

    def measure_loads(self) -> FloatArray:
        """Return (C,) the input of a client's active tasks as a share of its processing rate; 0 for a client that cannot
        process."""
        C = len(self.clients)
        active = (self.owner >= 0) & self.up[self.owner]
        wanted = np.bincount(self.owner[active], weights=self._input[active], minlength=C)
        loads: FloatArray = np.divide(wanted, self._process, out=np.zeros(C), where=self._process > 0)
        return loads

    def measure_states(self) -> FloatArray:
        """Return (C,) the offsets on each client's disk, copies without a role included."""
        in_sync = self.mode >= FOLLOWING
        held = np.where(in_sync, self.end[:, None], np.where(self.mode == ABSENT, 0.0, self.position))
        return np.asarray((held * self.logged[:, None]).sum(axis=0), dtype=np.float64)

    def lag_of(self, task: int, client: int) -> int:
        """Return the lag of a copy with state, in offsets."""
        return self.lag_since(task, int(self.mode[task, client]), float(self.position[task, client]), float(self.end[task]))

    def lag_since(self, task: int, mode: int, position: float, end: float) -> int:
        """Return the lag, in offsets, of a reported copy behind the present end of its changelog. `mode`, `position`, `end`: of
        the copy and its changelog at the time of the report."""
        if mode in (FOLLOWING, RUNNING):
            written = math.ceil(float(self.end[task]) - end)
            return written + math.floor(self.scenario.group.follow_s * float(self._growth[task]))
        return max(0, math.ceil(float(self.end[task]) - position))

    def seconds_to_next_change(self) -> float:
        """Return the seconds until a copy is in sync, a slow start ends or a backlog is empty, without other events; infinite
        if none of these comes."""
        least = math.inf
        if len(self._restoring):
            speed = self._share - self._growth[self._restoring_task]
            left = self.end[self._restoring_task] - self.position.ravel()[self._restoring]
            closing = speed > 1e-9
            if closing.any():
                least = float((left[closing] / speed[closing]).min())
            starting = self._slow_start_s - self.restoring_s.ravel()[self._restoring][self._is_starting]
            if len(starting):
                least = min(least, float(starting.min()))
        draining = (self.backlog > 0) & (self._processed > self._input + 1e-9)
        if draining.any():
            least = min(least, float((self.backlog[draining] / (self._processed - self._input)[draining]).min()))
        return max(least, 1e-6)

    def advance(self, seconds: float) -> IntArray:
        """Advance the time, at most to the next change, and return the keys task × C + client of the copies that come in
        sync."""
        self.end += self._growth * seconds
        self.produced += self._input * seconds
        self.backlog = np.maximum(0.0, self.backlog + (self._input - self._processed) * seconds)
        self.backlog[self.backlog < _IN_SYNC] = 0.0
        done = np.zeros(0, dtype=np.int64)
        if len(self._restoring):
            position = self.position.ravel()
            before = position[self._restoring]
            after = np.minimum(before + self._share * seconds, self.end[self._restoring_task])
            position[self._restoring] = after
            self.restored += float(np.sum(after - before))
            self.restoring_s.ravel()[self._restoring[self._is_starting]] += seconds
            done = self._restoring[self.end[self._restoring_task] - after <= _IN_SYNC]
        if len(done):
            task, client = done // len(self.clients), done % len(self.clients)
            self.mode[task, client] = np.where(self.owner[task] == client, RUNNING, FOLLOWING)
        self._refresh()
        return done

    def give_role(self, task: int, client: int, *, active: bool) -> None:
        """Assign an active copy, or a standby or warm-up, to a client. The copy starts from the client's state on disk."""
        mode, C = self.mode[task, client], len(self.clients)
        if active:
            self.owner[task] = client
        if not self.logged[task]:
            self.mode[task, client] = RUNNING
        elif mode in (FOLLOWING, RUNNING) or self.end[task] - self._position_of(task, client) <= _IN_SYNC:
            self.mode[task, client] = RUNNING if active else FOLLOWING
        else:
            self.position.ravel()[task * C + client] = self._position_of(task, client)
            if mode != RESTORING:
                self.restoring_s[task, client] = 0.0
            self.mode[task, client] = RESTORING

    def take_role(self, task: int, client: int, now: float) -> None:
        """Revoke a copy from a client; its state stays on the disk."""
        if self.owner[task] == client:
            self.owner[task] = UNASSIGNED
        if self.mode[task, client] in (FOLLOWING, RUNNING):
            self.position[task, client] = self.end[task]
        self.left_at[task, client] = now
        self.mode[task, client] = KEPT if self.logged[task] else ABSENT

    def sync_all(self) -> None:
        """Bring every copy with a role in sync, as after a long time without events."""
        task, client = np.nonzero(self.mode == RESTORING)
        self.mode[task, client] = np.where(self.owner[task] == client, RUNNING, FOLLOWING)
        self._refresh()

    def stop(self, client: int, now: float) -> None:
        """Stop a process and revoke its copies; their state stays on the disk."""
        self.up[client] = False
        for task in np.flatnonzero(self.mode[:, client] > KEPT).tolist():
            self.take_role(task, client, now)

    def wipe(self, client: int) -> None:
        """Delete all state of a client."""
        self.mode[:, client] = ABSENT

    def change_done(self) -> None:
        """Compute the rates anew. Call after a change of roles, processes or inputs."""
        self._refresh()

    def _fill_disks(self) -> None:
        """Place random state on the disks of clients that join later."""
        dice = np.random.default_rng((self.scenario.seed, 1))
        for c, kind in enumerate(self.clients):
            if kind.joins and kind.disk:
                has = self.logged & (dice.random(len(self.tasks)) < kind.disk)
                self.mode[has, c] = KEPT
                self.position[has, c] = np.floor(self.end * dice.random(len(self.tasks)))[has]

    def _position_of(self, task: int, client: int) -> float:
        return float(self.position[task, client]) if self.mode[task, client] != ABSENT else 0.0

    def _refresh(self) -> None:
        """Compute all rates from the present state."""
        self._input = self.mean_input * self.factor * self.present
        self._process = self._process_of_thread * self.threads
        running = self.is_running
        self._processed = self._share_processing(running)
        self._growth = self._processed * self._writes
        C = len(self.clients)
        self._restoring = np.flatnonzero(((self.mode == RESTORING) & self.up[None, :]).ravel())
        self._restoring_task = self._restoring // C
        client = self._restoring % C
        is_active = self.owner[self._restoring_task] == client
        # Kafka restores a client's active copies before its standbys.
        actives = np.bincount(client[is_active], minlength=C)
        takes_part = is_active | (actives[client] == 0)
        number = np.bincount(client[takes_part], minlength=C)
        self._share = np.where(takes_part, self._restore[client] / np.maximum(1, number[client]), 0.0)
        self._is_starting = takes_part & (self.restoring_s.ravel()[self._restoring] < self._slow_start_s - _START_ROUNDING_S)
        self._share[self._is_starting] *= self.scenario.faults.slow_start_rate
        most = self.scenario.group.restore_per_s
        if most is not None and self._share.sum() > most:
            self._share *= most / self._share.sum()

    def _share_processing(self, running: BoolArray) -> FloatArray:
        """Return (T,) records processed per second: the input, plus an equal share of the client's spare rate for tasks with a
        backlog. An overloaded client processes the same share of each input."""
        C = len(self.clients)
        processed = np.zeros(len(self.owner))
        task = np.flatnonzero(running)
        client = self.owner[task]
        wanted = np.bincount(client, weights=self._input[task], minlength=C)
        behind = self.backlog[task] > 0
        number = np.bincount(client[behind], minlength=C)
        spare = np.maximum(0.0, self._process - wanted) / np.maximum(1, number)
        squeeze = np.minimum(1.0, self._process / np.maximum(wanted, 1e-12))
        processed[task] = self._input[task] * squeeze[client] + np.where(behind, spare[client], 0.0)
        return processed


def _draw_factor(dice: random.Random, group: Subtopologies) -> float:
    """Draw a task's factor of state and input, with mean 1."""
    if group.factors == "uniform":
        return dice.uniform(1 - group.spread, 1 + group.spread)
    return dice.lognormvariate(-(group.spread**2) / 2, group.spread)


def _list_tasks(scenario: Scenario) -> list[SimulatedTask]:
    tasks, number = [], 0
    for group in scenario.subtopologies:
        for _ in range(group.count):
            tasks += [SimulatedTask(f"{number}_{partition}", group.kind, group) for partition in range(group.partitions)]
            number += 1
    return sorted(tasks, key=lambda task: TaskId.parse(task.id))


def _name_for_assignors(scenario: Scenario, tasks: tuple[SimulatedTask, ...]) -> tuple[str, ...]:
    """Return the tasks' names in snapshots; with protocol `learner` the partitions of each subtopology are numbered backwards.

    Assignors break last ties by letting clients keep their smallest tasks, as in the tables of KIP-441. Members of the
    incremental rebalancing draft give away the smallest tasks.
    """
    if scenario.group.protocol != "learner":
        return tuple(task.id for task in tasks)
    parsed = [TaskId.parse(task.id) for task in tasks]
    return tuple(
        f"{each.subtopology}_{task.group.partitions - 1 - each.partition}" for each, task in zip(parsed, tasks, strict=True)
    )
