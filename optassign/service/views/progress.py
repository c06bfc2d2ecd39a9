"""Restore progress between two rebalances, as instances report it, merged with the state at the last rebalance."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from optassign.formats.base import Count, Int32, NotEmpty, TaskIdText, parse_time
from optassign.formats.clients import KafkaStreamsState, find_clients
from optassign.formats.state import TaskId
from optassign.measuring.client_names import ClientNames
from optassign.measuring.ranks import Ranks
from optassign.recordings.files import name_folder
from optassign.recordings.recording import Recording
from optassign.service.clock import format_utc
from optassign.service.newest import Newest
from optassign.service.views.types import CopyRow
from optassign_models.policy.constants import PROGRESS_COPIES, PROGRESS_EVERY_MS

__all__ = [
    "CopyProgress",
    "InstanceReport",
    "LiveProgress",
    "ProgressReport",
    "ProgressReports",
    "RestoringActive",
    "find_restored_share",
    "list_restoring_actives",
    "show_live",
]

_PROGRESS_SILENT_S = 30.0  # least seconds without a report after which a restoring instance counts as silent: six reports
_PROGRESS_INSTANCES = 2_000  # instances whose progress reports are kept: the bound limits memory
_PROGRESS_SHARE_S = 0.02
"""Seconds that each reporting instance adds to every instance's interval: at most fifty reports per second in total."""
_PROGRESS_BUSY_S = 60.0
"""Seconds for which an instance counts as reporting after its last report; more than the interval in a large group."""


class _ReportPart(BaseModel):
    """A part of a report. Unknown fields are ignored, since the plug-in may be newer."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class CopyProgress(_ReportPart):
    """The progress of one copy."""

    task: TaskIdText | None = Field(default=None, description="null: an active task, whose id Kafka's listener does not report")
    partition: Int32
    role: Literal["active", "standby"] = Field(description="standby: a warm-up or a standby")
    lag: Count = Field(description="offsets left to restore")
    per_second: Count | None = Field(default=None, description="offsets restored per second since it began")


class ProgressReport(_ReportPart):
    """The progress of the copies of one instance between two rebalances."""

    application: NotEmpty = Field(max_length=255)
    client: NotEmpty = Field(max_length=255, description="its process id, or the client id that snapshots have")
    copies: Annotated[tuple[CopyProgress, ...], Field(strict=False, max_length=PROGRESS_COPIES)] = ()


@dataclass(frozen=True)
class InstanceReport:
    """The last progress report of an instance."""

    at: float
    """Time of the report in seconds since 1970."""
    next_s: float
    """Seconds after which the instance was asked to report again."""
    client: str
    copies: tuple[CopyProgress, ...]


@dataclass(frozen=True)
class RestoringActive:
    """An active task that cannot run before its state is restored; `lag` and `whole` (its changelog) in offsets."""

    process_id: str
    label: str
    task: str
    lag: int
    whole: int


@dataclass(frozen=True)
class LiveProgress:
    """The progress that instances of an application have reported between two rebalances."""

    copies: tuple[CopyRow, ...]
    clients: int
    """Number of reporting instances."""
    heard_at: str | None
    """Time of the last report; null without reports."""


def find_restored_share(lag: float | None, whole: int) -> float | None:
    """Return the restored share of a copy, 0 to 1; None without a known lag, or for an empty changelog."""
    return None if lag is None or not whole else round(min(1.0, max(0.0, 1 - lag / whole)), 3)


def list_restoring_actives(recording: Recording, names: ClientNames) -> list[RestoringActive]:
    """Return the active tasks that still restore state after the recording's answer."""
    state, ranks = recording.snapshot, Ranks(recording.snapshot)
    found = []
    for client in recording.assignment.clients:
        if client.process_id not in state.kafka_streams_states:
            continue
        for task in client.active:
            if not (task in state.all_tasks and state.all_tasks[task].logged):
                continue
            lag = ranks.lag(task, client.process_id)
            if lag > 0:
                label, whole = names.title(client.process_id), state.full_lags.get(task, 0)
                found.append(RestoringActive(client.process_id, label, task, lag, whole))
    return found


