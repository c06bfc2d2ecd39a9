"""Metrics for Prometheus. Names from outside are labels for applications only, and those are limited in number."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from optassign.recordings.recording import RecordingHead, Summary
from optassign.service.holding.held import NOTHING, HoldingOutcome
from optassign.service.views.gauges import ApplicationGauges
from optassign_models.policy.service import BUCKETS

__all__ = ["Metrics"]


class _ReadCounter(Collector):
    """A counter whose value is kept elsewhere."""

    def __init__(self, name: str, about: str, value: Callable[[], float]) -> None:
        self._name, self._about, self._value = name, about, value

    def collect(self) -> Iterable[Metric]:
        """The counter with its value now."""
        yield CounterMetricFamily(self._name, self._about, value=self._value())


class Metrics:
    """All metrics of one service; docs/reference/metrics.md lists them."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, version: str, most_applications: int, read_seconds: Callable[[], float] = time.time) -> None:
        """read_seconds: seconds since 1970."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("optassign", "The service", registry=registry).info({"version": version})
        self.requests = Counter("optassign_requests", "Requests by page and status", ["endpoint", "status"], registry=registry)
        self.request_seconds = Histogram(
            "optassign_request_seconds",
            "From arrival to the last byte",
            ["endpoint"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.rebalances = Counter(
            "optassign_rebalances", "Answers by mode and by how they came about", ["mode", "outcome"], registry=registry
        )
        self.reports = Counter(
            "optassign_reports", "Reports of what was applied in place of the service's answer", ["mode"], registry=registry
        )
        self.solve_seconds = Histogram("optassign_solve_seconds", "Of the assignor", buckets=BUCKETS, registry=registry)
        self.queue_seconds = Histogram("optassign_queue_seconds", "Until a worker was free", buckets=BUCKETS, registry=registry)
        self.late = Counter("optassign_late_answers", "Answers sent after their deadline", registry=registry)
        self.recorded = Counter("optassign_recordings_written", "Recordings written", registry=registry)
        self.unrecorded = Counter("optassign_recordings_lost", "Rebalances that could not be recorded", registry=registry)
        self.recording = Gauge("optassign_recording", "1: recordings are written; 0: off, or not possible", registry=registry)
        self.recordings_bytes = Gauge("optassign_recordings_bytes", "Bytes of all recordings", registry=registry)
        self._of_applied = ApplicationGauges(registry, read_seconds)
        self._applied: OrderedDict[str, None] = OrderedDict()
        self._applications: OrderedDict[str, None] = OrderedDict()
        self._most_applications = most_applications
        about = {
            "tasks": "Tasks in the last snapshot",
            "clients": "Clients in the last snapshot",
            "moved_active_tasks": "Active tasks that the last answer moves",
            "restore_work_offsets": "Offsets that the last answer and its plan have to restore",
            "restore_work_gap_offsets": "Of these, offsets above the proven lower bound; NaN: no bound known",
            "warmups": "Warm-ups in the last answer",
            "waiting_copies": "Copies that the follow-up waits for",
            "followups_to_plan": "About how many follow-ups until the target is reached; NaN: none, or not known",
            "seconds_to_plan": "About how long that takes; NaN: none, or not known",
            "restore_rate_least_offsets_per_second": "Of the slowest client whose rate is known; NaN: of none",
            "restore_rate_median_offsets_per_second": "Of the median of these clients",
            "restore_rate_most_offsets_per_second": "Of the fastest of these clients",
            "stalled": "1: no warm-up makes progress",
            "balanced": "1: the last answer is balanced",
            "measuring_input": "1: rates of the input do not count as weights yet, as they were measured for too short a time",
            "paused": "1: the last answer held still, paused or in quiet hours",
            "draining_clients": "Clients that drain",
            "may_stop_clients": "Of these, clients that have nothing any more and may stop",
            "limits_not_kept": "Limits that the last answer or its plan does not keep",
        }
        self._of_last = {
            name: Gauge(f"optassign_application_{name}", text, ["application"], registry=registry)
            for name, text in about.items()
        }

    def add_gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a gauge; `value` is called whenever it is scraped."""
        Gauge(f"optassign_{name}", about, registry=self._registry).set_function(value)

    def add_counter(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a counter, whose name ends in `_total`; `value` is called whenever it is scraped."""
        self._registry.register(_ReadCounter(f"optassign_{name}", about, value))

    def count_rebalance(self, mode: str, summary: Summary | None) -> None:
        """Count an answer. summary: None if its worker died before it told."""
        self.rebalances.labels(mode, summary.reason if summary is not None and summary.why_greedy else "answered").inc()

    def show_last_answer(self, application: str | None, summary: Summary, holding: HoldingOutcome = NOTHING) -> None:
        """Show the last answer of an application; one not heard of the longest disappears, if there are too many."""
        if application is None:
            return
        self._applications[application] = None
        self._applications.move_to_end(application)
        while len(self._applications) > self._most_applications:
            gone, _ = self._applications.popitem(last=False)
            for gauge in self._of_last.values():
                gauge.remove(gone)
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
            "paused": holding.hold != "none",
            "draining_clients": holding.draining,
            "may_stop_clients": holding.may_stop,
            "limits_not_kept": holding.limits_not_kept,
        }
        for name, value in values.items():
            self._of_last[name].labels(application).set(float("nan") if value is None else value)

    def show_applied(self, head: RecordingHead) -> None:
        """Show what was applied in an application's last rebalance; as many applications as `show_last_answer` shows."""
        if head.application is None:
            return
        self._applied[head.application] = None
        self._applied.move_to_end(head.application)
        while len(self._applied) > self._most_applications:
            gone, _ = self._applied.popitem(last=False)
            self._of_applied.remove(gone)
        self._of_applied.show(head.application, head)

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus, of type `content_type`."""
        self._of_applied.refresh()
        return generate_latest(self._registry)
