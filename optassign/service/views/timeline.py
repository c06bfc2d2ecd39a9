"""The way to the target after a change of an application, simulated."""

import math
from collections.abc import Mapping
from statistics import median
from typing import Literal, cast

from optassign.formats.base import Frozen
from optassign.formats.clients import list_process_ids
from optassign.formats.configs import Options
from optassign.formats.state import ApplicationState, TaskId
from optassign.judging.explanation_text import pluralize
from optassign.measuring import ASSUMED_RATE
from optassign.measuring.limits import select_tasks
from optassign.measuring.placement import previous_assignment
from optassign.recordings.recording import Recording
from optassign.service.views.what_if import Changes, apply_changes, find_lost, make_base, read_changes, read_rates
from optassign.simulation.successors import end_quiet_hours
from optassign.simulation.timed.scenario import EVENT_BEGINS_S, Clients, Scenario, ScenarioEvent, Start, Subtopologies
from optassign.simulation.timed.simulator import SimulatedRun, simulate

__all__ = ["SimulatedChange", "simulate_change"]

_LEAST_WHAT_IF_S = 1800.0
"""Least simulated seconds of a what-if question: enough for a few follow-ups."""
_MOST_WHAT_IF_S = 86400.0
"""Most simulated seconds of a what-if question, as a page waits for the result."""
_MOST_POINTS = 400
"""The number of points of a curve. A chart has no more pixels than that."""


class SimulatedChange(Frozen):
    """The simulated rebalances after a change, up to the target: each list has one value for each point in time."""

    assignor: str
    at_s: tuple[float, ...]
    """Seconds since the change."""
    down: tuple[int, ...]
    """Number of tasks that are not processed."""
    standbys_missing: tuple[int, ...]
    restoring: tuple[int, ...]
    imbalance: tuple[int, ...]
    """The imbalance of the shares of active tasks; 0 if balanced."""
    settled_s: float | None
    """Seconds from the change until the last rebalance or restoration ended; None if that is beyond the simulated time."""
    rebalances: int
    moves: int
    longest_down_s: float
    assumptions: tuple[str, ...]


def simulate_change(recording: Recording, given: Mapping[str, str], assignor: str) -> SimulatedChange:
    """Return the simulated rebalances after a form's changes. RequestRefusedError with status 400 for invalid changes."""
    base = make_base(recording)
    changes = read_changes(given, base)
    scenario, assumptions = _make_scenario(base, changes, read_rates(recording))
    played = simulate(scenario, assignor)
    curve = [point for point in played.measures.curve if point.at >= EVENT_BEGINS_S]
    step = max(1, math.ceil(len(curve) / _MOST_POINTS))
    kept = [*curve[:-1][::step], *curve[-1:]]
    return SimulatedChange(
        assignor=assignor,
        at_s=tuple(round(point.at - EVENT_BEGINS_S, 1) for point in kept),
        down=tuple(point.down for point in kept),
        standbys_missing=tuple(point.standbys_missing for point in kept),
        restoring=tuple(point.restoring for point in kept),
        imbalance=tuple(point.active_imbalance for point in kept),
        settled_s=round(max(0.0, played.measures.last_change_at - EVENT_BEGINS_S), 1) if _is_over(played) else None,
        rebalances=played.measures.rebalances,
        moves=played.measures.moves,
        longest_down_s=round(played.measures.longest_down_s, 1),
        assumptions=tuple(assumptions),
    )


def _is_over(played: SimulatedRun) -> bool:
    rebalances = [event for event in played.events if event["event"] == "rebalance"]
    return not played.measures.curve[-1].restoring and (not rebalances or rebalances[-1]["followup_s"] is None)


