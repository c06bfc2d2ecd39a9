"""A recording: one rebalance and the applied answer, in a file that every command can read.

The file is gzip-compressed JSON: a head (time, application, summary), the answer, and its snapshot, which includes the
remembered answer. If another answer was applied, the service's own is recorded, too. The service's assignor gives the same
answer to the snapshot again (R9). `files.py` names and finds the files.
"""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.base import Count, Format, Frozen, NotEmpty, Time, is_none, to_ms
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import Source, read_json, to_model
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import is_answer_balanced, measure_imbalance
from optassign.measuring.client_names import ClientNames
from optassign.measuring.facts import find_not_caught_up, list_pairs
from optassign.measuring.load import balances_load, find_counting_time, measure_shown_loads
from optassign.measuring.moves import count_active_moves
from optassign.measuring.outlook import Awaited, estimate_outlook, find_awaited, find_restore_rates
from optassign.measuring.placement import TaskPlacement, standbys_per_task, staying_clients
from optassign.measuring.ranks import Ranks
from optassign_models.policy.constants import EARLY_MS

RECORDED_NAMES = 3
"""Clients that the head of a recording names: the head stays short."""
RECORDED_CHARACTERS = 200
"""Most characters kept of each of these names."""


LoadUnit = Literal["weight per thread", "even spreads"]
Trigger = Literal["joined", "left", "joined and left", "second pass", "follow-up", "other"]
TRIGGERS: dict[Trigger, str] = {
    "joined": "instances joined",
    "left": "instances left",
    "joined and left": "instances joined and left",
    "second pass": "second pass",
    "follow-up": "follow-up",
    "other": "restart or new topics",
}
"""Reason of a rebalance → its text. Kafka does not report the reason; it follows from the changes."""
_Names = Annotated[tuple[str, ...], Field(strict=False)]


class Overview(Frozen):
    """A rebalance in a list of rebalances, in addition to its summary; clients by the names that people know."""

    joined: Count | None = Field(default=None, description="clients that were not in the remembered answer; null: no memory")
    joined_clients: _Names = Field(default=(), description="the first of these")
    left: Count | None = Field(default=None, description="clients of the remembered answer that have left; null: no memory")
    left_clients: _Names = Field(default=(), description="the first of these")
    trigger: Trigger | None = Field(default=None, description="why the group rebalanced; null: no memory, or an older service")
    draining: Count = Field(default=0, description="draining clients that still have active tasks")
    load_least: float = Field(description="least load of a client that stays")
    load_most: float = Field(description="greatest load of a client that stays")
    load_unit: LoadUnit = Field(
        default="weight per thread",
        description="weight of active tasks per thread × capacity; even spreads if load is balanced",
    )
    standbys_wanted: Count = Field(description="standbys of all logged tasks")
    standbys_caught_up: Count = Field(description="standbys of the answer that are caught up")
    waits_on: _Names = Field(default=(), description="the first clients for whose copies the follow-up waits")


def make_overview(state: ApplicationState, answer: TaskAssignment) -> Overview:
    """Return the overview of an answer to `state`."""
    label, placement, ranks = ClientNames(state).label, TaskPlacement.of(state, answer), Ranks(state)
    joined: list[str] | None = None
    left: list[str] | None = None
    if state.remembered is not None:
        known = {client.process_id for client in state.remembered.clients}
        joined = [label(name) for name in state.kafka_streams_states if name not in known]
        left = [name for name in sorted(known) if name not in state.kafka_streams_states]
    has_active = {client for clients in placement.active.values() for client in clients}
    waits = Counter(entry.process_id for entry in answer.report.waiting)
    shown = measure_shown_loads(state, placement)
    loads = [shown[client.process_id] for client in staying_clients(state)]
    logged = [task.id for task in state.tasks if task.logged]
    return Overview(
        joined=None if joined is None else len(joined),
        joined_clients=_cut(joined or ()),
        left=None if left is None else len(left),
        left_clients=_cut(left or ()),
        trigger=_find_trigger(state, bool(joined), bool(left)),
        draining=sum(client.draining and client.process_id in has_active for client in state.clients),
        load_least=min(loads),
        load_most=max(loads),
        load_unit=find_load_unit(state),
        standbys_wanted=len(logged) * standbys_per_task(state),
        standbys_caught_up=sum(ranks.of(task, client) == 0 for task in logged for client in placement.standby[task]),
        waits_on=_cut([f"{label(name)}: {number:,}" for name, number in waits.most_common()]),
    )


