"""Random histories: a group, and the changes that happen to it, drawn by a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

from optassign.formats.clients import RUNNING, KafkaStreamsState
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.generating.application import LARGEST_END, MEDIAN_END, SMALLEST_END
from optassign.simulation.convergence import Rebalancing

__all__ = ["SUITES", "Change", "ChangeKind", "History", "Shape", "begin", "bring_back", "draw_history", "make_change"]

_MOST_CHANGES = 8
"""The greatest number of changes of the members in a history. Histories stay short enough for thousands of them."""
_TINY_SHARE = 0.1
"""The share of logged subtopologies whose changelogs are within the acceptable lag as a whole. Some stores are small in any
application."""


ChangeKind = Literal[
    "process added",
    "process dropped",
    "process restarted",
    "thread added",
    "thread dropped",
    "subtopology added",
    "zone leaves",
    "tags changed",
    "standbys changed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a group."""

    do: ChangeKind
    clients: tuple[str, ...] = ()
    """Process ids of the clients that join, leave, restart, or have a thread added or removed."""
    joined: KafkaStreamsState | None = None
    """The process that is added, without state."""
    tasks: tuple[TaskInfo, ...] = ()
    """The tasks of the added subtopology."""
    tags: tuple[str, ...] = ()
    """The new `rack_aware_assignment_tags`."""
    standbys: int = 0
    """The new `num_standby_replicas`."""
    away: int = 0
    """Rebalances of the group without the restarting process; 0 if the process returns before the first."""
    behind: float = 0.0
    """The most that a copy's lag grows while its process restarts, as a share of the changelog."""
    rebalances: int | None = None
    """Number of rebalances until the next change; None if the next change waits until the group is stable."""

    def __str__(self) -> str:
        """Return the change in one line."""
        details = {
            "subtopology added": f" of {len(self.tasks)} tasks",
            "tags changed": f" to {', '.join(self.tags) or 'none'}",
            "standbys changed": f" to {self.standbys}",
            "process restarted": f", {self.away} rebalances away",
        }.get(self.do, "")
        after = "" if self.rebalances is None else f"; the next after {self.rebalances} rebalances"
        return f"{self.do}{' ' if self.clients else ''}{', '.join(self.clients)}{details}{after}"


@dataclass(frozen=True, slots=True)
class History:
    """A group that starts with empty disks, and its changes."""

    suite: str
    seed: int
    tasks: tuple[TaskInfo, ...]
    clients: tuple[KafkaStreamsState, ...]
    configs: AssignmentConfigs
    changes: tuple[Change, ...]
    keep_state: bool
    """Whether dropped state stays on its disk and ages."""
    growth: float
    """The most that a changelog grows between rebalances, as a share of the offsets that a copy restores then."""
    rebalancing: Rebalancing = "eager"

    def __str__(self) -> str:
        """Return the group, its settings and its changes, a line each."""
        tags = ", ".join(self.configs.rack_aware_assignment_tags) or "none"
        standbys, warmups = self.configs.num_standby_replicas, self.configs.max_warmup_replicas
        kept = f"keeps state: {self.keep_state}, growth {self.growth:g}, {self.rebalancing}"
        threads = ", ".join(f"{client.process_id} × {client.threads}" for client in self.clients)
        return "\n".join(
            [
                f"{self.suite} history {self.seed}: {len(self.tasks)} tasks, threads {threads}",
                f"standbys {standbys}, warm-ups {warmups}, tags {tags}, {kept}",
                *(f"{number}. {change}" for number, change in enumerate(self.changes, start=1)),
            ]
        )


def begin(history: History) -> ApplicationState:
    """Return the snapshot of the group with empty disks."""
    return ApplicationState(
        format=1,
        application=f"{history.suite}-{history.seed}",
        configs=history.configs,
        tasks=history.tasks,
        clients=history.clients,
    )


def make_change(state: ApplicationState, change: Change) -> ApplicationState:
    """Return the snapshot after a change. A restarting process is missing there; `bring_back` adds it again."""
    match change.do:
        case "process added":
            assert change.joined is not None
            return state.model_copy(update={"clients": (*state.clients, change.joined)})
        case "process dropped" | "process restarted" | "zone leaves":
            return _without_clients(state, change.clients)
        case "thread added" | "thread dropped":
            more = 1 if change.do == "thread added" else -1
            clients = (
                client.model_copy(update={"threads": client.threads + more}) if client.process_id in change.clients else client
                for client in state.clients
            )
            return state.model_copy(update={"clients": tuple(clients)})
        case "subtopology added":
            return state.model_copy(update={"tasks": (*state.tasks, *change.tasks)})
        case "tags changed":
            return _configure(state, rack_aware_assignment_tags=change.tags)
        case "standbys changed":
            return _configure(state, num_standby_replicas=change.standbys)