def _make_scenario(base: ApplicationState, changes: Changes, rates: Mapping[str, float]) -> tuple[Scenario, list[str]]:
    """Return a scenario in which the change happens at `EVENT_BEGINS_S`, and its assumptions in words."""
    state = apply_changes(changes, base)
    after, lost = state.kafka_streams_states, find_lost(changes, base)
    all_clients = {**base.kafka_streams_states, **after}  # with their threads and tags after the change
    ids = {name: f"c{number:05d}-1" for number, name in enumerate(sorted(all_clients))}
    usual = median(rates.values()) if rates else float(ASSUMED_RATE)
    assumptions = [
        f"{pluralize(len(rates), 'client')} restored at known rates, the others at {usual:,.0f} offsets per second"
        if rates
        else f"no rates are known: every client restores {usual:,.0f} offsets per second",
        "changelogs of a subtopology are of one size, and no records are written",
    ]
    groups: dict[tuple[str, int], list[str]] = {}
    for task in state.tasks:
        groups.setdefault(TaskId.parse(task.id).subtopology_key, []).append(task.id)
    renamed = {task: f"{n}_{p}" for n, tasks in enumerate(groups.values()) for p, task in enumerate(tasks)}
    subtopologies = [
        Subtopologies(
            partitions=len(tasks),
            kind=cast('Literal["logged", "unlogged", "stateless"]', state.all_tasks[tasks[0]].kind),
            state=round(sum(state.full_lags.get(task, 0) for task in tasks) / len(tasks)),
        )
        for tasks in groups.values()
    ]
    work = sum(group.state * group.partitions for group in subtopologies) / usual / max(1, state.configs.max_warmup_replicas)
    scenario = Scenario(
        name="what if",
        duration_s=min(_MOST_WHAT_IF_S, max(_LEAST_WHAT_IF_S, EVENT_BEGINS_S + 2 * work)),
        configs=state.configs,
        options=_rename_options(base, state, ids, renamed),
        subtopologies=tuple(subtopologies),
        clients=tuple(
            Clients(
                name=ids[name][:-1],
                threads=client.threads,
                capacity=client.capacity,
                tags=dict(client.tags),
                restore_per_s=rates.get(name, usual),
                joins=name not in base.kafka_streams_states,
            )
            for name, client in sorted(all_clients.items())
        ),
        start=_make_start(base, ids, renamed),
        events=tuple(_make_events(base, changes, lost, ids, [name for name in after if name not in base.kafka_streams_states])),
    )
    return scenario, assumptions


def _rename_options(
    base: ApplicationState, state: ApplicationState, ids: Mapping[str, str], renamed: Mapping[str, str]
) -> Options:
    """Return the options with the names of the scenario's clients and tasks, and as after quiet hours.

    `state`: the group after the change. The clients that drain are those of `base`, as a change is an event.
    """
    clients = {**base.kafka_streams_states, **state.kafka_streams_states}.values()
    limits = []
    for limit in state.options.limits:
        has_tasks = bool(limit.tasks or limit.subtopologies)
        tasks = tuple(renamed[task] for task in select_tasks(state, limit)) if has_tasks else ()
        if tasks or not has_tasks:  # a limit of absent tasks must not become one of all tasks
            places = tuple(ids.get(name, name) for name in list_process_ids(clients, limit.clients))
            limits.append(limit.model_copy(update={"clients": places, "tasks": tasks, "subtopologies": ()}))
    given = state.options.task_weights
    weights = {
        renamed[task.id]: given[name]
        for task in state.tasks
        for name in (task.id.rpartition("_")[0], task.id)  # the task's own weight goes before its subtopology's
        if name in given
    }
    drain = tuple(ids[client.process_id] for client in base.clients if client.draining)
    options = end_quiet_hours(state).options
    return options.model_copy(update={"limits": tuple(limits), "drain": drain, "task_weights": weights})


def _make_start(base: ApplicationState, ids: Mapping[str, str], renamed: Mapping[str, str]) -> tuple[Start, ...]:
    previous = previous_assignment(base)
    active: dict[str, list[str]] = {}
    standby: dict[str, list[str]] = {}
    for task, client in previous.active.items():
        active.setdefault(client, []).append(renamed[task])
    for task, clients in (previous.standby or {}).items():
        for client in clients:
            standby.setdefault(client, []).append(renamed[task])
    return tuple(
        Start(client=ids[name], active=tuple(active.get(name, ())), standby=tuple(standby.get(name, ())))
        for name in sorted(base.kafka_streams_states)
    )


def _make_events(
    base: ApplicationState, changes: Changes, lost: frozenset[str], ids: Mapping[str, str], new: list[str]
) -> list[ScenarioEvent]:
    stays = next((name for name in base.kafka_streams_states if name not in lost), None)
    events = []
    if new:
        events.append(ScenarioEvent(at=EVENT_BEGINS_S, do="join", clients=tuple(ids[name] for name in new)))
    if lost:
        events.append(ScenarioEvent(at=EVENT_BEGINS_S, do="crash", clients=tuple(ids[name] for name in sorted(lost))))
    if changes.drained:
        events.append(ScenarioEvent(at=EVENT_BEGINS_S, do="drain", clients=tuple(ids[name] for name in changes.drained)))
    if not events and stays is not None:  # changed settings take effect at the next rebalance
        events.append(ScenarioEvent(at=EVENT_BEGINS_S, do="join", clients=(ids[stays],)))
    return events
