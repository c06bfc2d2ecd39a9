"""Views of all applications, and of one application with its rebalances, awaited copies, instances and restore rates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, get_args

from optassign.formats.assignment import Waiting
from optassign.formats.base import parse_time
from optassign.formats.clients import KafkaStreamsState
from optassign.formats.input_errors import InputError
from optassign.measuring.balance import compute_shares
from optassign.measuring.client_names import ClientNames
from optassign.measuring.load import balances_load, measure_shown_loads
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks
from optassign.recordings.files import DAMAGED_RECORDINGS, name_folder
from optassign.recordings.recording import Recording
from optassign.service.clock import format_utc
from optassign.service.views.expectations import describe_awaited, describe_end, describe_followup
from optassign.service.views.index import Copy, Entry, RecordingIndex
from optassign.service.views.lists import (
    IN_TIMELINE,
    ROWS_ON_A_PAGE,
    make_application_row,
    make_rebalance_row,
    sort_applications,
)
from optassign.service.views.progress import (
    InstanceReport,
    RestoringActive,
    find_restored_share,
    list_restoring_actives,
    show_live,
)
from optassign.service.views.types import (
    ApplicationsView,
    ApplicationView,
    ClientRow,
    CopyRow,
    RateRow,
    RebalanceRow,
    Status,
    TaskHistory,
    TaskMove,
    Timeline,
)

__all__ = ["list_copies", "view_application", "view_applications"]

_LISTED_APPLICATIONS = 256  # most applications on a page: the bound keeps the making of a page below a second
_HISTORY_BYTES = 2_500_000
"""Most compressed bytes that a task's history reads; it always reads one recording. Large recordings take long to read."""
_WAITING_LOOKS_BACK = 30
"""Most recordings that are searched for the start of a copy's wait: the bound keeps the making of a page below a second."""
_WAITING_BYTES = 1_000_000  # most compressed bytes of these recordings


def list_copies(index: RecordingIndex, entry: Entry, recording: Recording, names: ClientNames) -> list[CopyRow]:
    """Return the copies that the follow-up waits for, restoring and longest awaited first; all warm-ups if there are none."""
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
        has_progress = not without_progress.get(known[:2], 0)
        rate = 1000 * row.offsets / row.ms / at_once[copy.process_id] if row is not None and copy.slot else None
        whole = state.full_lags.get(copy.task, 0)
        end = None
        if rate and has_progress and copy.lag is not None and copy.lag / rate < 10**9:
            end = format_utc((at + timedelta(seconds=copy.lag / rate)).timestamp())
        first, number, at_least = since[known]
        head = index.read_head(first)
        rows.append(
            CopyRow(
                task=copy.task,
                client=names.title(copy.process_id),
                process_id=copy.process_id,
                role=copy.role,
                lag=copy.lag,
                whole=whole,
                progress=find_restored_share(copy.lag, whole),
                restoring=copy.slot,
                rate=rate if has_progress else None,
                expected_end=end,
                since=recording.recorded_at if head is None else head.recorded_at,
                since_at_least=at_least,
                rebalances=number,
                why=_describe_wait(recording, copy, without_progress.get(known[:2], 0)),
            )
        )
    return sorted(rows, key=lambda row: (not row.restoring, -row.rebalances, row.task, row.client))


def _list_warmups(recording: Recording, names: ClientNames) -> list[CopyRow]:
    """Return the warm-ups of an answer that names no awaited copies, such as an answer of Kafka's assignors in shadow mode."""
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
                    client=names.title(client.process_id),
                    process_id=client.process_id,
                    role="warm-up",
                    lag=lag,
                    whole=whole,
                    progress=find_restored_share(lag, whole),
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


def _describe_wait(recording: Recording, copy: Waiting, without_progress: int) -> str:
    """Return why an awaited copy is not caught up yet; `without_progress`: rebalances since its last progress."""
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


def _measure_file(entry: Entry) -> int:
    """Return the bytes of a recording, or 0 if it has been deleted."""
    try:
        return entry.path.stat().st_size
    except OSError:
        return 0


def _find_since(index: RecordingIndex, entry: Entry, copies: set[Copy]) -> dict[Copy, tuple[Entry, int, bool]]:
    """Return copy → (oldest recording, number, whether older ones may exist) of the consecutive recordings, up to `entry`,
    that waited for the copy."""
    found = dict.fromkeys(copies, (entry, 1, False))
    left, size = set(copies), 0
    older = index.list_entries(entry.folder, before=f"{entry.day}/{entry.time}")
    for number, other in enumerate(older, start=2):
        size += _measure_file(other)
        if number == _WAITING_LOOKS_BACK or size > _WAITING_BYTES:
            found.update((copy, (*found[copy][:2], True)) for copy in left)
            break
        left &= index.read_waiting(other)
        if not left:
            break
        found.update((copy, (other, number, False)) for copy in left)
    return found


RequestsByApplication = Mapping[str, Mapping[str, Any]]


