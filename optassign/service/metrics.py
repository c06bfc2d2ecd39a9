"""Metrics for Prometheus. Names from requests appear only as labels of applications, and their number is limited."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from optassign.formats.base import parse_time
from optassign.recordings.recording import Clocks, RecordingHead, Summary
from optassign.service.http.refusals import RefusalReason
from optassign.service.operators.requested_options import NO_REQUESTS, RequestsOutcome
from optassign.service.settings import find_expiry
from optassign.service.views.lists import STOPPED_S, describe_status, has_ended
from optassign.service.views.types import Status

__all__ = ["Metrics"]

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds in seconds, from the smallest group to the greatest time limit in use."""


class _ReadCounter(Collector):
    """A counter whose value is stored elsewhere."""

    def __init__(self, name: str, about: str, value: Callable[[], float]) -> None:
        self._name, self._about, self._value = name, about, value

    def collect(self) -> Iterable[Metric]:
        """Yield the counter with its present value."""
        yield CounterMetricFamily(self._name, self._about, value=self._value())


class Metrics:
    """All metrics of one service; docs/reference/generated/service-metrics.md lists them."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self,
        version: str,
        most_applications: int,
        read_seconds: Callable[[], float] = time.time,
        describe_held: Callable[[str], Mapping[str, Any]] = lambda application: {},
    ) -> None:
        """Register all metrics. read_seconds: returns seconds since 1970. describe_held: returns an application's requests, as
        `OperatorRequests.describe`."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("optassign", "Version of the service", registry=registry).info({"version": version})
        self.requests = Counter("optassign_requests", "Requests by page and status", ["endpoint", "status"], registry=registry)
        self.request_seconds = Histogram(
            "optassign_request_seconds", "From arrival to the last byte sent", ["endpoint"], buckets=_BUCKETS, registry=registry
        )
        self.rebalances = Counter("optassign_rebalances", "Answers by mode and outcome", ["mode", "outcome"], registry=registry)
        self.reports = Counter(
            "optassign_reports", "Reports of answers applied in place of the service's", ["mode"], registry=registry
        )
        self.refused = Counter("optassign_refused", "Requests refused for now, by reason", ["reason"], registry=registry)
        for counter, labels in ((self.refused, get_args(RefusalReason)), (self.reports, ("active", "shadow"))):
            for label in labels:
                counter.labels(label)  # start at 0: Prometheus sees no increase of a series that begins with its first event
        self.solve_seconds = Histogram("optassign_solve_seconds", "Time of the assignor", buckets=_BUCKETS, registry=registry)
        self.queue_seconds = Histogram(
            "optassign_queue_seconds", "Time until a worker was free", buckets=_BUCKETS, registry=registry
        )
        self.late = Counter("optassign_late_answers", "Answers sent after their deadline", registry=registry)
        self.recorded = Counter("optassign_recordings_written", "Recordings written", registry=registry)
        self.unrecorded = Counter("optassign_recordings_lost", "Rebalances whose recording failed", registry=registry)
        self.recording = Gauge("optassign_recording", "1 if the service writes recordings, otherwise 0", registry=registry)
        self.recordings_bytes = Gauge("optassign_recordings_bytes", "Size of all recordings", registry=registry)
        self._read_seconds, self._describe_held = read_seconds, describe_held
        self._of_last = _ApplicationGauges(registry, _LAST, most_applications, read_seconds)
        self._of_applied = _AppliedGauges(registry, most_applications, read_seconds, describe_held)

    def add_gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a gauge; every scrape calls `value`."""
        Gauge(f"optassign_{name}", about, registry=self._registry).set_function(value)

    def show_expiry(self, files: Mapping[str, Path]) -> None:
        """Add the expiry times of certificates, labelled by file; every scrape reads the files."""
        about = "Time when the first certificate of a file expires, seconds since 1970; NaN: unreadable"
        gauge = Gauge("optassign_certificate_expires_timestamp_seconds", about, ["file"], registry=self._registry)
        for name, path in files.items():
            gauge.labels(name).set_function(partial(_find_expiry, path))

    def add_counter(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a counter, whose name ends in `_total`; every scrape calls `value`."""
        self._registry.register(_ReadCounter(f"optassign_{name}", about, value))

    def count_rebalance(self, mode: str, summary: Summary | None) -> None:
        """Count an answer. summary: None if its worker died before it sent the details."""
        self.rebalances.labels(mode, summary.reason if summary is not None and summary.why_greedy else "answered").inc()

    def show_last_answer(
        self, application: str | None, summary: Summary, requests_outcome: RequestsOutcome = NO_REQUESTS
    ) -> None:
        """Show the last answer of an application. Beyond `most_applications`, the application with the oldest answer is
        removed."""
        if application is None:
            return
        work, bound = summary.restore_work, summary.restore_work_bound
        values: dict[str, float | None] = {
            "tasks": summary.tasks,
            "clients": summary.clients,
            "moved_active_tasks": summary.moved_active,
            "restore_work_offsets": work,
            "restore_work_gap_offsets": None if work is None or bound is None else work - bound,
            "warmups": summary.warmups,
            "waiting_copies": summary.waiting,
            "followups_to_plan": summary.followups,
            "seconds_to_plan": None if summary.plan_ms is None else summary.plan_ms / 1000,
            "restore_rate_least_offsets_per_second": summary.restore_rate_least,
            "restore_rate_median_offsets_per_second": summary.restore_rate_median,
            "restore_rate_most_offsets_per_second": summary.restore_rate_most,
            "stalled": summary.stalled,
            "balanced": summary.balanced,
            "measuring_input": summary.rates_count_from is not None,
            "paused": requests_outcome.hold != "none",
            "draining_clients": requests_outcome.draining,
            "may_stop_clients": requests_outcome.may_stop,
            "limits_not_kept": requests_outcome.limits_not_kept,
        }
        self._of_last.show(application, values)

    def show_applied(self, head: RecordingHead) -> None:
        """Show the last applied answer of an application, for as many applications as `show_last_answer`."""
        if head.application is not None:
            self._of_applied.show_head(head.application, head)

    def remove(self, application: str) -> None:
        """Remove all metrics of an application until it rebalances again."""
        self._of_last.remove(application)
        self._of_applied.remove(application)

    def render(self) -> bytes:
        """Return all metrics in Prometheus's text format (`content_type`), without those of stopped applications."""
        for application in [*self._of_applied.refresh(), *self._list_stopped_unapplied()]:
            self.remove(application)
        return generate_latest(self._registry)

    def _list_stopped_unapplied(self) -> list[str]:
        """Return the applications without an applied answer, such as a broker's groups, that have ended or been silent for a
        day."""
        now = self._read_seconds()
        return [
            application
            for application, at in self._of_last.shown.items()
            if application not in self._of_applied.shown
            and (now - at > STOPPED_S or has_ended(self._describe_held(application), now))
        ]


