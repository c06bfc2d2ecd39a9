"""The planned copies that an application waits for: how far each is, since when it is waited for, and why it is not there."""

from collections import Counter
from datetime import timedelta

from optassign.formats.assignment import Waiting
from optassign.formats.base import parse_time
from optassign.measuring.client_names import ClientNames
from optassign.measuring.ranks import Ranks
from optassign.recordings.recording import Recording
from optassign.service.clock import format_utc
from optassign.service.views.index import Copy, Entry, RecordingIndex
from optassign.service.views.types import CopyRow
from optassign_models.policy.constants import WAITING_BYTES, WAITING_LOOKS_BACK

__all__ = ["list_copies", "measure_file"]


def list_copies(index: RecordingIndex, entry: Entry, recording: Recording, names: ClientNames) -> list[CopyRow]:
    """The copies that the follow-up waits for: restoring ones first, then the longest awaited ones."""
    state, report = recording.snapshot, recording.assignment.report
    if not report.waiting:
        return _list_warmups(recording, names)
    at = parse_time(recording.recorded_at)
    pace = {} if report.pace is None else {row.process_id: row for row in report.pace.clients if row.ms and row.offsets}
    at_once = Counter(copy.process_id for copy in report.waiting if copy.slot)
    without_progress = {(p.task, p.process_id): p.answers_without_progress for p in report.warmup_progress}
    since = _find_since(index, entry, {(copy.task, copy.process_id, copy.role) for copy in report.waiting})
    rows = []
    for copy in report.waiting:
        known, row = (copy.task, copy.process_id, copy.role), pace.get(copy.process_id)
        rate = 1000 * row.offsets / row.ms / at_once[copy.process_id] if row is not None and copy.slot else None
        whole = state.full_lags.get(copy.task, 0)
        end = None
        if rate and copy.lag is not None and copy.lag / rate < 10**9:
            end = format_utc((at + timedelta(seconds=copy.lag / rate)).timestamp())
        first, number, at_least = since[known]
        head = index.read_head(first)
        rows.append(
            CopyRow(
                task=copy.task,
                client=names.label(copy.process_id),
                process_id=copy.process_id,
                role=copy.role,
                lag=copy.lag,
                whole=whole,
                progress=None if copy.lag is None or not whole else round(min(1.0, max(0.0, 1 - copy.lag / whole)), 3),
                restoring=copy.slot,
                rate=rate,
                expected_end=end,
                since=recording.recorded_at if head is None else head.recorded_at,
                since_at_least=at_least,
                rebalances=number,
                why=_say_why(recording, copy, without_progress.get(known[:2], 0)),
            )
        )
    return sorted(rows, key=lambda row: (not row.restoring, -row.rebalances, row.task, row.client))


def _list_warmups(recording: Recording, names: ClientNames) -> list[CopyRow]:
    """The warm-ups of an answer that does not say what it waits for, such as those of Kafka's own assignors in shadow mode."""
    state, ranks = recording.snapshot, Ranks(recording.snapshot)
    rows = []
    for client in recording.assignment.clients:
        if client.process_id not in state.kafka_streams_states:
            continue
        for task in client.warmup:
            whole = state.full_lags.get(task, 0)
            lag = ranks.lag(task, client.process_id) if task in state.all_tasks and state.all_tasks[task].logged else None
            rows.append(
                CopyRow(
                    task=task,
                    client=names.label(client.process_id),
                    process_id=client.process_id,
                    role="warm-up",
                    lag=lag,
                    whole=whole,
                    progress=None if lag is None or not whole else round(min(1.0, max(0.0, 1 - lag / whole)), 3),
                    restoring=True,
                    rate=None,
                    expected_end=None,
                    since=recording.recorded_at,
                    since_at_least=True,
                    rebalances=1,
                    why="being restored",
                )
            )
    return sorted(rows, key=lambda row: (row.task, row.client))


def _say_why(recording: Recording, copy: Waiting, without_progress: int) -> str:
    """Why a planned copy is not there yet."""
    report, state = recording.assignment.report, recording.snapshot
    if copy.slot and without_progress:
        return f"being restored, without progress for {without_progress} rebalance{'s' if without_progress > 1 else ''}"
    if copy.slot:
        return "being restored"
    if copy.process_id not in state.kafka_streams_states:
        return "its client has gone"
    if report.stalled:
        return "stalled: no warm-up makes progress"
    taken = sum(entry.slot for entry in report.waiting)
    most = state.configs.max_warmup_replicas
    if taken >= most:
        return f"waits for a slot: max.warmup.replicas = {most:,}, all taken"
    if copy.role == "standby":
        return "a standby follows once the active task has moved"
    return "waits for the copies before it"


def measure_file(entry: Entry) -> int:
    """Bytes of a recording on the disk; 0 if it has gone."""
    try:
        return entry.path.stat().st_size
    except OSError:
        return 0


def _find_since(index: RecordingIndex, entry: Entry, copies: set[Copy]) -> dict[Copy, tuple[Entry, int, bool]]:
    """Copy -> the oldest recording from which on it was waited for in each, how many these are, and whether at least."""
    found = dict.fromkeys(copies, (entry, 1, False))
    left, size = set(copies), 0
    older = index.list_entries(entry.folder, before=f"{entry.day}/{entry.time}")
    for number, other in enumerate(older, start=2):
        size += measure_file(other)
        if number == WAITING_LOOKS_BACK or size > WAITING_BYTES:
            found.update((copy, (*found[copy][:2], True)) for copy in left)
            break
        left &= index.read_waiting(other)
        if not left:
            break
        found.update((copy, (other, number, False)) for copy in left)
    return found