def _without_clients(state: ApplicationState, gone: Collection[str]) -> ApplicationState:
    """Return the snapshot without some clients, or an unchanged snapshot if no client would remain."""
    staying = tuple(client for client in state.clients if client.process_id not in gone)
    return state.model_copy(update={"clients": staying}) if staying else state


def bring_back(state: ApplicationState, before: KafkaStreamsState, change: Change, seed: str) -> ApplicationState:
    """Return the snapshot with a restarted process, which owns no task and has the state of its disk.

    before: the process before the restart. The lag of each copy grows by a share of its changelog, drawn from 0 to
    `change.behind` by the seed and the task.
    """
    full = state.full_lags
    lags = {}
    for task, lag in before.lags.items():
        if task in full:
            behind = int(full[task] * change.behind * random.Random(f"{seed}/{task}").random())
            lags[task] = min(full[task], (0 if lag == RUNNING else max(lag, 0)) + behind)
    directories = (*before.previous_active, *before.previous_standby)
    changed: dict[str, Any] = {"previous_active": (), "previous_standby": directories, "lags": lags, "consumers": {}}
    others = tuple(client for client in state.clients if client.process_id != before.process_id)
    return state.model_copy(update={"clients": (*others, before.model_copy(update=changed))})


def _configure(state: ApplicationState, **configs: Any) -> ApplicationState:
    return state.model_copy(update={"configs": state.configs.model_copy(update=configs)})


