"""Recordings on an executor: decoding to snapshot and answer, at any multiple of the recorded size.

A rebalance at a multiple of its size has that many copies of every task and every client, as if the group had grown evenly.
Copy j of a client has the client's lags and previous tasks, for copy j of each task. Copies of a subtopology's tasks are
further partitions of the subtopology, so that all of them are assigned together. Configs and options stay unchanged: the effect
of a limit of two warm-ups at ten times the size is one of the questions.

`python -m optassign_benchmarks.spark.recordings FOLDER` generates recordings like the service's own. Each application starts
from seeded snapshots and repeats rebalances: an answer, restoration, the follow-up. When the group is stable, the next snapshot
brings an event. The recordings are spread evenly over the applications.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.generating import Shape
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import Recording, RecordingHead, encode_recording, summarise
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import Spec

RECORDED = "recorded"
"""The recorded answer, in place of an assignor's name."""
_ALLOWED = "a recording: JSON, as a rule compressed by gzip"
_SOURCE = "recording"


def decode_recording(content: bytes, scale: int = 1) -> tuple[ApplicationState, dict[str, Any], TaskAssignment]:
    """Return snapshot, columns about the recording, and its answer, at `scale` times the size. InputError for any error."""
    try:
        text = gzip.decompress(content) if content[:1] != b"{" else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(_SOURCE, "", f"that it is cut short, damaged or not compressed ({error})", _ALLOWED) from None
    recording, _ = to_model(read_value(text, _SOURCE), Recording, _SOURCE)
    state, answer = recording.snapshot, recording.assignment
    if {client.process_id for client in state.clients} != set(answer.by_process_id):
        raise InputError(
            _SOURCE, "assignment.clients", "other clients than in the snapshot", "one entry for each of its clients"
        )
    about = {
        "application": recording.application or state.application or "",
        "day": _utc_day(recording.recorded_at),
        "recorded_at": recording.recorded_at,
        "mode": recording.mode,
        "recorded_assignor": recording.assignor,
        "tasks": len(state.tasks) * scale,
        "clients": len(state.clients) * scale,
        "scale": scale,
    }
    return scale_state(state, scale), about, scale_assignment(answer, state, scale)


def _utc_day(recorded_at: str) -> str:
    try:
        at = datetime.fromisoformat(recorded_at)
    except ValueError:
        raise InputError(_SOURCE, "recorded_at", repr(recorded_at), "a time as ISO 8601") from None
    return f"{at if at.tzinfo is None else at.astimezone(UTC):%Y-%m-%d}"


def scale_state(state: ApplicationState, factor: int) -> ApplicationState:
    """Return the snapshot at `factor` times its size. ValueError for a factor below 1, or task ids beyond Kafka's largest."""
    if factor == 1:
        return state
    ids = _Ids(state, factor)
    data: dict[str, Any] = state.model_dump(exclude={"tasks", "clients", "remembered", "dropped"}, exclude_defaults=True)
    data["format"] = 1
    data["tasks"] = [{**task.model_dump(), "id": ids.task(task.id, j)} for task in state.tasks for j in range(factor)]
    data["clients"] = [
        {
            **client.model_dump(),
            "process_id": ids.client(client.process_id, j),
            "consumers": {ids.client(name, j): ids.tasks(tasks, j) for name, tasks in client.consumers.items()},
            "previous_active": ids.tasks(client.previous_active, j),
            "previous_standby": ids.tasks(client.previous_standby, j),
            "lags": {ids.task(task, j): lag for task, lag in client.lags.items()},
        }
        for client in state.clients
        for j in range(factor)
    ]
    if state.remembered is not None:
        data["remembered"] = scale_assignment(state.remembered, state, factor)
    return ApplicationState.model_validate(data)