_STATUS: tuple[Status, ...] = get_args(Status)
_LAST = {
    "tasks": "Tasks in the last snapshot",
    "clients": "Clients in the last snapshot",
    "moved_active_tasks": "Active tasks that the last answer migrates",
    "restore_work_offsets": "Offsets that the last answer and its target have to restore",
    "restore_work_gap_offsets": "Offsets to restore above the proven lower bound; NaN: unknown",
    "warmups": "Warm-ups in the last answer",
    "waiting_copies": "Copies that the follow-up waits for",
    "followups_to_plan": "Expected number of follow-ups until the target; NaN: none, or unknown",
    "seconds_to_plan": "Expected time until the target; NaN: none, or unknown",
    "restore_rate_least_offsets_per_second": "Restore rate of the slowest client; NaN: unknown",
    "restore_rate_median_offsets_per_second": "Median restore rate of clients; NaN: unknown",
    "restore_rate_most_offsets_per_second": "Restore rate of the fastest client; NaN: unknown",
    "stalled": "1 if no warm-up makes progress, otherwise 0",
    "balanced": "1 if the last answer is balanced, otherwise 0",
    "measuring_input": "1 while input rates are measured for too short a time to count as weights, otherwise 0",
    "paused": "1 if a pause or quiet hours kept the last answer from moving tasks, otherwise 0",
    "draining_clients": "Clients that drain",
    "may_stop_clients": "Draining clients without tasks, which may stop",
    "limits_not_kept": "Limits that the last answer or its target does not keep",
}
"""Gauge of the last answer → its meaning."""
_APPLIED = {
    "last_rebalance_timestamp_seconds": "Time of the last rebalance, seconds since 1970",
    "followup_timestamp_seconds": "Time of the next follow-up; NaN: none",
    "expected_end_timestamp_seconds": "Expected time of reaching the target; NaN: reached, or unknown",
    "settling_since_timestamp_seconds": "Start of the present sequence of follow-ups; NaN: none",
    "progress_timestamp_seconds": "Last progress of the copies that the follow-up waits for; NaN: none",
    "settling_estimate_seconds": "First estimate of the duration of the follow-ups; NaN: unknown",
    "gap_ratio": "Offsets to restore above the proven bound, as a share of the bound; NaN: unknown",
    "load_least": "Least load of a client per thread and capacity, in even spreads if load is balanced; NaN: unknown",
    "load_most": "Greatest load of a client, in the same unit; NaN: unknown",
    "standbys_wanted": "Standbys that all logged tasks should have; NaN: unknown",
    "standbys_caught_up": "Standbys of the last answer that are caught up; NaN: unknown",
    "rebalance_seconds": "Time from the last request to its answer; NaN: another assignor answered",
}
"""Gauge of the last applied answer → its meaning."""