def view_applications(
    index: RecordingIndex | None,
    now: float,
    allowed: frozenset[str] | None,
    operator_requests: RequestsByApplication,
    status: Status | None = None,
    find: str = "",
) -> ApplicationsView:
    """Return the view of the applications that the token allows (`allowed`; None: all) at `now`, seconds since 1970.

    `operator_requests`: application → operators' requests. `status`: only applications with this status. `find`: only
    applications whose names contain this text, ignoring case.
    """
    if index is None:
        return ApplicationsView(
            recording=False, now=format_utc(now), counts=(), status=status, find=find, applications=(), more=0
        )
    folders = index.list_folders()
    if allowed is not None:
        known = {name_folder(name) for name in allowed}
        folders = [folder for folder in folders if folder in known]
    if len(folders) > _LISTED_APPLICATIONS:
        exact, part = name_folder(find), find.casefold()
        folders.sort(key=lambda folder: (folder != exact, part not in folder.casefold(), -index.find_last_day(folder), folder))
    known_rows = (make_application_row(index, folder, now, operator_requests) for folder in folders[:_LISTED_APPLICATIONS])
    rows = sort_applications([row for row in known_rows if row is not None])
    numbers = Counter(row.status.word for row in rows)
    asked = [row for row in rows if status in (None, row.status.word) and find.casefold() in (row.application or "").casefold()]
    return ApplicationsView(
        recording=True,
        now=format_utc(now),
        counts=tuple((word, numbers[word]) for word in get_args(Status) if numbers[word]),
        status=status,
        find=find,
        applications=tuple(asked),
        more=max(0, len(folders) - _LISTED_APPLICATIONS),
    )


def view_application(
    index: RecordingIndex,
    folder: str,
    now: float,
    before: str = "",
    task: str = "",
    operator_requests: RequestsByApplication | None = None,
    heard: tuple[InstanceReport, ...] = (),
) -> ApplicationView | None:
    """Return the view of one application, or None if none of its recordings is readable.

    `before`: lists only rebalances before this `day/time`. `task`: a task whose history to show. `operator_requests`:
    application → operators' requests. `heard`: progress that instances have reported between rebalances.
    """
    row = make_application_row(index, folder, now, operator_requests or {})
    if row is None:
        return None
    listed = index.read_heads(index.list_entries(folder, before=before, everywhere=True), ROWS_ON_A_PAGE + 1)
    newest = index.read_heads(index.list_entries(folder), IN_TIMELINE)
    inside = next(filter(None, (_read_details(index, entry) for entry, _ in newest[:DAMAGED_RECORDINGS])), _RecordingDetails())
    copies = [_extrapolate(copy, row.last_contact, now) for copy in inside.copies]
    live = show_live(copies, inside.actives, inside.clients, heard, row.last_contact, inside.acceptable_lag, now)
    end, end_remark = describe_end(row, format_utc(now))
    return ApplicationView(
        now=format_utc(now),
        row=row,
        end=end,
        end_remark=end_remark,
        followup=describe_followup(row),
        awaited=describe_awaited(row),
        copies=live.copies,
        more_copies=inside.more_copies,
        live=live.clients,
        heard_at=live.heard_at,
        holders=inside.holders,
        most_per_thread=max(
            (max(each.active + each.to_come, each.high or 0) / max(1, each.threads) for each in inside.holders), default=0.0
        ),
        more_holders=inside.more_holders,
        rates=inside.rates,
        rebalances=tuple(make_rebalance_row(*pair) for pair in listed[:ROWS_ON_A_PAGE]),
        older=_name_place(listed[ROWS_ON_A_PAGE - 1][0]) if len(listed) > ROWS_ON_A_PAGE else None,
        timeline=_make_timeline([make_rebalance_row(*pair) for pair in reversed(newest)]),
        task=_find_moves(index, folder, before, task) if task else None,
        zones=inside.zones,
        client_names=inside.client_names,
        unknown_drains=_find_unknown_drains((operator_requests or {}).get(row.application or "", {}), inside.called),
    )


def _extrapolate(copy: CopyRow, seen_at: str, now: float) -> CopyRow:
    """Return the copy with its progress extrapolated to `now`, seconds since 1970, since clients report lags only at
    rebalances."""
    if copy.progress is None or copy.lag is None or not copy.whole:
        return copy
    elapsed = max(0.0, now - parse_time(seen_at).timestamp())
    share = find_restored_share(copy.lag - (copy.rate or 0.0) * elapsed, copy.whole)
    return copy.model_copy(update={"progress_now": max(copy.progress, share or 0.0)})


def _find_moves(index: RecordingIndex, folder: str, before: str, task: str) -> TaskHistory:
    """Return the changes of a task's owner, the newest first, within `IN_TIMELINE` recordings and about `_HISTORY_BYTES`."""
    seen: list[tuple[Entry, tuple[str, ...]]] = []
    size = 0
    for entry in islice(index.list_entries(folder, before=before, everywhere=True), IN_TIMELINE):
        size += _measure_file(entry)
        if size > _HISTORY_BYTES and seen:
            break
        seen.append((entry, index.read_owners(entry, task)))
    moves = []
    for place, (entry, owners) in enumerate(seen):
        if place + 1 == len(seen) or seen[place + 1][1] != owners:
            head = index.read_head(entry)
            if head is not None:
                moves.append(TaskMove(id=entry.id, at=head.recorded_at, client=", ".join(owners)))
    return TaskHistory(task=task, moves=tuple(moves), looked_at=len(seen))


