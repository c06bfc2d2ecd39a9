"""Lists of rebalances and applications from the heads of recordings: status, follow-ups and loads."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from optassign.formats.base import parse_time
from optassign.measuring.outlook import AWAITED
from optassign.recordings.clocks import is_settling, is_stuck
from optassign.recordings.recording import TRIGGERS, RecordingHead
from optassign.service.clock import format_utc
from optassign.service.views.index import Entry, RecordingIndex
from optassign.service.views.types import ApplicationRow, Decider, RebalanceRow, Status, StatusView, Trend

__all__ = [
    "describe_status",
    "find_decider",
    "find_overdue_since",
    "find_status",
    "make_application_row",
    "make_rebalance_row",
    "sort_applications",
]

ROWS_ON_A_PAGE = 50
"""The number of rebalances, copies or holders on a page. A page stays small."""
IN_TIMELINE = 200
"""The number of rebalances in a timeline, of names in a list and of moves on a page. A reader cannot distinguish more."""

_OVERDUE_FOLLOWUP_S = 120.0  # seconds for which a follow-up may be late before pages report it: a rebalance takes some of them
_SILENCE_S = 86400.0
"""Seconds of silence, without a due follow-up, until an application's status is unknown: deployments make most groups
rebalance daily."""
STOPPED_S = 86400.0
"""Seconds after a missed rebalance until an unknown application counts as stopped: operators ignore an endless alert."""
_STATUS_LOOKS_BACK = 50  # recordings that are searched for the start of a status: a page is made within a second

_PLANNERS = ("fallback", "planner")
"""The plug-in's names for itself as the decider."""
_ABOUT: dict[Status, str] = {
    "at rest": "every copy is where it should be",
    "not balanced": "nothing moves, and tasks are not balanced",
    "warming up": "copies are being restored; tasks move once they have caught up",
    "waiting": "a follow-up is asked for, and no copy has a warm-up slot",
    "stuck": "no copy that is waited for comes nearer",
    "draining": "clients that are about to leave still run tasks",
    "paused": "nothing moves but what the rules force",
    "fallback": "the last answer was not the assignor's",
    "unknown": "its instances have gone, run under another assignor, or do not reach this service",
    "stopped": "it has been silent for more than a day, so no alert waits for it",
}
_MEASURING = "every copy is where it should be by numbers of tasks; the follow-up weighs them by what they read"
_RESUMED = "it is resumed, and tasks move again from its next rebalance on"


def find_status(head: RecordingHead) -> Status:
    """Return the application's status after this rebalance; paused, stuck and fallback precede the others, in this order."""
    summary, overview = head.summary, head.overview
    if summary.hold != "none":
        return "paused"
    if is_stuck(head):
        return "stuck"
    if head.mode == "active" and _why_fallback(head):
        return "fallback"
    if overview is not None and overview.draining:
        return "draining"
    if summary.warmups:
        return "warming up"
    if is_settling(head):
        return "waiting"
    return "at rest" if summary.balanced else "not balanced"


def find_overdue_since(head: RecordingHead, now: datetime) -> datetime | None:
    """Return the time at which the application's missed rebalance was due, or None if no rebalance is late.

    By default a stable group asks for follow-ups too, so that silence means a failure.
    """
    at, delay = parse_time(head.recorded_at), head.summary.followup_ms if head.runs_followups else None
    due = at + timedelta(seconds=_SILENCE_S) if delay is None else at + timedelta(milliseconds=min(delay, 10**13))
    late = now > due if delay is None else now > due + timedelta(seconds=_OVERDUE_FOLLOWUP_S)
    return due if late else None


def has_ended(requests: Mapping[str, Any], now: float) -> bool:
    """Return whether an operator's expected end of the application is past. Arguments as for `describe_status`."""
    ended = requests.get("ended")
    return ended is not None and parse_time(ended["expected_at"]).timestamp() <= now


def describe_status(head: RecordingHead, now: float, requests: Mapping[str, Any]) -> StatusView:
    """Return the status of an application at `now`, seconds since 1970, from its last rebalance and operators' requests.

    Pages, command line and metrics all show this status.

    Args:
        requests: operators' requests in the form of `OperatorRequests.describe`; empty if there are none.
    """
    ended, paused = requests.get("ended"), requests.get("paused")
    silent_since = find_overdue_since(head, datetime.fromtimestamp(now, UTC))
    word = find_status(head)
    if ended is not None and has_ended(requests, now):
        return StatusView(word="stopped", about=f"as {ended['by']} said", since=ended["expected_at"], since_at_least=False)
    if silent_since is not None:
        since = format_utc(silent_since.timestamp())
        asks = head.summary.followup_ms is not None and head.runs_followups
        word = "stopped" if asks and now - silent_since.timestamp() > STOPPED_S else "unknown"
        return StatusView(word=word, about=_ABOUT[word], since=since, since_at_least=False)
    if paused is not None and word not in ("fallback", "stuck"):
        about = f"by {paused['by']}: {_ABOUT['paused']}"
        return StatusView(word="paused", about=about, since=paused["at"], since_at_least=False)
    drains = [drain for drain in requests.get("drains", ()) if drain["state"] in ("waiting", "draining")]
    if drains and word in ("not balanced", "waiting", "warming up", "at rest"):
        first = min(drains, key=lambda drain: str(drain["at"]))
        about = f"{_ABOUT['draining']}, as {first['by']} asked"
        return StatusView(word="draining", about=about, since=first["at"], since_at_least=False)
    if word == "paused" and head.summary.hold == "paused":  # an operator has resumed since: ended pauses are not listed
        return StatusView(word="waiting", about=_RESUMED, since=head.recorded_at, since_at_least=True)
    stuck_since = None if head.clocks is None or word != "stuck" else head.clocks.progress_at
    since = stuck_since or head.recorded_at
    return StatusView(word=word, about=_describe_status(word, head), since=since, since_at_least=stuck_since is None)


