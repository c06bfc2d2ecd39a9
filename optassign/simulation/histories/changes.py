"""A change, made to the snapshot of a group: it tells what the next rebalance sees."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from optassign.formats.clients import RUNNING, KafkaStreamsState
from optassign.formats.state import ApplicationState
from optassign.simulation.histories.history import Change, History

__all__ = ["begin", "bring_back", "make_change", "without_clients"]


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
            return without_clients(state, change.clients)
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


def without_clients(state: ApplicationState, gone: Collection[str]) -> ApplicationState:
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
