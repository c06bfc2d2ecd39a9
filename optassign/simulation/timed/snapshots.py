"""Snapshots of a simulated application, and functions that apply answers and recorded snapshots to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import RUNNING as LAG_RUNNING
from optassign.formats.state import UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from optassign.formats.tasks import TaskInfo
from optassign.simulation.timed.application import ABSENT, KEPT, RUNNING, UNASSIGNED, Application, BoolArray, FloatArray

__all__ = ["Inputs", "JoinReport", "RecordedStart", "apply_answer", "describe_joining", "make_snapshot", "place_copies"]

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
"""The date at which every scenario starts, as assignors see it."""


@dataclass(frozen=True)
class JoinReport:
    """The report of a member with T tasks when it joined a rebalance."""

    mode: npt.NDArray[np.int8]
    """(T,) modes of its copies."""
    owned: BoolArray
    """(T,) whether the member owns the active copy."""
    position: FloatArray
    """(T,) offsets of its copies that were not in sync."""
    end: FloatArray
    """(T,) end offsets of the changelogs."""
    threads: int
    is_draining: bool


def describe_joining(application: Application, client: int) -> JoinReport:
    """Return the report of the client if it joins now."""
    return JoinReport(
        mode=application.mode[:, client].copy(),
        owned=application.owner == client,
        position=application.position[:, client].copy(),
        end=application.end.copy(),
        threads=int(application.threads[client]),
        is_draining=bool(application.draining[client]),
    )


def make_snapshot(
    application: Application,
    remembered: TaskAssignment | None,
    now: float = 0.0,
    joined: Mapping[int, JoinReport] = MappingProxyType({}),
) -> ApplicationState:
    """Return the snapshot of the present tasks and running clients, as Kafka reports them. Directories of tasks that a client
    does not own are previous standbys.

    now: seconds from the start of the scenario. joined: client → its report when it joined; a missing client joins now. The end
    offsets are the present ones, as the leader asks for them when it assigns. So a lag includes offsets written since the join.
    """
    scenario = application.scenario
    reports = {c: joined.get(c) or describe_joining(application, c) for c in np.flatnonzero(application.up).tolist()}
    return ApplicationState(
        format=1,
        application=scenario.name,
        taken_at=(_BEGIN + timedelta(seconds=now)).isoformat(timespec="milliseconds"),
        configs=application.configs,
        options=scenario.options,
        tasks=tuple(_describe_task(application, t) for t in np.flatnonzero(application.present).tolist()),
        clients=tuple(_describe_client(application, c, report) for c, report in reports.items()),
        remembered=remembered,
    )


def _describe_task(application: Application, t: int) -> TaskInfo:
    task = application.tasks[t]
    logged = task.kind == "logged"
    return TaskInfo(
        id=application.names[t],
        stateful=task.kind != "stateless",
        logged=logged,
        changelog_end_offset=int(application.end[t]) if logged else None,
        source_end_offset=int(application.produced[t]) if application.scenario.options.weigh_by == "rates" else None,
    )


def _describe_client(application: Application, c: int, report: JoinReport) -> KafkaStreamsState:
    kind = application.clients[c]
    active: list[str] = []
    directories: list[str] = []
    lags = {}
    for t in np.flatnonzero((report.mode != ABSENT) | report.owned).tolist():
        name = application.names[t]
        (active if report.owned[t] else directories).append(name)
        if application.logged[t]:
            is_running = report.owned[t] and report.mode[t] == RUNNING
            lag = application.lag_since(t, int(report.mode[t]), float(report.position[t]), float(report.end[t]))
            lags[name] = LAG_RUNNING if is_running else lag
    return KafkaStreamsState(
        process_id=application.client_ids[c],
        threads=report.threads,
        capacity=kind.capacity,
        previous_active=tuple(active),
        previous_standby=tuple(directories),
        lags=lags,
        tags=kind.tags,
        draining=report.is_draining,
    )


def apply_answer(application: Application, answer: TaskAssignment, now: float, *, cooperative: bool) -> list[int]:
    """Apply an answer to the running clients, and return the tasks that are revoked now and must be assigned in a second pass.

    With `cooperative`, a task of a running owner is first revoked there (KIP-429).
    """
    of_task = application.number_of
    of_client = {name: c for c, name in enumerate(application.client_ids)}
    target: dict[int, int] = {}
    wanted: set[tuple[int, int]] = set()
    for given in answer.clients:
        c = of_client[given.process_id]
        if not application.up[c]:  # it crashed while the assignor thought
            continue
        target |= {of_task[task]: c for task in given.active}
        wanted |= {(of_task[task], c) for task in (*given.standby, *given.warmup)}
    owner = application.owner
    revoked = {t for t, c in target.items() if cooperative and owner[t] not in (UNASSIGNED, c) and application.up[owner[t]]}
    for t, c in _list_roles(application):
        if (t, c) not in wanted and target.get(t) != c:
            application.take_role(t, c, now)
    for t in sorted(revoked):
        if owner[t] != UNASSIGNED:
            application.take_role(t, int(owner[t]), now)
    for t, c in sorted(wanted):
        application.give_role(t, c, active=False)
    for t, c in sorted(target.items()):
        if t not in revoked:
            application.give_role(t, c, active=True)
    application.change_done()
    return sorted(revoked)


def _list_roles(application: Application) -> Iterable[tuple[int, int]]:
    """Return task and client of every copy with a role."""
    task, client = np.nonzero(application.mode > KEPT)
    return zip(task.tolist(), client.tolist(), strict=True)


@dataclass(frozen=True)
class Inputs:
    """The rates at which changelogs grow from some time on."""

    since: float
    """Seconds from the start."""
    per_s: Mapping[str, float]
    """Task → offsets, and so records, per second; 0 for a missing task."""


@dataclass(frozen=True)
class RecordedStart:
    """The recorded state and inputs of a scenario, in place of its own."""

    tasks: tuple[TaskInfo, ...]
    """Every task of the scenario, in its order, under its name in the snapshot."""
    inputs: tuple[Inputs, ...]
    """The inputs, in the order of their times."""
    snapshot: ApplicationState
    """The first rebalance, whose tasks and clients are present at the start."""


def place_copies(application: Application, beginning: RecordedStart) -> None:
    """Set the application to the state of a recorded snapshot.

    Copies continue from their reported lags: actives on their previous owners, remembered standbys and warm-ups on clients that
    list them. Other state stays on the disk without a role. An unknown lag counts as 0, as in docs/reference/rules.md.
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
            behind = 0 if lag in (LAG_RUNNING, UNKNOWN_LAG) else lag
            application.position[t, c] = max(0.0, application.end[t] - behind)
            application.mode[t, c] = KEPT
        assigned = roles.get(client.process_id)
        for task_id in () if assigned is None else (*assigned.standby, *assigned.warmup):
            if task_id in client.previous_standby and number.get(task_id) is not None:
                application.give_role(number[task_id], c, active=False)
        for task_id in client.previous_active:
            application.give_role(number[task_id], c, active=True)
    application.change_done()
