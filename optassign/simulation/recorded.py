"""Scenarios from recordings of an application: the scenario begins at the first recording and repeats the recorded changes at
their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from optassign.formats.clients import KafkaStreamsState, list_process_ids
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.formats.tasks import TaskInfo
from optassign.measuring.outlook import list_rates
from optassign.recordings.recording import Recording, read_recording
from optassign.simulation.timed.scenario import ChangedConfigs, Clients, Scenario
from optassign.simulation.timed.snapshots import Inputs, RecordedStart

__all__ = ["make_scenario", "make_snapshot_scenario", "read_recordings"]

_AFTERWARDS_S = 3600.0
"""Seconds played after the last recording. Running copies are restored by then."""

_HEADROOM = 2.0
"""Least processing rate of a thread, in multiples of the greatest recorded input per thread. Recordings do not tell the rate.
The recorded application kept up, though not always balanced."""


def read_recordings(folder: Path) -> tuple[dict[str, list[Recording]], list[str]]:
    """Return application → its recordings, the oldest first, and a line about each file that is not a recording.

    All files below the folder that end in .json.gz or .json are read, except hidden files. InputError if no recording is found.
    """
    found: dict[str, list[Recording]] = {}
    refused = []
    paths = (path for path in folder.rglob("*.json*") if path.name.endswith((".json.gz", ".json")) and path.name[0] != ".")
    for path in sorted(paths):
        try:
            recording = read_recording(path)
        except InputError as error:
            refused.append(str(error))
        else:
            found.setdefault(recording.application or "", []).append(recording)
    if not found:
        raise InputError(str(folder), "", "no recording", "a folder with *.json.gz or *.json files of recordings")
    for each in found.values():
        each.sort(key=lambda recording: (recording.recorded_at, recording.answered_at))
    return dict(sorted(found.items())), refused


def make_scenario(recordings: Sequence[Recording]) -> tuple[Scenario, RecordedStart]:
    """Return the scenario of one application, and its beginning. `recordings`: at least one, in the order of their times.

    A client joins a second before the first snapshot that has it, and leaves a second before the first snapshot that misses it.
    Clients restore at their learnt rates in the reports, at the median of these rates, or without any at the default rate.
    Threads process at the default rate, or fast enough for the greatest recorded input.
    Changelogs and inputs grow from each snapshot to the next as recorded, and after the last at the overall rate. InputError
    for recordings without tasks.
    """
    states = [recording.snapshot for recording in recordings]
    begin = _parse(recordings[0])
    clients = {client.process_id: client for state in reversed(states) for client in state.clients}
    tasks = {task.id: task for state in reversed(states) for task in state.tasks}
    if not tasks:
        name = recordings[0].application or "the application"
        raise InputError(name, "", "no task in any recording", "a recording with tasks")
    ordered = sorted(tasks.values(), key=lambda task: TaskId.parse(task.id))
    there = {client.process_id for client in states[0].clients}
    rates = _find_rates(recordings)
    median = sorted(rates.values())[len(rates) // 2] if rates else None
    inputs = tuple(_find_inputs(recordings))
    process_per_s = _find_processing_rate(inputs, states)
    groups = list(_group(ordered))
    at_first = states[0].all_tasks
    threads: dict[str, int] = {name: client.threads for name, client in clients.items()}
    events: list[dict[str, Any]] = []
    for recording, before in zip(recordings[1:], states, strict=False):
        seconds = (_parse(recording) - begin).total_seconds()
        events += _compare(before, recording.snapshot, threads, seconds, groups)
        threads |= {client.process_id: client.threads for client in recording.snapshot.clients}
    scenario = Scenario.model_validate(
        {
            "name": recordings[0].application or "recorded",
            "about": f"{len(recordings)} recordings, the first of {recordings[0].recorded_at}",
            "duration_s": (_parse(recordings[-1]) - begin).total_seconds() + _AFTERWARDS_S,
            "configs": states[0].configs,
            "options": _make_lasting_options(states[0], clients),
            "subtopologies": [
                {"partitions": len(group), "kind": _kind(group[0]), "joins": group[0].id not in at_first} for group in groups
            ],
            "clients": [
                {**_describe_client(client, there, rates.get(name, median)), "process_per_s": process_per_s}
                for name, client in sorted(clients.items())
            ],
            "events": events,
        }
    )
    return scenario, RecordedStart(tuple(task for group in groups for task in group), inputs, states[0])


def make_snapshot_scenario(state: ApplicationState, restore_per_s: float, duration_s: float) -> tuple[Scenario, RecordedStart]:
    """Return a scenario that begins with one snapshot, and runs for `duration_s` seconds without events.

    `restore_per_s`: offsets that each client restores per second. No offsets are written to the changelogs.
    """
    groups = list(_group(state.tasks))
    there = set(state.kafka_streams_states)
    scenario = Scenario.model_validate(
        {
            "name": state.application or "snapshot",
            "duration_s": duration_s,
            "configs": state.configs,
            "options": _name_processes(state, state.kafka_streams_states),
            "subtopologies": [{"partitions": len(group), "kind": _kind(group[0])} for group in groups],
            "clients": [_describe_client(client, there, restore_per_s) for client in state.clients],
        }
    )
    return scenario, RecordedStart(tuple(task for group in groups for task in group), (), state)


def _make_lasting_options(state: ApplicationState, clients: Mapping[str, KafkaStreamsState]) -> Options:
    """Return the options of a run without operators: no pause, quiet hours, request for a new target, or follow-up at rest.

    `clients`: process id → every client of the run.
    """
    passing = {"hold": "none", "hold_ends_ms": None, "forget_plan": False, "idle_followup_ms": None}
    return _name_processes(state, clients).model_copy(update=passing)


def _name_processes(state: ApplicationState, clients: Mapping[str, KafkaStreamsState]) -> Options:
    """Return the snapshot's options with process ids in drains and limits: clients of scenarios have no client id or host.

    `clients`: process id → every client of the run. Limits also concern those that join later.
    """
    limits = tuple(
        limit.model_copy(update={"clients": list_process_ids(clients.values(), limit.clients)})
        for limit in state.options.limits
    )
    drain = tuple(client.process_id for client in state.clients if client.draining)
    return state.options.model_copy(update={"drain": drain, "limits": limits})


def _parse(recording: Recording) -> datetime:
    return datetime.fromisoformat(recording.recorded_at)


def _group(tasks: Iterable[TaskInfo]) -> Iterator[list[TaskInfo]]:
    """Yield the tasks of each subtopology, in the order of the subtopologies' first tasks."""
    groups: dict[tuple[str, int], list[TaskInfo]] = {}
    for task in tasks:
        groups.setdefault(TaskId.parse(task.id).subtopology_key, []).append(task)
    yield from groups.values()