class _ApplicationGauges:
    """Gauges with a value for each of the `most` most recently shown applications."""

    def __init__(
        self, registry: CollectorRegistry, about: Mapping[str, str], most: int, read_seconds: Callable[[], float]
    ) -> None:
        """Register the gauges. about: gauge → its meaning. most: the greatest number of applications."""
        self._gauges = {
            name: Gauge(f"optassign_application_{name}", text, ["application"], registry=registry)
            for name, text in about.items()
        }
        self.shown: OrderedDict[str, float] = OrderedDict()
        """Application → when it was shown last, seconds since 1970; the least recently shown first."""
        self._most, self._read_seconds = most, read_seconds

    def show(self, application: str, values: Mapping[str, float | None]) -> None:
        """Show the values of an application, None as NaN. Beyond `most`, the least recently shown application is removed."""
        self.shown[application] = self._read_seconds()
        self.shown.move_to_end(application)
        while len(self.shown) > self._most:
            self.remove(next(iter(self.shown)))
        for name, value in values.items():
            self._gauges[name].labels(application).set(math.nan if value is None else value)

    def remove(self, application: str) -> None:
        """Remove an application, if it is shown."""
        if application in self.shown:
            del self.shown[application]
            for gauge in self._gauges.values():
                gauge.remove(application)


class _AppliedGauges(_ApplicationGauges):
    """Gauges of the last applied answers, with the status of each application at the time of a scrape."""

    def __init__(
        self,
        registry: CollectorRegistry,
        most: int,
        read_seconds: Callable[[], float],
        describe_held: Callable[[str], Mapping[str, Any]],
    ) -> None:
        """Register the gauges. read_seconds, describe_held: as for `Metrics`."""
        super().__init__(registry, _APPLIED, most, read_seconds)
        self._describe_held = describe_held
        self._heads: dict[str, RecordingHead] = {}
        about = "1 for the application's present status, 0 for the others"
        self._status = Gauge("optassign_application_status", about, ["application", "status"], registry=registry)

    def show_head(self, application: str, head: RecordingHead) -> None:
        """Show the newest applied rebalance of an application."""
        self._heads[application] = head
        self._show_status(application, head)
        self.show(application, _find_values(head))

    def refresh(self) -> list[str]:
        """Renew each application's status, and return the applications that have stopped."""
        return [application for application, head in self._heads.items() if self._show_status(application, head) == "stopped"]

    def _show_status(self, application: str, head: RecordingHead) -> Status:
        word = describe_status(head, self._read_seconds(), self._describe_held(application)).word
        for other in _STATUS:
            self._status.labels(application, other).set(other == word)
        return word

    def remove(self, application: str) -> None:
        """Remove an application and its status, if it is shown."""
        super().remove(application)
        if self._heads.pop(application, None) is not None:
            for word in _STATUS:
                self._status.remove(application, word)


def _find_values(head: RecordingHead) -> Mapping[str, float | None]:
    summary, overview, at = head.summary, head.overview, parse_time(head.recorded_at).timestamp()
    clocks, plan = head.clocks or Clocks(), None if summary.plan_ms is None else summary.plan_ms / 1000
    work, bound = summary.restore_work, summary.restore_work_bound
    gap = None if work is None or bound is None else max(0, work - bound)
    estimate = clocks.settling_estimate_ms
    return {
        "last_rebalance_timestamp_seconds": at,
        "followup_timestamp_seconds": None
        if summary.followup_ms is None or not head.runs_followups
        else at + summary.followup_ms / 1000,
        "expected_end_timestamp_seconds": None if plan is None else at + plan,
        "settling_since_timestamp_seconds": _to_seconds(clocks.settling_since),
        "progress_timestamp_seconds": _to_seconds(clocks.progress_at),
        "settling_estimate_seconds": None if estimate is None else estimate / 1000,
        "gap_ratio": None if gap is None or bound is None else gap / max(1, bound),
        "load_least": None if overview is None else overview.load_least,
        "load_most": None if overview is None else overview.load_most,
        "standbys_wanted": None if overview is None else overview.standbys_wanted,
        "standbys_caught_up": None if overview is None else overview.standbys_caught_up,
        "rebalance_seconds": head.seconds,
    }


def _find_expiry(path: Path) -> float:
    expiry = find_expiry(path)
    return math.nan if expiry is None else expiry


def _to_seconds(time: str | None) -> float | None:
    return None if time is None else parse_time(time).timestamp()