def _find_trigger(state: ApplicationState, has_joined: bool, has_left: bool) -> Trigger | None:
    """Return the reason of the rebalance; None without a remembered answer, or without times to recognise a follow-up."""
    before = state.remembered
    if before is None:
        return None
    if has_joined or has_left:
        return "joined and left" if has_joined and has_left else "joined" if has_joined else "left"
    owned = {task for client in state.clients for task in client.previous_active}
    given = {task for client in before.clients for task in client.active}
    if any(task.id in given and task.id not in owned for task in state.tasks):
        return "second pass"
    asked = min((c.followup_rebalance_ms for c in before.clients if c.followup_rebalance_ms is not None), default=None)
    pace = before.report.pace
    if asked is None:
        return "other"
    if state.taken_at is None or pace is None:
        return None
    return "follow-up" if to_ms(state.taken_at) - to_ms(pace.taken_at) + EARLY_MS >= asked else "other"


def find_load_unit(state: ApplicationState) -> LoadUnit:
    """Return the unit of clients' loads."""
    return "even spreads" if balances_load(state) else "weight per thread"


def _cut(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name[:RECORDED_CHARACTERS] for name in names[:RECORDED_NAMES])


BROKER_AGENT = "optassign-broker/"
"""The beginning of the User-Agent of the brokers' assignor."""
MemorySource = Literal["none", "plug-in", "service"]
"""The origin of the remembered answer in the snapshot."""
_WHY_GREEDY = {
    "limit": "greedy answered, as there was no time for the solver",
    "fallback": "greedy answered, as the solver failed or broke a rule",
}
"""Reason of a report (`optassign_models.results.Reason`) → its text."""


class Summary(Frozen):
    """One rebalance in a few numbers, for logs, metrics and lists."""

    tasks: Count
    clients: Count
    reason: str = Field(description="why solving ended: report.termination.reason")
    found_by: str
    moved_active: Count = Field(description="active tasks that leave a client that runs them")
    restore_work: int | None = Field(default=None, description="offsets that target and answer have to restore; null: unknown")
    restore_work_bound: int | None = Field(default=None, description="proven lower bound of restore_work; null: unknown")
    restored: int | None = Field(
        default=None, description="offsets that copies and warm-ups of this answer have to replay; null: unknown"
    )
    warmups: Count
    followup_ms: int | None = Field(default=None, description="delay of the follow-up, ms; null: none")
    awaited: Awaited | None = Field(default=None, description="reason for the follow-up; null: none, or an older service")
    waiting: Count = Field(description="copies for which the follow-up waits")
    looks: Count | None = Field(
        default=None, description="consecutive answers at which no copy had come nearer; null: no times are known"
    )
    followups: Count | None = Field(
        default=None, description="estimated follow-ups until the target is reached; null: none, or unknown"
    )
    plan_ms: Count | None = Field(
        default=None, description="estimated time until then, ms; null: no rate was measured, or no copy came nearer"
    )
    restore_rate_least: Count | None = Field(
        default=None, description="offsets per second of the slowest client with a known rate; null: no rate is known"
    )
    restore_rate_median: Count | None = Field(default=None, description="the same, of the median of these clients")
    restore_rate_most: Count | None = Field(default=None, description="the same, of the fastest")
    stalled: bool
    balanced: bool
    imbalance: Count | None = Field(
        default=None, description="imbalance of the answer, summed over all shares; null: load is balanced, or an older service"
    )
    hold: Literal["none", "paused", "quiet_hours"] = Field(
        default="none", description="the hold under which the answer was made"
    )
    rates_count_from: Time | None = Field(
        default=None, exclude_if=is_none, description="when measured rates begin to count as weights; left out if they do"
    )

    @property
    def why_greedy(self) -> str:
        """Why greedy answered within the service's assignor in place of the solver; empty if it did not."""
        return _WHY_GREEDY.get(self.reason, "")