def _kind(task: TaskInfo) -> str:
    return "logged" if task.logged else "unlogged" if task.stateful else "stateless"


def _describe_client(client: KafkaStreamsState, there: set[str], rate: float | None) -> dict[str, Any]:
    """Return the client as an entry of a scenario's `clients`.

    `there`: the clients present from the start; others join. `rate`: offsets per second, None for the default.
    """
    described: dict[str, Any] = {
        "ids": [client.process_id],
        "threads": client.threads,
        "tags": dict(client.tags),
        "capacity": client.capacity,
        "joins": client.process_id not in there,
    }
    return described if rate is None else {**described, "restore_per_s": rate}


def _find_rates(recordings: Sequence[Recording]) -> dict[str, float]:
    """Return process id → last reported restore rate, in offsets per second."""
    rates: dict[str, float] = {}
    for recording in recordings:
        rates |= list_rates(recording.assignment.report.pace)
    return rates


def _find_inputs(recordings: Sequence[Recording]) -> Iterator[Inputs]:
    """Yield the rates at which changelogs grow from each recording to the next, then the overall rates from the last recording
    on.

    An application may fill its stores in a burst and then rest. With one constant rate, later copies would restore fewer
    offsets than in the recorded application.
    """
    begin, last = recordings[0], recordings[-1]
    before = begin
    for recording in recordings[1:]:
        if growth := _measure_growth(before, recording):
            yield Inputs(_count_seconds(begin, before), growth)
            before = recording
    yield Inputs(_count_seconds(begin, last), _measure_growth(begin, last))


def _find_processing_rate(inputs: Iterable[Inputs], states: Iterable[ApplicationState]) -> float:
    """Return the records per second that each thread processes."""
    threads = min(sum(client.threads for client in state.clients) for state in states)
    greatest = max(sum(each.per_s.values()) for each in inputs)
    return max(Clients().process_per_s, _HEADROOM * greatest / threads)


def _count_seconds(since: Recording, until: Recording) -> float:
    return (_parse(until) - _parse(since)).total_seconds()


def _measure_growth(since: Recording, until: Recording) -> dict[str, float]:
    """Return task → growth of its changelog in offsets per second; empty if no time has passed."""
    seconds = _count_seconds(since, until)
    before, after = since.snapshot.full_lags, until.snapshot.full_lags
    return {task: max(0, end - before.get(task, end)) / seconds for task, end in after.items()} if seconds > 0 else {}


def _compare(
    before: ApplicationState,
    after: ApplicationState,
    threads: Mapping[str, int],
    seconds: float,
    groups: Sequence[Sequence[TaskInfo]],
) -> Iterator[dict[str, Any]]:
    """Yield the events between two recorded rebalances.

    `threads`: process id → threads before, also of clients that come back. `seconds`: from the first recording to `after`.
    """
    at = max(0.0, seconds - 1.0)
    had, has = before.kafka_streams_states, after.kafka_streams_states
    if gone := sorted(had.keys() - has.keys()):
        yield {"at": at, "do": "leave", "clients": gone}
    if come := sorted(has.keys() - had.keys()):
        yield {"at": at, "do": "join", "clients": come}
    for name in sorted(has):
        more = has[name].threads - threads[name]
        if more:
            yield {"at": at, "do": "add-threads" if more > 0 else "remove-threads", "clients": [name], "threads": abs(more)}
    new = [n for n, group in enumerate(groups) if group[0].id in after.all_tasks and group[0].id not in before.all_tasks]
    if new:
        yield {"at": at, "do": "add-subtopologies", "subtopologies": new}
    names = ChangedConfigs.model_fields
    other = {name: value for name in names if (value := getattr(after.configs, name)) != getattr(before.configs, name)}
    if other:
        yield {"at": at, "do": "configure", "configs": other}