def _name_place(entry: Entry) -> str:
    return f"{entry.day}/{entry.time}"


@dataclass(frozen=True)
class _RecordingDetails:
    """The data of an application that only a whole recording has."""

    copies: tuple[CopyRow, ...] = ()
    more_copies: int = 0
    actives: tuple[RestoringActive, ...] = ()
    clients: tuple[KafkaStreamsState, ...] = ()
    acceptable_lag: int = 0
    holders: tuple[ClientRow, ...] = ()
    more_holders: int = 0
    rates: tuple[RateRow, ...] = ()
    zones: tuple[str, ...] = ()
    client_names: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    """Every process id, client id and host, each a name by which a client can be drained."""


def _read_details(index: RecordingIndex, entry: Entry) -> _RecordingDetails | None:
    """Return the data of a whole recording, which is read once; None if it is unreadable."""

    def look() -> _RecordingDetails | None:
        try:
            recording = index.read(entry)
        except InputError:
            return None
        clients, names = recording.snapshot.clients, ClientNames(recording.snapshot)
        copies = list_copies(index, entry, recording, names)
        tags = {f"{key}={value}" for client in clients for key, value in client.tags.items()}
        return _RecordingDetails(
            copies=tuple(copies[:ROWS_ON_A_PAGE]),
            more_copies=max(0, len(copies) - ROWS_ON_A_PAGE),
            actives=tuple(list_restoring_actives(recording, names)),
            clients=tuple(clients),
            acceptable_lag=recording.snapshot.configs.acceptable_recovery_lag,
            holders=tuple(_list_holders(recording, names)[:ROWS_ON_A_PAGE]),
            more_holders=max(0, len(clients) - ROWS_ON_A_PAGE),
            rates=tuple(_list_rates(recording, names)),
            zones=tuple(sorted(tags)[:IN_TIMELINE]),
            client_names=tuple(client.process_id for client in clients[:IN_TIMELINE]),
            called=frozenset(filter(None, (name for c in clients for name in (c.process_id, c.client_id, c.host)))),
        )

    return index.derive(entry, "application", look)


def _find_unknown_drains(requests: Mapping[str, Any], called: frozenset[str]) -> tuple[str, ...]:
    """Return the drained names that no client has, so that typing errors show at once; empty without a readable recording."""
    return tuple(drain["client"] for drain in requests.get("drains", ()) if called and drain["client"] not in called)


def _make_timeline(rows: Sequence[RebalanceRow]) -> Timeline:
    return Timeline(
        at=tuple(parse_time(row.at).timestamp() for row in rows),
        moved_active=tuple(row.moved_active for row in rows),
        restored=tuple(row.restored for row in rows),
        waiting=tuple(row.waiting for row in rows),
        clients=tuple(row.clients for row in rows),
        seconds=tuple(row.seconds for row in rows),
    )


def _list_holders(recording: Recording, names: ClientNames) -> list[ClientRow]:
    """Return every client, the greatest load first."""
    state, given = recording.snapshot, recording.assignment.by_process_id
    loads = measure_shown_loads(state, TaskPlacement.of(state, recording.assignment))
    waited_for = Counter(copy.process_id for copy in recording.assignment.report.waiting)
    planned = {client.process_id: client.active for client in recording.assignment.plan or recording.assignment.clients}
    shares = None if balances_load(state) else compute_shares(state).active
    rows = []
    for client in state.clients:
        answer = given.get(client.process_id)
        active, standby, warmup = ((), (), ()) if answer is None else (answer.active, answer.standby, answer.warmup)
        rows.append(
            ClientRow(
                client=names.title(client.process_id),
                process_id=client.process_id,
                threads=client.threads,
                draining=client.draining,
                active=len(active),
                low=None if shares is None else shares[client.process_id].low,
                high=None if shares is None else shares[client.process_id].high,
                to_come=len(set(planned.get(client.process_id, ())) - set(active)),
                to_go=len(set(active) - set(planned.get(client.process_id, ()))),
                load=loads[client.process_id],
                standbys=len(standby),
                warmups=len(warmup),
                state=sum(state.full_lags.get(task, 0) for task in (*active, *standby)),
                waited_for=waited_for[client.process_id],
            )
        )
    return sorted(rows, key=lambda row: (-row.load, -row.state, row.client))


def _list_rates(recording: Recording, names: ClientNames) -> list[RateRow]:
    """Return the known restore rates of clients, the slowest first; at most `IN_TIMELINE`."""
    report = recording.assignment.report
    restoring = Counter(copy.process_id for copy in report.waiting if copy.slot)
    rates = [] if report.pace is None else [row for row in report.pace.clients if row.ms and row.offsets]
    found = [
        RateRow(client=names.title(r.process_id), offsets_per_s=1000 * r.offsets / r.ms, restoring=restoring[r.process_id])
        for r in rates
    ]
    return sorted(found, key=lambda row: (row.offsets_per_s, row.client))[:IN_TIMELINE]
