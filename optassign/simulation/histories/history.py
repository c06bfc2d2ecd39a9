"""A history: a group, and what happens to it, in words, as data, and in its snapshots."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from optassign.formats.clients import RUNNING, KafkaStreamsState
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.simulation.convergence import Rebalancing

__all__ = ["Change", "Deed", "History", "begin", "bring_back", "make_change"]

Deed = Literal[
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
    """One thing that happens."""

    do: Deed
    clients: tuple[str, ...] = ()
    """Process ids of those who come, go, restart, or have a thread more or less."""
    joined: KafkaStreamsState | None = None
    """The process that is added, empty."""
    tasks: tuple[TaskInfo, ...] = ()
    """The tasks of the subtopology that is added."""
    tags: tuple[str, ...] = ()
    """`rack_aware_assignment_tags` from now on."""
    standbys: int = 0
    """`num_standby_replicas` from now on."""
    away: int = 0
    """Rebalances that the group makes without the process that restarts; 0: it is back before the first."""
    behind: float = 0.0
    """Up to what share of their changelogs its copies have fallen behind when it is back."""
    rebalances: int | None = None
    """After how many rebalances the next change comes; None: once the group rests."""

    def __str__(self) -> str:
        """A line for people."""
        told = {
            "subtopology added": f" of {len(self.tasks)} tasks",
            "tags changed": f" to {', '.join(self.tags) or 'none'}",
            "standbys changed": f" to {self.standbys}",
            "process restarted": f", {self.away} rebalances away",
        }.get(self.do, "")
        after = "" if self.rebalances is None else f"; the next after {self.rebalances} rebalances"
        return f"{self.do}{' ' if self.clients else ''}{', '.join(self.clients)}{told}{after}"


@dataclass(frozen=True, slots=True)
class History:
    """A group with empty disks, and its changes."""

    suite: str
    seed: int
    tasks: tuple[TaskInfo, ...]
    clients: tuple[KafkaStreamsState, ...]
    configs: AssignmentConfigs
    changes: tuple[Change, ...]
    keep_state: bool
    """State that is dropped stays on its disk and grows old."""
    growth: float
    """The most that changelogs grow between rebalances, as a share of a copy's restored offsets."""
    rebalancing: Rebalancing = "eager"

    def __str__(self) -> str:
        """All of it, a line each."""
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
    """The group with empty disks."""
    return ApplicationState(
        format=1,
        application=f"{history.suite}-{history.seed}",
        configs=history.configs,
        tasks=history.tasks,
        clients=history.clients,
    )


def make_change(state: ApplicationState, change: Change) -> ApplicationState:
    """The snapshot with the change. A process that restarts is gone: `bring_back` has it again."""
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
    """Those who stay. A group whose only process restarts has no other clients: then it is as it was."""
    staying = tuple(client for client in state.clients if client.process_id not in gone)
    return state.model_copy(update={"clients": staying}) if staying else state


def bring_back(state: ApplicationState, before: KafkaStreamsState, change: Change, seed: str) -> ApplicationState:
    """The snapshot with a process that has restarted: it owns nothing, and has what was on its disk, a little behind.

    before: the process as it was when it went. Each copy has fallen behind by a share of its changelog that is drawn from 0
    to `change.behind`, by the seed and the task.
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