def scale_assignment(answer: TaskAssignment, state: ApplicationState, factor: int) -> TaskAssignment:
    """Return the answer to `state` as an answer to the snapshot at `factor` times its size. The report is left out, since its
    numbers are those of `state`."""
    if factor == 1:
        return answer
    ids = _Ids(state, factor)

    def copies(clients: Iterable[Any], roles: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {
                **client.model_dump(),
                "process_id": ids.client(client.process_id, j),
                **{role: ids.tasks(getattr(client, role), j) for role in roles},
            }
            for client in clients
            for j in range(factor)
        ]

    return TaskAssignment.model_validate(
        {
            "format": 1,
            "assignor": answer.assignor,
            "clients": copies(answer.clients, ("active", "standby", "warmup")),
            "plan": None if answer.plan is None else copies(answer.plan, ("active", "standby")),
        }
    )


class _Ids:
    """The ids of the copies of tasks and clients; copy 0 keeps its id."""

    def __init__(self, state: ApplicationState, factor: int) -> None:
        if factor < 1:
            raise ValueError(f"scale: found {factor}; allowed: 1 or more")
        self._known = state.all_tasks
        self._partitions: defaultdict[tuple[str, int], int] = defaultdict(int)
        for task in state.tasks:
            key = task.task_id.subtopology_key
            self._partitions[key] = max(self._partitions[key], task.task_id.partition + 1)

    def task(self, task: str, j: int) -> str:
        found = TaskId.parse(task)
        return str(found._replace(partition=found.partition + j * self._partitions[found.subtopology_key]))

    def tasks(self, tasks: Iterable[str], j: int) -> list[str]:
        """Return the ids of copy j of the tasks. Tasks that the snapshot does not know are left out."""
        return [self.task(task, j) for task in tasks if task in self._known]

    def client(self, name: str, j: int) -> str:
        return name if j == 0 else f"{name}~{j}"


_BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
_SHAPES: tuple[Shape, ...] = ("scale-out", "restart", "scale-in", "steady")


def generate_recordings(
    folder: Path, number: int, tasks: int = 100, clients: int = 10, applications: int = 4, assignor: str = "high-availability"
) -> list[Path]:
    """Write `number` recordings, the same at every call, and return their paths. `assignor`: the assignor that answers."""
    paths = []
    for i in range(applications):
        application = f"application-{i + 1}"
        share = number // applications + (i < number % applications)
        for n, (at, state, answer) in enumerate(islice(_repeat_rebalances(application, tasks, clients, i, assignor), share)):
            path = folder / make_relative_path(application, at, n)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_make_recording(state, answer, at))
            paths.append(path)
    return paths


def _make_recording(state: ApplicationState, answer: TaskAssignment, at: datetime) -> bytes:
    """Return the bytes of a recording as the service would write it."""
    head = RecordingHead(
        format=1,
        application=state.application,
        recorded_at=at.isoformat().replace("+00:00", "Z"),
        answered_at=int(at.timestamp() * 1000),
        assignor=answer.assignor,
        time_limit=10.0,
        summary=summarise(state, answer),
    )
    return encode_recording(head, answer.model_dump_json().encode(), state.model_dump_json(exclude_defaults=True).encode())


def _repeat_rebalances(
    application: str, tasks: int, clients: int, seed: int, assignor: str
) -> Iterator[tuple[datetime, ApplicationState, TaskAssignment]]:
    """Yield time, snapshot and answer of each rebalance of an application, endlessly, ten minutes or five hours apart."""
    at = _BEGIN
    for event in range(1 << 30):
        spec = Spec(_SHAPES[event % len(_SHAPES)], tasks, clients, warmups=max(2, clients // 10), seed=1000 * seed + event)
        state = spec.generate().model_copy(update={"application": application})
        while True:
            answer = assign(state, assignor)
            yield at, state, answer.model_copy(update={"report": answer.report.without_times()})
            at += timedelta(minutes=10)
            if all(client.followup_rebalance_ms is None for client in answer.clients):
                break
            state = make_restored_snapshot(state, answer)
        at += timedelta(hours=5)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.spark.recordings", description="Generate recordings")
    parser.add_argument("folder", type=Path)
    for name, default in (("number", 1000), ("tasks", 100), ("clients", 10), ("applications", 4)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--assignor", default="high-availability", metavar="NAME", help="the assignor that answers (default: %(default)s)"
    )
    arguments = parser.parse_args()
    paths = generate_recordings(**vars(arguments))
    print(f"{len(paths):,} recordings in {arguments.folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