class NotApplied(Frozen):
    """The service's answer to the same rebalance, if another answer was applied."""

    assignor: NotEmpty = Field(description="assignor of the answer")
    time_limit: Annotated[float, Field(ge=0)] = Field(description="seconds of solving")
    in_time: bool = Field(default=True, description="ready before its deadline")
    after_the_fact: bool = Field(
        default=False, description="true: computed when the plug-in reported; false: requested during the rebalance"
    )
    summary: Summary


class Clocks(Frozen):
    """Times that an application's recordings carry on (`clocks.py`)."""

    settling_since: Time | None = Field(
        default=None, description="since when follow-ups are requested without interruption; null: no follow-up is requested"
    )
    settling_estimate_ms: Count | None = Field(
        default=None, description="first estimate of the time from then until the target is reached, ms; null: unknown"
    )
    progress_at: Time | None = Field(
        default=None, description="when an awaited copy last came nearer; null: no copy is awaited"
    )


class RecordingHead(Frozen):
    """A recording without its answers and its snapshot."""

    format: Format
    application: str | None = None
    recorded_at: str = Field(description="when the answer was ready, ISO 8601 in UTC; of a reported answer, when Kafka took it")
    answered_at: Count = Field(description="Optassign-Answered-At of the answer, ms since 1970")
    mode: Literal["active", "shadow"] = "active"
    in_time: bool = Field(default=True, description="ready before its deadline, while the plug-in waited")
    assignor: NotEmpty = Field(description="an assignor of the service or, as reported, `fallback` or an assignor of Kafka")
    time_limit: Annotated[float, Field(ge=0)] = Field(description="seconds of solving; 0 if the service did not solve")
    memory: MemorySource = "none"
    service: str = ""
    plugin: str | None = None
    rebalance: str | None = Field(default=None, description="the plug-in's id of the rebalance; null: an older plug-in")
    reported: bool = Field(
        default=False,
        description="true: the plug-in reported that Kafka took `assignment`; false: it is the service's own answer",
    )
    why: str = Field(default="", description="why the service's answer was not applied, as the plug-in reports")
    not_applied: NotApplied | None = Field(
        default=None, description="the service's answer, if it was not applied; null: `assignment` is the only answer"
    )
    seconds: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="from the arrival of the request to its answer; null: unknown"
    )
    clocks: Clocks | None = Field(
        default=None, description="clocks of the application after this rebalance; null: an older service"
    )
    summary: Summary
    overview: Overview | None = Field(default=None, description="overview of `assignment`; null: an older service")

    @property
    def runs_followups(self) -> bool:
        """Whether the group rebalances when a follow-up is due. With a broker's assignor (KIP-1071) no member requests it."""
        return not (self.plugin or "").startswith(BROKER_AGENT)

    @property
    def applied(self) -> bool:
        """Whether the service knows that `assignment` was applied: it was reported, or sent in time and not contradicted."""
        return self.reported or (self.mode == "active" and self.in_time)


class Recording(RecordingHead):
    """One rebalance."""

    assignment: TaskAssignment
    not_applied_assignment: TaskAssignment | None = Field(default=None, description="the answer that `not_applied` summarises")
    snapshot: ApplicationState

    @property
    def service_answer(self) -> TaskAssignment | None:
        """The service's own answer, applied or not; None if it had none."""
        return self.not_applied_assignment if self.reported else self.assignment


def summarise(state: ApplicationState, answer: TaskAssignment) -> Summary:
    """Return the summary of an answer to `state`."""
    report, placement, ranked = answer.report, TaskPlacement.of(state, answer), Ranks(state)
    warming = ((task.id, client) for task in state.tasks for client in placement.warmup[task.id])
    restored = find_not_caught_up(ranked, [*list_pairs(placement), *warming])
    delays = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    work = [goal.value for goal in report.goals if goal.name == "restore_work" and goal.stage in {"plan", "now"}]
    outlook, rates = estimate_outlook(state, answer), find_restore_rates(report.pace)
    return Summary(
        tasks=len(state.tasks),
        clients=len(state.clients),
        reason=report.termination.reason,
        found_by=report.found_by,
        moved_active=count_active_moves(state, placement),
        restore_work=int(work[0]) if work else None,
        restore_work_bound=restore_work_bound(answer),
        restored=sum(restored.values()),
        warmups=sum(len(client.warmup) for client in answer.clients),
        followup_ms=min(delays, default=None),
        awaited=find_awaited(state, answer),
        waiting=len(report.waiting),
        looks=None if report.pace is None else report.pace.looks,
        followups=None if outlook is None else outlook.followups,
        plan_ms=None if outlook is None or outlook.is_assumed else outlook.ms,
        restore_rate_least=None if rates is None else rates.least,
        restore_rate_median=None if rates is None else rates.median,
        restore_rate_most=None if rates is None else rates.most,
        stalled=report.stalled,
        balanced=is_answer_balanced(state, answer),  # a plug-in's report lacks it
        imbalance=None if balances_load(state) else sum(measure_imbalance(state, placement).values()),
        hold=state.options.hold if report.termination.detail or report.termination.reason == "held" else "none",
        rates_count_from=find_counting_time(state),
    )


