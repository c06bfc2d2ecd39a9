"""Rebalances and applications in lists, from the heads of recordings alone: status words, follow-ups, loads."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from optassign.formats.base import parse_time
from optassign.recordings.recording import RecordingHead
from optassign.service.clock import format_utc
from optassign.service.views.index import Entry, RecordingIndex
from optassign.service.views.types import ApplicationRow, RebalanceRow, Status, StatusView

__all__ = ["find_status", "make_application_row", "make_rebalance_row"]

_LOOKED_BACK = 200
"""Recordings, in search of when a status began."""
_OVERDUE = timedelta(minutes=2)
"""After which a follow-up that has not come is told."""
_ABOUT: dict[Status, str] = {
    "at rest": "everything is where it shall be",
    "warming up": "copies are being restored; tasks move once they have caught up",
    "waiting": "a follow-up is asked for, and no copy has a warm-up slot",
    "stalled": "not at the plan, and no warm-up makes progress",
    "draining": "clients that are about to leave still run tasks",
    "paused": "the operator has paused it",
    "fallback": "the last answer was not the assignor's",
}
_MEASURING = "everything is where it shall be by numbers of tasks; the follow-up weighs them by what they read"


def find_status(head: RecordingHead) -> Status:
    """How the application is after this rebalance. What needs somebody's look comes first."""
    summary, overview = head.summary, head.overview
    if head.mode == "active" and _why_fallback(head):
        return "fallback"
    if summary.stalled:
        return "stalled"
    if overview is not None and overview.draining:
        return "draining"
    if summary.warmups:
        return "warming up"
    return "waiting" if summary.followup_ms is not None else "at rest"


def make_application_row(
    index: RecordingIndex, folder: str, now: float, holds: Mapping[str, Mapping[str, Any]]
) -> ApplicationRow | None:
    """An application as its last recordings show it at `now`, seconds since 1970; None if none can be read."""
    entries = index.list_entries(folder)
    first = index.read_heads(entries, 1)
    if not first:
        return None
    (entry, head), summary, overview = first[0], first[0][1].summary, first[0][1].overview
    word, since, at_least = find_status(head), head.recorded_at, True
    for number, older in enumerate(entries):
        known = index.read_head(older) if number < _LOOKED_BACK else None
        if number >= _LOOKED_BACK:
            break
        if known is not None and find_status(known) != word:
            at_least = False
            break
        since = since if known is None else known.recorded_at
    at = parse_time(head.recorded_at)
    due = None if summary.followup_ms is None else at + timedelta(milliseconds=min(summary.followup_ms, 10**13))
    overdue = due is not None and datetime.fromtimestamp(now, UTC) > due + _OVERDUE
    about = _why_fallback(head) if word == "fallback" else _ABOUT[word]
    if word == "waiting" and summary.balanced and not summary.waiting and summary.rates_count_from is not None:
        about = _MEASURING
    status = StatusView(word=word, about=about, since=since, since_at_least=at_least)
    paused = holds.get(head.application or "", {}).get("paused")
    if paused is not None and word != "fallback":
        about = f"by {paused['by']}: nothing moves that need not"
        status = StatusView(word="paused", about=about, since=paused["at"], since_at_least=False)
    return ApplicationRow(
        folder=folder,
        application=head.application,
        status=status,
        tasks=summary.tasks,
        clients=summary.clients,
        next_followup=None if due is None else format_utc(due.timestamp()),
        overdue=overdue,
        waiting=summary.waiting,
        waits_on=() if overview is None else overview.waits_on,
        expected_end=_find_expected_end(at, summary.plan_ms),
        load_least=None if overview is None else overview.load_least,
        load_most=None if overview is None else overview.load_most,
        load_unit="weight per thread" if overview is None else overview.load_unit,
        standbys_wanted=None if overview is None else overview.standbys_wanted,
        standbys_caught_up=None if overview is None else overview.standbys_caught_up,
        balanced=summary.balanced,
        rates_count_from=summary.rates_count_from,
        last=make_rebalance_row(entry, head),
    )


def make_rebalance_row(entry: Entry, head: RecordingHead) -> RebalanceRow:
    """A rebalance in a list."""
    summary, overview = head.summary, head.overview
    work, bound = summary.restore_work, summary.restore_work_bound
    gap = None if work is None or bound is None else max(0, work - bound)
    return RebalanceRow(
        id=entry.id,
        at=head.recorded_at,
        status=find_status(head),
        mode=head.mode,
        answered_by=head.assignor,
        fallback=_why_fallback(head),
        seconds=head.seconds,
        joined=None if overview is None else overview.joined,
        joined_clients=() if overview is None else overview.joined_clients,
        left=None if overview is None else overview.left,
        left_clients=() if overview is None else overview.left_clients,
        tasks=summary.tasks,
        clients=summary.clients,
        moved_active=summary.moved_active,
        restore_work=work,
        restore_work_bound=bound,
        proven=gap == 0,
        gap=gap,
        restored=summary.restored,
        warmups=summary.warmups,
        waiting=summary.waiting,
        followup_ms=summary.followup_ms,
        plan_ms=summary.plan_ms,
        balanced=summary.balanced,
    )


def sort_applications(rows: Sequence[ApplicationRow]) -> list[ApplicationRow]:
    """What needs somebody's look first, then by name."""
    order: list[Status] = ["fallback", "stalled", "paused", "draining", "waiting", "warming up", "at rest"]
    return sorted(rows, key=lambda row: (order.index(row.status.word), row.folder))


def _why_fallback(head: RecordingHead) -> str:
    """Why the applied answer is not the assignor's own; empty where it is."""
    if head.mode == "active" and head.reported:
        return head.why or "the plug-in's fallback answered"
    return "" if head.fallback is None else head.fallback.detail or head.fallback.reason


def _find_expected_end(at: datetime, plan_ms: int | None) -> str | None:
    if plan_ms is None or plan_ms > 10**13:
        return None
    return format_utc((at + timedelta(milliseconds=plan_ms)).timestamp())
