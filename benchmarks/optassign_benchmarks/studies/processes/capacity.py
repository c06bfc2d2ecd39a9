"""The rebalances per minute that two workers answer, by size, and a soak with fifty applications at a lower rate.

In the soak one application restores nothing, one is paused, one has been forgotten, and the service restarts in the middle.
"""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy
from optassign_benchmarks.soak.recorded_folder import FIFTY_SPECS
from optassign_benchmarks.soak.samples import MIB, read_memory

_WORKERS = 2
_SIZES = (16, 50, 100, 200, 500, 1_000, 2_000)
"""Tasks of the applications whose capacity is measured, with ten tasks on each instance."""
_TIMEOUT_MS = 2_000
"""The plug-in's default of `optassign.timeout.ms`."""
_VARIANTS = 6
"""Snapshots of an application that are sent in turn, each in another situation and with other state."""
_STUCK_WITHIN_S = 900.0
"""Greatest number of seconds without progress until an application must be stuck."""
_STUCK, _PAUSED, _RETIRED = "stuck", "paused", "retired"
_ALERT_S = 300.0
"""`for` of the alert OptassignStuck."""


@dataclass
class _Replies:
    """Statuses and seconds of all requests of one kind."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, status: int, seconds: float) -> None:
        """Add a reply; status 0 stands for no reply."""
        self.statuses[status] += 1
        self.seconds.append(seconds)

    @property
    def refused(self) -> int:
        """Return the number of requests without an answer."""
        return sum(self.statuses.values()) - self.statuses[200]

    @property
    def p95(self) -> float:
        """Return the 95th percentile of the seconds."""
        return statistics.quantiles(self.seconds, n=20)[-1] if len(self.seconds) > 1 else self.seconds[0]


def _make_bodies(name: str, spec: Spec) -> list[bytes]:
    """Return snapshots of an application in several situations."""
    states = (
        generate(SHAPES[(spec.seed + place) % len(SHAPES)], spec.tasks, spec.clients, 1, seed=spec.seed + 100 * place)
        for place in range(_VARIANTS)
    )
    return [state.model_copy(update={"application": name}).model_dump_json(exclude_none=True).encode() for state in states]


def _post(url: str, page: str, body: bytes = b"", method: str = "POST") -> tuple[int, bytes]:
    """Return status and body of a reply; status 0 without a reply."""
    target = urlsplit(url)
    connection = HTTPConnection(target.hostname or "", target.port or 0, timeout=30)
    deadline = {"Optassign-Deadline-Ms": str(_TIMEOUT_MS)}
    try:
        connection.request(method, page, body, {"Content-Type": "application/json", "Optassign-Protocol": "1", **deadline})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, HTTPException):
        return 0, b""
    finally:
        connection.close()


def _ask(service: ServiceProcess, body: bytes, replies: _Replies) -> None:
    start = time.perf_counter()
    status, _ = _post(service.url, "/v1/assign", body)
    replies.add(status, time.perf_counter() - start)


def _play_size(_: None, case: tuple[int, float]) -> Iterator[PlayedRow]:
    """Send requests of two applications of a size, each after the previous answer, for some seconds; yield the row."""
    tasks, seconds = case
    spec = Spec("steady", tasks, max(2, tasks // 10))
    replies = _Replies()
    with tempfile.TemporaryDirectory() as name, ServiceProcess(Path(name), "json", "--workers", str(_WORKERS)) as service:
        end = time.monotonic() + seconds

        def ask_in_turn(number: int) -> None:
            bodies = _make_bodies(f"app-{number}", spec)
            place = 0
            while time.monotonic() < end:
                _ask(service, bodies[place % len(bodies)], replies)
                place += 1

        with ThreadPoolExecutor(_WORKERS) as pool:
            list(pool.map(ask_in_turn, range(_WORKERS)))
    cells = {
        "tasks": tasks,
        "instances": spec.clients,
        "requests in a minute": 60 * len(replies.seconds) / seconds,
        "median ms": 1_000 * statistics.median(replies.seconds),
        "95% within ms": 1_000 * replies.p95,
        "refused": replies.refused,
    }
    yield PlayedRow(cells, (f"{tasks} tasks: {replies.refused} refused",) * bool(replies.refused))


@dataclass
class _Watch:
    """Observations of a soak, in seconds since its beginning."""

    stuck_at: float | None = None
    retired_series: int = 0
    """Number of scrapes with a series of the forgotten application."""
    memory: int = 0


class _StuckGroup:
    """A group whose new instance restores nothing, and which rebalances whenever a follow-up is due."""

    def __init__(self, service: ServiceProcess) -> None:
        state = generate("scale-out", 36, 4, 0, seed=1)
        self._state: ApplicationState = state.model_copy(update={"application": _STUCK})
        self._service = service
        self._due = 0.0

    def follow(self, now: float) -> None:
        """Rebalance when the follow-up is due: after 300 s if none was asked for, and 5 s after a request without an answer."""
        if now < self._due:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        state = self._state.model_copy(update={"taken_at": at})
        status, content = _post(self._service.url, "/v1/assign", state.model_dump_json(exclude_none=True).encode())
        self._due = now + 5.0
        if status == 200:
            answer = TaskAssignment.model_validate_json(content)
            delays = [c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None]
            self._due = now + min(delays, default=300_000) / 1_000


def _scrape(service: ServiceProcess) -> str:
    return _post(service.url, "/metrics", method="GET")[1].decode()


def _find(text: str, name: str, **labels: str) -> float | None:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    found = re.search(rf"^optassign_{name}{{{inside}}} (\S+)$", text, re.MULTILINE)
    return None if found is None else float(found[1])


def _play_soak(_: None, case: tuple[float, float]) -> Iterator[PlayedRow]:
    """Send requests of fifty applications at random times for some minutes, and yield a row of the results."""
    minutes, per_minute = case
    replies, watch, faults = _Replies(), _Watch(), list[str]()
    chance = random.Random(1)
    bodies = [_make_bodies(f"app-{place:02}", spec) for place, spec in enumerate(FIFTY_SPECS)]
    with tempfile.TemporaryDirectory() as name, ServiceProcess(Path(name), "json", "--workers", str(_WORKERS)) as service:
        for application, page in ((_PAUSED, "pause"), (_RETIRED, "end")):
            _post(service.url, "/v1/assign", _make_bodies(application, Spec("steady", 36, 4))[0])
            _await_series(service, application)
            assert _post(service.url, f"/v1/applications/{application}/{page}")[0] == 200
        start, stopping = time.monotonic(), threading.Event()
        watching = threading.Thread(target=_watch, args=(service, watch, stopping, start), daemon=True)
        watching.start()
        with ThreadPoolExecutor(64) as pool:
            due, restart = 0.0, 30.0 * minutes
            sent: list[Callable[[], object]] = []
            while (due := due + chance.expovariate(per_minute / 60)) < 60 * minutes:
                if due > restart:
                    for waits in sent:
                        waits()
                    faults += _restart(service)
                    restart = float("inf")
                time.sleep(max(0.0, start + due - time.monotonic()))
                sent.append(pool.submit(_ask, service, chance.choice(chance.choice(bodies)), replies).result)
        stopping.set()
        watching.join()
        held = _post(service.url, f"/v1/applications/{_PAUSED}", method="GET")[1]
    if b'"paused":null' in held.replace(b" ", b"") or b"paused" not in held:
        faults.append("the pause is lost")
    if watch.stuck_at is None or watch.stuck_at > _STUCK_WITHIN_S:
        faults.append(f"the stuck application has its status after {watch.stuck_at} s")
    if watch.retired_series:
        faults.append(f"{watch.retired_series} scrapes have the forgotten application")
    if replies.refused:
        faults.append(f"{replies.refused} refused: {dict(replies.statuses)}")
    cells = {
        "minutes": minutes,
        "requests in a minute": len(replies.seconds) / minutes,
        "refused": replies.refused,
        "median ms": 1_000 * statistics.median(replies.seconds),
        "95% within ms": 1_000 * replies.p95,
        "stuck: s to the status": watch.stuck_at,
        "s to the alert": None if watch.stuck_at is None else watch.stuck_at + _ALERT_S,
        "forgotten: alerts": watch.retired_series,
        "MiB of the service": watch.memory / MIB,
    }
    yield PlayedRow(cells, tuple(faults))


def _await_series(service: ServiceProcess, application: str) -> None:
    await_condition(
        f"metrics of {application}",
        lambda: _find(_scrape(service), "application_last_rebalance_timestamp_seconds", application=application) is not None,
    )


def _watch(service: ServiceProcess, watch: _Watch, stopping: threading.Event, start: float) -> None:
    """Run the stuck group, and scrape the metrics every two seconds."""
    group = _StuckGroup(service)
    while not stopping.wait(2.0):
        now = time.monotonic() - start
        group.follow(now)
        text = _scrape(service)
        if watch.stuck_at is None and _find(text, "application_status", application=_STUCK, status="stuck") == 1:
            watch.stuck_at = now
        watch.retired_series += f'application="{_RETIRED}"' in text
        watch.memory = max(watch.memory, read_memory(service.pid or 0))


def _restart(service: ServiceProcess) -> list[str]:
    """Restart the service, and return a line for each of the stuck application's clocks that the restart has changed."""
    clocks = ("settling_since_timestamp_seconds", "progress_timestamp_seconds", "settling_estimate_seconds")
    before = _scrape(service)
    service.stop()
    service.start()
    after = _scrape(service)
    known = {name: _find(before, f"application_{name}", application=_STUCK) for name in clocks}
    found = {name: _find(after, f"application_{name}", application=_STUCK) for name in clocks}
    return [f"{name} was {known[name]}, and is {found[name]}" for name in clocks if str(known[name]) != str(found[name])]


CAPACITY = (
    PlayedStudy(
        cases=lambda quick: [(tasks, 2.0 if quick else 20.0) for tasks in _SIZES],
        play=_play_size,
        caption=lambda quick: f"Capacity of {_WORKERS} workers: as many requests under way at a time",
    ),
    PlayedStudy(
        cases=lambda quick: [(0.5, 60.0) if quick else (60.0, 20.0)],
        play=_play_soak,
        caption=lambda quick: "Fifty applications of 16 to 2,000 tasks at random times; the service restarts in the middle",
    ),
)
