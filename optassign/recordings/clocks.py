"""The clocks of an application: since when it moves towards its target, and when a copy last made progress.

Each recording continues the clocks of the previous recording. So pages, command line and metrics show the same times, also
after a restart of the service.
"""

from datetime import timedelta

from optassign.formats.base import parse_time, to_ms
from optassign.measuring.outlook import AT_REST
from optassign.recordings.recording import Clocks, RecordingHead

STUCK_S = 600.0
"""Seconds without progress of any awaited copy after which an application is stuck: a slow disk needs less."""


def is_settling(head: RecordingHead) -> bool:
    """Return whether the target is not reached: stalled, or with a follow-up for more than operators or quiet hours."""
    summary = head.summary
    return summary.stalled or (summary.followup_ms is not None and summary.awaited not in AT_REST)


def advance_clocks(before: Clocks | None, head: RecordingHead) -> Clocks:
    """Return the clocks of an application after a rebalance.

    Args:
        before: the clocks after the previous rebalance; None if unknown.
        head: the head of the rebalance's recording; its own clocks are not read.
    """
    summary, overview, at = head.summary, head.overview, head.recorded_at
    clocks = before or Clocks()
    settling, estimate, progress = clocks.settling_since, clocks.settling_estimate_ms, clocks.progress_at
    # After the service's clock was ahead, times may lie in the future.
    settling, progress = (None if time is None else min(time, at, key=to_ms) for time in (settling, progress))
    changed = overview is not None and bool(overview.joined or overview.left)
    if not is_settling(head):
        settling = estimate = None
    elif settling is None or changed:
        settling, estimate = at, None
    if settling is not None and estimate is None and summary.plan_ms is not None:
        estimate = max(0, to_ms(at) - to_ms(settling)) + summary.plan_ms
    if not (summary.waiting or summary.warmups):  # Kafka's own assignor does not report the copies that it waits for
        progress = None
    elif progress is None or (not summary.looks and not summary.stalled):
        progress = at
    return Clocks(settling_since=settling, settling_estimate_ms=estimate, progress_at=progress)


def is_stuck(head: RecordingHead) -> bool:
    """Return whether no awaited copy has made progress for `STUCK_S`, or the answer is stalled (R11)."""
    since = None if head.clocks is None else head.clocks.progress_at
    if head.summary.stalled or since is None:
        return head.summary.stalled
    return parse_time(head.recorded_at) - parse_time(since) >= timedelta(seconds=STUCK_S)