def show_live(
    rows: Sequence[CopyRow],
    actives: Sequence[RestoringActive],
    clients: Iterable[KafkaStreamsState],
    heard: Iterable[InstanceReport],
    since: str,
    acceptable_lag: int,
    now: float,
) -> LiveProgress:
    """Return the awaited copies `rows` with the progress reported since the rebalance at `since`. `now`: seconds since 1970.

    Rows of restoring active tasks come first. Reports of unknown and of silent instances are ignored.
    """
    clients, began = tuple(clients), parse_time(since).timestamp()
    reported: dict[tuple[str, str], tuple[InstanceReport, int, int | None]] = {}
    restored: list[CopyRow] = []
    live: list[InstanceReport] = []
    for each in heard:
        found = find_clients(clients, each.client)
        if each.at < began or len(found) != 1 or _is_silent(each, acceptable_lag, now):
            continue
        live.append(each)
        process_id = found[0].process_id
        for copy in each.copies:
            if copy.role == "standby" and copy.task is not None:
                reported[process_id, copy.task] = each, copy.lag, copy.per_second
        restored += _list_restored(each, [active for active in actives if active.process_id == process_id], since)
    shown = [
        _apply_report(row, *reported[key], acceptable_lag) if (key := (row.process_id, row.task)) in reported else row
        for row in rows
    ]
    return LiveProgress(
        copies=(*sorted(restored, key=lambda row: (row.task, row.client)), *shown),
        clients=len(live),
        heard_at=format_utc(max(each.at for each in live)) if live else None,
    )


def _is_silent(heard: InstanceReport, acceptable_lag: int, now: float) -> bool:
    """Return whether a restoring instance has been silent longer than its limit, so that it may be gone."""
    is_restoring = any(copy.lag > acceptable_lag for copy in heard.copies)
    return is_restoring and now - heard.at > max(_PROGRESS_SILENT_S, 2 * heard.next_s)


def _apply_report(row: CopyRow, heard: InstanceReport, lag: int, per_second: int | None, acceptable_lag: int) -> CopyRow:
    caught_up = lag <= acceptable_lag
    return row.model_copy(
        update={
            "lag": lag,
            "rate": row.rate if not per_second else float(per_second),
            "progress_now": find_restored_share(lag, row.whole),
            "expected_end": _find_end(heard.at, lag, per_second) or row.expected_end,
            "heard_at": format_utc(heard.at),
            "why": "caught up: the next rebalance counts it" if caught_up else row.why,
        }
    )


def _list_restored(heard: InstanceReport, actives: Sequence[RestoringActive], since: str) -> list[CopyRow]:
    """Return rows for the active tasks that an instance restores, if the partition alone identifies the task."""
    rows = []
    partitions = {copy.partition for copy in heard.copies if copy.role == "active"}
    for partition in partitions:
        copies = [copy for copy in heard.copies if copy.role == "active" and copy.partition == partition]
        candidates = [active for active in actives if TaskId.parse(active.task).partition == partition]
        if len(candidates) != 1:
            continue
        (active,) = candidates
        lag, rate = sum(copy.lag for copy in copies), sum(copy.per_second or 0 for copy in copies)
        rows.append(
            CopyRow(
                task=active.task,
                client=active.label,
                process_id=active.process_id,
                role="active",
                lag=lag,
                whole=active.whole,
                progress=find_restored_share(active.lag, active.whole),
                progress_now=find_restored_share(lag, active.whole),
                restoring=True,
                rate=float(rate) if rate else None,
                expected_end=_find_end(heard.at, lag, rate),
                since=since,
                since_at_least=False,
                rebalances=1,
                why="its state is restored, and it does not run until that is done",
                heard_at=format_utc(heard.at),
            )
        )
    return rows


def _find_end(at: float, lag: int, per_second: int | None) -> str | None:
    if not per_second or lag / per_second > 10**9:
        return None
    return format_utc((datetime.fromtimestamp(at, UTC) + timedelta(seconds=lag / per_second)).timestamp())


class ProgressReports:
    """The last report of each instance; the instances that reported most recently are kept."""

    def __init__(self, read_seconds: Callable[[], float]) -> None:
        """Create an empty collection; `read_seconds` returns seconds since 1970."""
        self._read_seconds = read_seconds
        self._heard = Newest[tuple[str, str], InstanceReport](_PROGRESS_INSTANCES)

    def take(self, report: ProgressReport) -> float:
        """Keep a report, and return the seconds after which its instance should report again."""
        now, key = self._read_seconds(), (name_folder(report.application), report.client)
        busy = sum(now - each.at < _PROGRESS_BUSY_S for other, each in self._heard.items() if other != key)
        next_s = max(PROGRESS_EVERY_MS / 1000, busy * _PROGRESS_SHARE_S)
        self._heard[key] = InstanceReport(now, next_s, report.client, report.copies)
        return next_s

    def list(self, application: str) -> tuple[InstanceReport, ...]:
        """Return the reports of an application, given its name or the name of its folder."""
        names = {application, name_folder(application)}
        return tuple(each for (folder, _), each in self._heard.items() if folder in names)