def find_decider(head: RecordingHead) -> Decider:
    """Return the component that decided the rebalance."""
    if not head.reported:
        return "optassign"
    return "fallback" if head.mode == "active" or head.assignor in _PLANNERS else "Kafka"


def make_application_row(
    index: RecordingIndex, folder: str, now: float, operator_requests: Mapping[str, Mapping[str, Any]]
) -> ApplicationRow | None:
    """Return the row of an application from its last recordings, at `now` in seconds since 1970; None if none is readable."""
    entries = index.list_entries(folder)
    first = index.read_heads(entries, 1)
    if not first:
        return None
    (entry, head), summary, overview = first[0], first[0][1].summary, first[0][1].overview
    status = describe_status(head, now, operator_requests.get(head.application or "", {}))
    if status.since_at_least and status.about != _RESUMED:
        status = status.model_copy(update=_find_since(index, entries, status.word, head.recorded_at))
    at = parse_time(head.recorded_at)
    due = None if summary.followup_ms is None else at + timedelta(milliseconds=min(summary.followup_ms, 10**13))
    is_silent = find_overdue_since(head, datetime.fromtimestamp(now, UTC)) is not None
    return ApplicationRow(
        folder=folder,
        application=head.application,
        status=status,
        tasks=summary.tasks,
        clients=summary.clients,
        next_followup=None if due is None else format_utc(due.timestamp()),
        last_contact=head.recorded_at,
        decided_by=find_decider(head),
        overdue=is_silent and due is not None and status.word != "stopped",
        awaited="" if summary.awaited is None else AWAITED[summary.awaited],
        waiting=summary.waiting,
        waits_on=() if overview is None else overview.waits_on,
        expected_end=_find_expected_end(at, summary.plan_ms),
        load_least=None if overview is None else overview.load_least,
        load_most=None if overview is None else overview.load_most,
        load_unit="weight per thread" if overview is None else overview.load_unit,
        standbys_wanted=None if overview is None else overview.standbys_wanted,
        standbys_caught_up=None if overview is None else overview.standbys_caught_up,
        balanced=summary.balanced,
        imbalance=summary.imbalance,
        rates_count_from=summary.rates_count_from,
        trend=_make_trend([head for _, head in reversed(index.read_heads(index.list_entries(folder), ROWS_ON_A_PAGE))]),
        last=make_rebalance_row(entry, head),
    )


def _make_trend(heads: Sequence[RecordingHead]) -> Trend:
    return Trend(
        load_most=tuple(None if head.overview is None else head.overview.load_most for head in heads),
        to_restore=tuple(head.summary.restore_work for head in heads),
        seconds_to_balance=tuple(_find_seconds_to_balance(head) for head in heads),
    )


def _find_seconds_to_balance(head: RecordingHead) -> float | None:
    if head.summary.plan_ms is None:
        return 0.0 if find_status(head) == "at rest" else None
    return head.summary.plan_ms / 1000


def _find_since(index: RecordingIndex, entries: Iterator[Entry], word: Status, since: str) -> Mapping[str, Any]:
    """Return `since` and `since_at_least` of the present status `word`, from the recordings `entries`, the newest first."""
    for number, older in enumerate(entries):
        known = index.read_head(older) if number < _STATUS_LOOKS_BACK else None
        if number >= _STATUS_LOOKS_BACK:
            break
        if known is not None and find_status(known) != word:
            return {"since": since, "since_at_least": False}
        since = since if known is None else known.recorded_at
    return {"since": since, "since_at_least": True}


def make_rebalance_row(entry: Entry, head: RecordingHead) -> RebalanceRow:
    """Return the row of a rebalance in a list."""
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
        rebalance=head.rebalance or "",
        trigger="" if overview is None or overview.trigger is None else TRIGGERS[overview.trigger],
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
    """Return the applications sorted by the order of `Status`, then by name."""
    order: tuple[Status, ...] = get_args(Status)
    return sorted(rows, key=lambda row: (order.index(row.status.word), row.folder))


def _describe_status(word: Status, head: RecordingHead) -> str:
    summary = head.summary
    if word == "fallback":
        return _why_fallback(head)
    if word == "waiting" and summary.balanced and not summary.waiting and summary.rates_count_from is not None:
        return _MEASURING
    if word == "waiting" and summary.awaited == "moves":
        return f"waits for {AWAITED['moves']}"
    if word == "paused" and summary.hold == "quiet_hours":
        return f"quiet hours: {_ABOUT[word]}"
    return _ABOUT[word]


def _why_fallback(head: RecordingHead) -> str:
    """Return why a fallback answered in place of the assignor; empty if none did."""
    if head.mode == "active" and head.reported:
        return head.why or "the plug-in's fallback answered"
    return "" if head.reported else head.summary.why_greedy


def _find_expected_end(at: datetime, plan_ms: int | None) -> str | None:
    if plan_ms is None or plan_ms > 10**13:
        return None
    return format_utc((at + timedelta(milliseconds=plan_ms)).timestamp())
