"""Gauges of applications for Prometheus, in addition to their last answer's numbers: status, times, loads, standbys."""

import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge

from optassign.formats.base import parse_time
from optassign.recordings.recording import RecordingHead
from optassign.service.views.lists import find_silence, find_status
from optassign.service.views.types import Status

__all__ = ["ApplicationGauges"]

_STATUS: tuple[Status, ...] = get_args(Status)
_ABOUT = {
    "last_rebalance_timestamp_seconds": "When the last rebalance was, seconds since 1970",
    "followup_timestamp_seconds": "When the next follow-up is due; NaN: none",
    "expected_end_timestamp_seconds": "When the plan is likely to be reached; NaN: it is, or that is not known",
    "settling_since_timestamp_seconds": "Since when follow-ups are asked for, one after the other; NaN: none is",
    "settling_estimate_seconds": "How long that was likely to take when it began; NaN: not known",
    "gap_ratio": "Offsets to restore above the proven bound, as a share of the bound; NaN: no bound known",
    "load_least": "Least load of a client per thread and capacity; in even spreads where load is balanced; NaN: not recorded",
    "load_most": "Greatest load of a client, likewise; NaN: nothing is recorded",
    "standbys_wanted": "Standbys of all logged tasks; NaN: nothing is recorded",
    "standbys_caught_up": "Of those, in the last answer, that are caught up; NaN: nothing is recorded",
    "rebalance_seconds": "From the arrival of the last request to its answer; NaN: another answered",
}


class ApplicationGauges:
    """One value of each for every application, of what was applied last."""

    def __init__(self, registry: CollectorRegistry, read_seconds: Callable[[], float] = time.time) -> None:
        """read_seconds: seconds since 1970."""
        self._read_seconds = read_seconds
        self._heads: dict[str, RecordingHead] = {}
        self._gauges = {
            name: Gauge(f"optassign_application_{name}", about, ["application"], registry=registry)
            for name, about in _ABOUT.items()
        }
        about = "1 for the word that says how the application is, 0 for the others"
        self._status = Gauge("optassign_application_status", about, ["application", "status"], registry=registry)
        self._settling: dict[str, tuple[float, float]] = {}
        """Application -> since when, and how long it was likely to take, seconds."""

    def show(self, application: str, head: RecordingHead) -> None:
        """Show a rebalance, which is newer than those before it."""
        self._heads[application] = head
        self._show_status(application, head)
        for name, value in self._find_values(application, head).items():
            self._gauges[name].labels(application).set(math.nan if value is None else value)

    def refresh(self) -> None:
        """Show which applications should have been heard of by now: their status is not known any more."""
        for application, head in self._heads.items():
            self._show_status(application, head)

    def _show_status(self, application: str, head: RecordingHead) -> None:
        silent_since = find_silence(head, datetime.fromtimestamp(self._read_seconds(), UTC))
        word: Status = find_status(head) if silent_since is None else "unknown"
        for other in _STATUS:
            self._status.labels(application, other).set(other == word)

    def remove(self, application: str) -> None:
        """Forget an application."""
        self._heads.pop(application, None)
        self._settling.pop(application, None)
        for gauge in self._gauges.values():
            gauge.remove(application)
        for word in _STATUS:
            self._status.remove(application, word)

    def _find_values(self, application: str, head: RecordingHead) -> Mapping[str, float | None]:
        summary, overview, at = head.summary, head.overview, parse_time(head.recorded_at).timestamp()
        plan = None if summary.plan_ms is None else summary.plan_ms / 1000
        if summary.followup_ms is None or summary.awaited in ("operators", "quiet hours"):
            self._settling.pop(application, None)
        elif application not in self._settling or (overview is not None and (overview.joined or overview.left)):
            self._settling[application] = (at, math.nan if plan is None else plan)
        since, estimate = self._settling.get(application, (None, None))
        work, bound = summary.restore_work, summary.restore_work_bound
        gap = None if work is None or bound is None else max(0, work - bound)
        return {
            "last_rebalance_timestamp_seconds": at,
            "followup_timestamp_seconds": None
            if summary.followup_ms is None or not head.runs_followups
            else at + summary.followup_ms / 1000,
            "expected_end_timestamp_seconds": None if plan is None else at + plan,
            "settling_since_timestamp_seconds": since,
            "settling_estimate_seconds": estimate,
            "gap_ratio": None if gap is None or bound is None else gap / max(1, bound),
            "load_least": None if overview is None else overview.load_least,
            "load_most": None if overview is None else overview.load_most,
            "standbys_wanted": None if overview is None else overview.standbys_wanted,
            "standbys_caught_up": None if overview is None else overview.standbys_caught_up,
            "rebalance_seconds": head.seconds,
        }
