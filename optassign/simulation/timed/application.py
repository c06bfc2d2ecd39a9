"""Tasks, clients and their disks between two events: what restores, follows, runs and piles up, at rates that stay the same."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optassign.formats.state import TaskId
from optassign.simulation.timed.scenario import Scenario, Subtopologies
from optassign_models.policy.constants import IN_SYNC, START_ROUNDING_S

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ABSENT, KEPT, RESTORING, FOLLOWING, RUNNING = range(5)
"""Modes of a copy: no state; a directory without a role; behind; in sync; the active one, in sync."""
NOBODY = -1


@dataclass(frozen=True)
class SimulatedTask:
    """One task of the scenario."""

    id: str
    kind: str
    group: Subtopologies


class Application:
    """The state of all tasks (T) on all clients (C) that are ever there, and how it changes with time.

    Offsets and records are fractions here: a fluid, not single records.
    """

    def __init__(self, scenario: Scenario, names: Sequence[str] | None = None) -> None:
        """`names`: ids of the scenario's tasks in their order, where they are others than its own."""
        self.scenario = scenario
        self.tasks = tuple(_list_tasks(scenario))
        self.subtopology = tuple(TaskId.parse(task.id).subtopology for task in self.tasks)
        """(T,) its number in the scenario."""
        if names is not None:
            self.tasks = tuple(replace(task, id=name) for task, name in zip(self.tasks, names, strict=True))
        self.names = _name_for_assignors(scenario, self.tasks) if names is None else tuple(names)
        """(T,) what assignors know the tasks as."""
        self.number_of = {name: t for t, name in enumerate(self.names)}
        """Such a name → the task."""
        kinds = dict(scenario.list_clients())
        self.client_ids = tuple(sorted(kinds))
        self.clients = tuple(kinds[name] for name in self.client_ids)
        T, C = len(self.tasks), len(self.clients)
        dice = random.Random(scenario.seed)
        size = [_draw_factor(dice, task.group) for task in self.tasks]
        self.logged = np.array([task.kind == "logged" for task in self.tasks])
        self.end = np.array([float(int(task.group.state * s)) for task, s in zip(self.tasks, size, strict=True)])
        self.end[~self.logged] = 0.0
        """(T,) offsets at the end of each changelog."""
        self.mean_input = np.array([task.group.input_per_s * s for task, s in zip(self.tasks, size, strict=True)])
        """(T,) records per second."""
        self._writes = np.array([task.group.writes if task.kind == "logged" else 0.0 for task in self.tasks])
        speed = [dice.lognormvariate(-(kind.spread**2) / 2, kind.spread) for kind in self.clients]
        self._restore = np.array([kind.restore_per_s * s for kind, s in zip(self.clients, speed, strict=True)])
        self._noise = np.array([kind.noise for kind in self.clients])
        self._noise_dice = np.random.default_rng(scenario.seed)
        self._mean_restore = self._restore
        self._slow_start_s = scenario.faults.slow_start_s
        self.unnoticed: set[int] = set()
        """Clients that are gone, and still members of the group."""
        self.configs = scenario.configs
        """As they are now."""
        self.threads = np.array([kind.threads for kind in self.clients])
        """(C,) as they are now."""
        self._process_of_thread = np.array([kind.process_per_s for kind in self.clients])
        self.present = np.array([not task.group.joins for task in self.tasks])
        """(T,) the application has the task by now."""
        self.factor = np.ones(T)
        """(T,) of the input, by its profile."""
        self.up = np.zeros(C, dtype=np.bool_)
        """(C,) the process lives."""
        self.draining = np.zeros(C, dtype=np.bool_)
        """(C,) it is about to leave, and gives its tasks away first."""
        self.leaves_empty = np.zeros(C, dtype=np.bool_)
        """(C,) those among them that stay until they hold no copy at all, not only no active task."""
        self.owner = np.full(T, NOBODY, dtype=np.int64)
        """(T,) client that the active copy is assigned to."""
        self.mode = np.full((T, C), ABSENT, dtype=np.int8)
        self.position = np.zeros((T, C))
        """(T, C) offsets that a copy has; in sync it is the end of the changelog, whatever stands here."""
        self.restoring_s = np.zeros((T, C))
        """(T, C) seconds for which a copy has been restored since it began; only kept where starts are slow."""
        self.left_at = np.full((T, C), -math.inf)
        """(T, C) when a kept copy lost its role."""
        self.backlog = np.zeros(T)
        """(T,) records that wait to be processed."""
        self.produced = np.zeros(T)
        """(T,) records that came in since the start: the end of each task's source partitions."""
        self.restored = 0.0
        """Offsets, in all."""
        self.is_paused = False
        """An eager rebalance is under way: no task is processed."""
        self._fill_disks()
        self._refresh()

    @property
    def is_running(self) -> BoolArray:
        """(T,) the active copy processes."""
        here = self.owner >= 0
        running = np.zeros(len(self.owner), dtype=np.bool_)
        running[here] = self.mode[np.flatnonzero(here), self.owner[here]] == RUNNING
        return running & here & self.up[self.owner] & (not self.is_paused)

    @property
    def is_down(self) -> BoolArray:
        """(T,) the task exists, and no client processes it."""
        return self.present & ~self.is_running

    @property
    def is_noisy(self) -> bool:
        """Restore rates change with time."""
        return bool(self._noise.any())

    def change_noise(self) -> None:
        """Other restore rates, around the same mean ones."""
        dice = self._noise_dice.standard_normal(len(self.clients))
        self._restore = self._mean_restore * np.exp(self._noise * dice - self._noise**2 / 2)
        self._refresh()

    @property
    def restore_rates(self) -> FloatArray:
        """(C,) offsets per second that each client restores, in the mean."""
        return self._mean_restore

    @property
    def number_restoring(self) -> int:
        """Copies that are behind and have a role, on clients that live."""
        return len(self._restoring)

    def count_standbys_in_sync(self) -> IntArray:
        """(T,) copies in sync besides the active, on clients that live."""
        return np.asarray(np.sum((self.mode == FOLLOWING) & self.up[None, :], axis=1), dtype=np.int64)

    def count_without_copy_in_sync(self) -> int:
        """Logged tasks without a copy in sync on a living client, in any role."""
        in_sync = np.any((self.mode >= FOLLOWING) & self.up[None, :], axis=1)
        return int(np.sum(self.logged & ~in_sync))

    def measure_loads(self) -> FloatArray:
        """(C,) share of its threads' rate that the input of a client's active tasks takes; 0 without threads that process."""
        C = len(self.clients)
        active = (self.owner >= 0) & self.up[self.owner]
        wanted = np.bincount(self.owner[active], weights=self._input[active], minlength=C)
        loads: FloatArray = np.divide(wanted, self._process, out=np.zeros(C), where=self._process > 0)
        return loads

    def measure_states(self) -> FloatArray:
        """(C,) offsets on each client's disk, those of copies without a role included."""
        in_sync = self.mode >= FOLLOWING
        held = np.where(in_sync, self.end[:, None], np.where(self.mode == ABSENT, 0.0, self.position))
        return np.asarray((held * self.logged[:, None]).sum(axis=0), dtype=np.float64)

    def lag_of(self, task: int, client: int) -> int:
        """Offsets, of a copy with state."""
        return self.lag_since(task, int(self.mode[task, client]), float(self.position[task, client]), float(self.end[task]))

    def lag_since(self, task: int, mode: int, position: float, end: float) -> int:
        """Offsets from what a copy had, when it had this mode and position and its changelog this end, to the end of now."""
        if mode in (FOLLOWING, RUNNING):
            written = math.ceil(float(self.end[task]) - end)
            return written + math.floor(self.scenario.group.follow_s * float(self._growth[task]))
        return max(0, math.ceil(float(self.end[task]) - position))

    def seconds_to_next_change(self) -> float:
        """Seconds until a copy is in sync, or a backlog is gone, if no other event comes; infinite if neither comes."""
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
        """Let time pass, no more than to the next change. Keys task × C + client of the copies that are in sync now."""
        self.end += self._growth * seconds
        self.produced += self._input * seconds
        self.backlog = np.maximum(0.0, self.backlog + (self._input - self._processed) * seconds)
        self.backlog[self.backlog < IN_SYNC] = 0.0
        done = np.zeros(0, dtype=np.int64)
        if len(self._restoring):
            position = self.position.ravel()
            before = position[self._restoring]
            after = np.minimum(before + self._share * seconds, self.end[self._restoring_task])
            position[self._restoring] = after
            self.restored += float(np.sum(after - before))
            self.restoring_s.ravel()[self._restoring[self._is_starting]] += seconds
            done = self._restoring[self.end[self._restoring_task] - after <= IN_SYNC]
        if len(done):
            task, client = done // len(self.clients), done % len(self.clients)
            self.mode[task, client] = np.where(self.owner[task] == client, RUNNING, FOLLOWING)
        self._refresh()
        return done

    def give_role(self, task: int, client: int, *, active: bool) -> None:
        """The client has an active copy, or a standby (a warm-up is one), from its state on."""
        mode, C = self.mode[task, client], len(self.clients)
        if active:
            self.owner[task] = client
        if not self.logged[task]:
            self.mode[task, client] = RUNNING
        elif mode in (FOLLOWING, RUNNING) or self.end[task] - self._position_of(task, client) <= IN_SYNC:
            self.mode[task, client] = RUNNING if active else FOLLOWING
        else:
            self.position.ravel()[task * C + client] = self._position_of(task, client)
            if mode != RESTORING:
                self.restoring_s[task, client] = 0.0
            self.mode[task, client] = RESTORING

    def take_role(self, task: int, client: int, now: float) -> None:
        """The client has the copy no more; its state stays on the disk."""
        if self.owner[task] == client:
            self.owner[task] = NOBODY
        if self.mode[task, client] in (FOLLOWING, RUNNING):
            self.position[task, client] = self.end[task]
        self.left_at[task, client] = now
        self.mode[task, client] = KEPT if self.logged[task] else ABSENT

    def sync_all(self) -> None:
        """Every copy with a role is in sync, as if the group had rested for long."""
        task, client = np.nonzero(self.mode == RESTORING)
        self.mode[task, client] = np.where(self.owner[task] == client, RUNNING, FOLLOWING)
        self._refresh()

    def stop(self, client: int, now: float) -> None:
        """The process ends; its disk stays."""
        self.up[client] = False
        for task in np.flatnonzero(self.mode[:, client] > KEPT).tolist():
            self.take_role(task, client, now)

    def wipe(self, client: int) -> None:
        """Its disk is empty."""
        self.mode[:, client] = ABSENT

    def change_done(self) -> None:
        """To be called after roles, processes or inputs were changed: the rates are others."""
        self._refresh()

    def _fill_disks(self) -> None:
        """Fill clients' disks before they join for the first time."""
        dice = np.random.default_rng((self.scenario.seed, 1))
        for c, kind in enumerate(self.clients):
            if kind.joins and kind.disk:
                has = self.logged & (dice.random(len(self.tasks)) < kind.disk)
                self.mode[has, c] = KEPT
                self.position[has, c] = np.floor(self.end * dice.random(len(self.tasks)))[has]

    def _position_of(self, task: int, client: int) -> float:
        return float(self.position[task, client]) if self.mode[task, client] != ABSENT else 0.0

    def _refresh(self) -> None:
        """All rates, from what restores and runs now."""
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
        # Kafka restores a client's active copies before it goes on with standbys.
        actives = np.bincount(client[is_active], minlength=C)
        takes_part = is_active | (actives[client] == 0)
        number = np.bincount(client[takes_part], minlength=C)
        self._share = np.where(takes_part, self._restore[client] / np.maximum(1, number[client]), 0.0)
        self._is_starting = takes_part & (self.restoring_s.ravel()[self._restoring] < self._slow_start_s - START_ROUNDING_S)
        self._share[self._is_starting] *= self.scenario.faults.slow_start_rate
        most = self.scenario.group.restore_per_s
        if most is not None and self._share.sum() > most:
            self._share *= most / self._share.sum()

    def _share_processing(self, running: BoolArray) -> FloatArray:
        """(T,) records per second: what comes in, and what a client has left over shared among its tasks with a backlog."""
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
    """Draw a task's factor of state and input, 1 in the mean."""
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
    """The ids; protocol `learner` numbers the partitions of each subtopology backwards.

    Assignors break their last ties by letting clients keep their smallest tasks (as KIP-441's tables have it); members of
    the incremental rebalancing draft give away the smallest.
    """
    if scenario.group.protocol != "learner":
        return tuple(task.id for task in tasks)
    parsed = [TaskId.parse(task.id) for task in tasks]
    return tuple(
        f"{each.subtopology}_{task.group.partitions - 1 - each.partition}" for each, task in zip(parsed, tasks, strict=True)
    )
