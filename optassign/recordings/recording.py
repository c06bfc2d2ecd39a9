"""A recording: one rebalance that the service answered, in a file that every command can use again.

The file is gzip-compressed JSON: a head that says when, for whom and what was done, the answer, and the snapshot that it was
computed from (with what was remembered then). Replaying it gives the same answer (R9). Where the files lie: files.py.
"""

import gzip
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment, Termination, restore_work_bound
from optassign.formats.base import Count, Format, Frozen, NotEmpty
from optassign.formats.input_errors import InputError
from optassign.formats.reading import Source, read_json, to_model
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import count_active_moves
from optassign.measuring.outlook import estimate_outlook
from optassign.measuring.placement import Placement

__all__ = [
    "MemorySource",
    "Recording",
    "RecordingHead",
    "Summary",
    "add_fallback_reason",
    "encode_recording",
    "read_rebalance",
    "read_recorded_snapshot",
    "read_recording",
    "replay_recording",
    "summarise",
]

MemorySource = Literal["none", "plug-in", "service"]
"""Whose remembered answer the snapshot carried."""


class Summary(Frozen):
    """One rebalance in a few numbers, for logs, metrics and lists."""

    tasks: Count
    clients: Count
    reason: str = Field(description="why solving ended: report.termination.reason")
    found_by: str
    moved_active: Count = Field(description="active tasks that leave a client that runs them")
    restore_work: int | None = Field(default=None, description="offsets that plan and answer have to restore; null: not said")
    restore_work_bound: int | None = Field(default=None, description="proven lower bound of restore_work; null: none known")
    warmups: Count
    followup_ms: int | None = Field(default=None, description="delay of the follow-up, ms; null: none")
    waiting: Count = Field(description="copies the follow-up waits for")
    followups: Count | None = Field(
        default=None, description="about how many follow-ups until the plan is reached; null: none, or not known"
    )
    plan_ms: Count | None = Field(default=None, description="about how long that takes, ms; null: not known")
    stalled: bool
    balanced: bool


class RecordingHead(Frozen):
    """All of a recording but its answer and its snapshot."""

    format: Format
    application: str | None = None
    recorded_at: str = Field(description="when the answer was ready, ISO 8601 in UTC")
    answered_at: Count = Field(description="Optassign-Answered-At of the answer, ms since 1970")
    mode: Literal["active", "shadow"] = "active"
    in_time: bool = Field(default=True, description="ready before its deadline, with the plug-in there to take it")
    assignor: NotEmpty = Field(description="who answered")
    time_limit: Annotated[float, Field(ge=0)] = Field(description="seconds of solving")
    fallback: Termination | None = Field(default=None, description="why greedy answered instead, as its report says")
    memory: MemorySource = "none"
    service: str = ""
    plugin: str | None = None
    summary: Summary


class Recording(RecordingHead):
    """One rebalance that the service answered."""

    assignment: TaskAssignment
    snapshot: ApplicationState


def summarise(state: ApplicationState, answer: TaskAssignment) -> Summary:
    """The numbers that say what an answer to `state` does."""
    report = answer.report
    delays = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    work = [goal.value for goal in report.goals if goal.name == "restore_work" and goal.stage in {"plan", "now"}]
    outlook = estimate_outlook(state, answer)
    return Summary(
        tasks=len(state.tasks),
        clients=len(state.clients),
        reason=report.termination.reason,
        found_by=report.found_by,
        moved_active=count_active_moves(state, Placement.of(state, answer)),
        restore_work=int(work[0]) if work else None,
        restore_work_bound=restore_work_bound(answer),
        warmups=sum(len(client.warmup) for client in answer.clients),
        followup_ms=min(delays, default=None),
        waiting=len(report.waiting),
        followups=None if outlook is None else outlook.followups,
        plan_ms=None if outlook is None else outlook.ms,
        stalled=report.stalled,
        balanced=report.balanced,
    )


def add_fallback_reason(answer: TaskAssignment, why: Termination | None) -> TaskAssignment:
    """Greedy's answer, whose report says why greedy was asked. Without a reason `answer` as it is."""
    if why is None:
        return answer
    return answer.model_copy(update={"report": answer.report.model_copy(update={"termination": why})})


def replay_recording(recording: Recording) -> TaskAssignment:
    """Answer the recorded snapshot again. If no limit was hit, the answer is the same but for the seconds (R9)."""
    return add_fallback_reason(assign(recording.snapshot, recording.assignor, recording.time_limit), recording.fallback)


def encode_recording(head: RecordingHead, assignment: bytes, snapshot: bytes) -> bytes:
    """The content of a file; the same bytes for the same recording. `assignment` and `snapshot` are JSON."""
    parts = (head.model_dump_json()[:-1].encode(), b',"assignment":', assignment, b',"snapshot":', snapshot, b"}\n")
    return gzip.compress(b"".join(parts), compresslevel=6, mtime=0)


def read_recording(source: Source) -> Recording:
    """Read a recording. InputError for everything wrong with it."""
    name, data = _read_content(source)
    recording, _ = to_model(data, Recording, name)
    return recording


def read_recorded_snapshot(source: Source) -> str:
    """The snapshot of a recording as JSON, as it stands there: read as a type it would lose what is about unknown tasks.

    InputError for everything wrong with the recording.
    """
    name, data = _read_content(source)
    to_model(data, Recording, name)
    return json.dumps(data["snapshot"], ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _read_content(source: Source) -> tuple[str, Any]:
    """What errors call the source, and its JSON value. InputError if that is a snapshot alone, whose fields are none here."""
    name, data = read_json(source)
    if isinstance(data, dict) and "tasks" in data and "snapshot" not in data:
        raise InputError(name, "", "a snapshot alone", "a recording, which has the answer too")
    return name, data


def read_rebalance(source: Source) -> tuple[ApplicationState, Recording | None]:
    """A snapshot, whether it stands alone or in a recording, and that recording. InputError for everything wrong with it."""
    name, data = read_json(source)
    if isinstance(data, dict) and "tasks" not in data and ("snapshot" in data or "answered_at" in data):
        recording, _ = to_model(data, Recording, name)
        return recording.snapshot, recording
    state, _ = to_model(data, ApplicationState, name)
    return state, None