_ZONES, _CLUSTERS = ("z1", "z2", "z3"), ("k1", "k2")


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters from which the histories of a suite are drawn; ranges include both ends."""

    histories: int
    """Number of histories of the suite."""
    processes: tuple[int, int]
    threads: tuple[int, int]
    large_threads: tuple[int, int]
    """Threads of one process in ten."""
    subtopologies: tuple[int, int]
    partitions: tuple[int, int]
    logged: float
    """Share of the subtopologies that are logged; the remaining share after `unlogged` is stateless."""
    unlogged: float
    warmups: tuple[int, ...]


SUITES = {
    "small": Shape(300, (1, 8), (1, 4), (1, 4), (1, 6), (1, 8), 0.6, 0.1, (1, 2, 4)),
    "large": Shape(30, (8, 40), (1, 8), (32, 64), (4, 20), (16, 128), 0.5, 0.1, (10, 20, 40)),
}
"""Suite name → parameters."""


def draw_history(suite: str, seed: int) -> History:
    """Draw the history of a seed. KeyError for an unknown suite."""
    return _Draft(suite, SUITES[suite], seed).draw()


class _Draft:
    """A history while its changes are drawn. It tracks the present clients, because no client may leave twice."""

    def __init__(self, suite: str, shape: Shape, seed: int) -> None:
        self._suite, self._shape, self._seed = suite, shape, seed
        self._dice = random.Random(f"{suite}/{seed}")
        self._has_tags = self._dice.random() < 2 / 3
        self._made = self._subtopologies = 0
        self._present: dict[str, KafkaStreamsState] = {}
        self._tags: tuple[str, ...] = ()
        self._standbys = self._dice.randint(0, 2)

    def draw(self) -> History:
        """Draw the group, its settings and its changes, and return the history."""
        dice, shape = self._dice, self._shape
        for _ in range(dice.randint(*shape.processes)):
            client = self._make_client()
            self._present[client.process_id] = client
        clients = tuple(self._present.values())
        tasks = tuple(task for _ in range(dice.randint(*shape.subtopologies)) for task in self._make_subtopology())
        self._tags = self._draw_tags()
        configs = AssignmentConfigs(
            num_standby_replicas=self._standbys,
            max_warmup_replicas=dice.choice(shape.warmups),
            rack_aware_assignment_tags=self._tags,
        )
        number = dice.randint(1, _MOST_CHANGES)
        changes = tuple(self._draw_change(is_last=n == number - 1) for n in range(number))
        return History(
            suite=self._suite,
            seed=self._seed,
            tasks=tasks,
            clients=clients,
            configs=configs,
            changes=changes,
            keep_state=dice.random() < 1 / 3,
            growth=dice.choice((0.0, 0.0, 0.02)),
            rebalancing=dice.choice(get_args(Rebalancing)),
        )

    def _draw_change(self, *, is_last: bool) -> Change:
        dice = self._dice
        do = dice.choice(self._list_possible())
        # A quarter of the changes come before the group is stable again.
        rebalances = dice.randint(1, 2) if dice.random() < 1 / 4 and not is_last else None
        match do:
            case "process added":
                client = self._make_client()
                self._present[client.process_id] = client
                return Change(do, (client.process_id,), joined=client, rebalances=rebalances)
            case "process restarted":
                chosen, away, behind = self._draw_client(), dice.randint(0, 2), dice.choice((0.0, 0.01, 0.1))
                return Change(do, (chosen,), away=away, behind=behind, rebalances=rebalances)
            case "process dropped":
                chosen = self._draw_client()
                del self._present[chosen]
                return Change(do, (chosen,), rebalances=rebalances)
            case "thread added" | "thread dropped":
                chosen = dice.choice([c for c, client in self._present.items() if do == "thread added" or client.threads > 1])
                more = 1 if do == "thread added" else -1
                self._present[chosen] = self._present[chosen].model_copy(
                    update={"threads": self._present[chosen].threads + more}
                )
                return Change(do, (chosen,), rebalances=rebalances)
            case "subtopology added":
                return Change(do, tasks=self._make_subtopology(), rebalances=rebalances)
            case "zone leaves":
                zone = dice.choice(sorted({client.tags["zone"] for client in self._present.values()}))
                gone = tuple(c for c, client in self._present.items() if client.tags["zone"] == zone)
                for chosen in gone:
                    del self._present[chosen]
                return Change(do, gone, rebalances=rebalances)
            case "tags changed":
                others = [tags for tags in ((), ("zone",), ("cluster", "zone")) if tags != self._tags]
                self._tags = dice.choice(others)
                return Change(do, tags=self._tags, rebalances=rebalances)
            case "standbys changed":
                self._standbys = dice.choice([number for number in range(3) if number != self._standbys])
                return Change(do, standbys=self._standbys, rebalances=rebalances)

    def _list_possible(self) -> list[ChangeKind]:
        possible: list[ChangeKind] = ["process restarted", "thread added", "subtopology added", "standbys changed"]
        if len(self._present) < self._shape.processes[1]:
            possible.append("process added")
        if len(self._present) > 1:
            possible.append("process dropped")
        if any(client.threads > 1 for client in self._present.values()):
            possible.append("thread dropped")
        if self._has_tags:
            possible.append("tags changed")
            if len({client.tags["zone"] for client in self._present.values()}) > 1:
                possible.append("zone leaves")
        return sorted(possible)

    def _draw_client(self) -> str:
        return self._dice.choice(list(self._present))

    def _draw_tags(self) -> tuple[str, ...]:
        return self._dice.choice(((), ("zone",), ("cluster", "zone"))) if self._has_tags else ()

    def _make_client(self) -> KafkaStreamsState:
        self._made += 1
        dice, shape = self._dice, self._shape
        tags = {"zone": dice.choice(_ZONES), "cluster": dice.choice(_CLUSTERS)} if self._has_tags else {}
        threads = dice.randint(*(shape.large_threads if dice.random() < 1 / 10 else shape.threads))
        return KafkaStreamsState(process_id=f"p{self._made:03d}", threads=threads, tags=tags)

    def _make_subtopology(self) -> tuple[TaskInfo, ...]:
        dice, shape, number = self._dice, self._shape, self._subtopologies
        self._subtopologies += 1
        kind = dice.random()
        is_logged, is_stateful = kind < shape.logged, kind < shape.logged + shape.unlogged
        is_tiny = dice.random() < _TINY_SHARE
        return tuple(
            TaskInfo(
                id=f"{number}_{partition}",
                stateful=is_stateful,
                logged=is_logged,
                changelog_end_offset=self._draw_end(is_tiny=is_tiny) if is_logged else None,
            )
            for partition in range(dice.randint(*shape.partitions))
        )

    def _draw_end(self, *, is_tiny: bool) -> int:
        if is_tiny:
            return self._dice.randint(0, 10_000)
        return min(LARGEST_END, SMALLEST_END + int(self._dice.lognormvariate(math.log(MEDIAN_END), 1.2)))