def replay_recording(recording: Recording) -> TaskAssignment | None:
    """Return a new answer of the service's assignor to the recorded snapshot; None if the service had no answer.

    If no limit was hit, the answer equals the service's, except for seconds (R9).
    """
    asked = recording.not_applied if recording.reported else recording
    if asked is None:
        return None
    return assign(recording.snapshot, asked.assignor, asked.time_limit)


def encode_recording(head: RecordingHead, assignment: bytes, snapshot: bytes, not_applied: bytes | None = None) -> bytes:
    """Return the content of a recording's file; equal recordings give equal bytes. Both answers and `snapshot` are JSON."""
    parts = [head.model_dump_json()[:-1].encode(), b',"assignment":', assignment]
    if not_applied is not None:
        parts += [b',"not_applied_assignment":', not_applied]
    return gzip.compress(b"".join([*parts, b',"snapshot":', snapshot, b"}\n"]), compresslevel=6, mtime=0)


def read_recording(source: Source, *, unknown: Literal["refuse", "ignore"] = "refuse") -> Recording:
    """Read a recording. InputError for every fault.

    `unknown`: "ignore" leaves out the fields of a newer version.
    """
    name, data = _read_content(source)
    recording, _ = to_model(data, Recording, name, unknown=unknown)
    return recording


def read_recorded_snapshot(source: Source) -> str:
    """Return the snapshot of a recording as JSON, unchanged: an `ApplicationState` loses entries about unknown tasks.

    InputError for every fault of the recording.
    """
    name, data = _read_content(source)
    to_model(data, Recording, name)
    return json.dumps(data["snapshot"], ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _read_content(source: Source) -> tuple[str, Any]:
    """Return the source's name in errors, and its JSON value. InputError if it is a snapshot alone."""
    name, data = read_json(source)
    if isinstance(data, dict) and "tasks" in data and "snapshot" not in data:
        raise InputError(name, "", "a snapshot without an answer", "a recording, which has both")
    return name, data


def read_rebalance(source: Source) -> tuple[ApplicationState, Recording | None]:
    """Read a snapshot, alone or in a recording; return it and the recording, if any. InputError for every fault."""
    name, data = read_json(source)
    if isinstance(data, dict) and "tasks" not in data and ("snapshot" in data or "answered_at" in data):
        recording, _ = to_model(data, Recording, name)
        return recording.snapshot, recording
    state, _ = to_model(data, ApplicationState, name)
    return state, None


def join_report(path: Path, head: RecordingHead, assignment: bytes) -> bytes | None:
    """Return the recording at `path` joined with a reported answer of the same rebalance.

    The reported answer replaces the service's answer, which moves to `not_applied`; the snapshot remains the one that the
    service used. None if the recording has a report already, or `head` is not reported. InputError if the recording cannot be
    read.
    """
    name, data = read_json(path)
    recording, _ = to_model(data, Recording, name)
    if recording.reported or not head.reported:
        return None
    not_applied = NotApplied(
        assignor=recording.assignor,
        time_limit=recording.time_limit,
        in_time=recording.in_time,
        summary=recording.summary,
    )
    joined = head.model_copy(
        update={"recorded_at": recording.recorded_at, "memory": recording.memory, "not_applied": not_applied}
    )
    return encode_recording(joined, assignment, _to_json(data["snapshot"]), _to_json(data["assignment"]))


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
