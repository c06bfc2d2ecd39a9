"""The cost of the operators' pages: seconds of each page, and of rebalances while ten pages are open.

Pages are requested over loopback from a service with recordings of one application, or with a million of fifty applications.
Rebalances are posted in pairs: one without open pages, one while ten pages renew themselves every ten seconds, as in a browser.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy
from optassign_benchmarks.soak.recorded_folder import FIFTY_SPECS, Filled, fill_folder
from optassign_benchmarks.soak.samples import MIB, find_children, read_memory

_SIZES = (
    ((Spec("scale-out", 1_000, 100),), 10_000, 0.2),
    ((Spec("scale-out", 10_000, 1_000, warmups=100),), 1_000, 1.0),
    (FIFTY_SPECS, 1_000_000, 1.0),
)
"""Applications, number of recordings of all of them, and seconds that a page may take."""
_PORT_S = 5.0
"""Greatest number of seconds from the start of the service until its port is open."""
_SPAN = timedelta(days=80)
"""The span of the recordings of fifty applications; the service deletes recordings older than 90 days."""
_LOOKS, _PAIRS, _PAGES = 10, 40, 10
_RENEWED_S = 10.0
_Case = tuple[tuple[Spec, ...], int, float]


def _play_pages(_: None, case: _Case) -> Iterator[PlayedRow]:
    """Yield a row for each page; a slow page is a fault."""
    specs, recordings, most = case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled = _fill(folder, specs, recordings)
        with _run_service(folder) as service:
            for page, first, later in _look_at_pages(service, filled[-1]):
                cells = {"recorded": _describe(specs, recordings), "page": page, "first ms": 1_000 * first}
                cells |= {"median ms": 1_000 * statistics.median(later), "worst ms": 1_000 * max(later)}
                yield PlayedRow(cells, (f"{page} takes {max(later):.2f} s",) * (max(later) > most))


def _play_start(_: None, case: _Case) -> Iterator[PlayedRow]:
    """Yield a row for a start of the service; a port that opens late is a fault."""
    specs, recordings, _most = case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled = _fill(folder, specs, recordings)
        begun = time.time()
        with _run_service(folder) as service:
            await_condition("recordings are counted", lambda: "recording" in _read_events(service), logs=lambda: [service.log])
            list(_look_at_pages(service, filled[-1]))
            events = _read_events(service)
            *solvers, pages = sorted(find_children(service.pid or 0, workers=True), key=_read_niceness)
            port = events["listening"] - begun
            cells = {
                "recorded": _describe(specs, recordings),
                "s to the port": port,
                "to readiness": max(events["memory_restored"], events["worker_ready"]) - begun,
                "until pages are ready": events["pages_ready"] - begun,
                "until all are counted": events["recording"] - begun,
                "MiB of the service": read_memory(service.pid or 0) / MIB,
                "of a solver": max(read_memory(pid) for pid in solvers) / MIB,
                "of the process of pages": read_memory(pages) / MIB,
            }
            yield PlayedRow(cells, (f"the port is open after {port:.1f} s",) * (port > _PORT_S))


def _play_pairs(_: None, pairs: int) -> Iterator[PlayedRow]:
    """Yield one row: medians of rebalances with no page open and with pages open, and of their ratio in `pairs` pairs."""
    alone, watched = _answer_in_pairs(_SIZES[0][0][0], pairs)
    ratio = statistics.median(second / first for first, second in zip(alone, watched, strict=True))
    yield PlayedRow(
        {
            "rebalances at 1,000 × 100": len(alone),
            "ms with no page open": 1_000 * statistics.median(alone),
            f"ms with {_PAGES} pages open": 1_000 * statistics.median(watched),
            "median ratio": ratio,
        }
    )


def _list_cases(quick: bool) -> list[_Case]:
    return [(specs, number // 20 if quick else number, most) for specs, number, most in _SIZES]


PAGES = (
    PlayedStudy(cases=_list_cases, play=_play_pages, caption=lambda quick: f"The first look, and {_LOOKS} looks after it"),
    PlayedStudy(cases=lambda quick: _list_cases(quick)[-1:], play=_play_start, caption=lambda quick: "A start of the service"),
    PlayedStudy(
        cases=lambda quick: [10 if quick else _PAIRS],
        play=_play_pairs,
        caption=lambda quick: "Pairs of a rebalance, with and without open pages",
    ),
)


def _describe(specs: tuple[Spec, ...], recordings: int) -> str:
    if len(specs) > 1:
        return f"{recordings:,} of {len(specs)} applications"
    return f"{recordings:,} of {specs[0].tasks:,} × {specs[0].clients:,}"


def _fill(folder: Path, specs: tuple[Spec, ...], recordings: int) -> list[Filled]:
    span = _SPAN if len(specs) > 1 else timedelta(minutes=recordings)
    return fill_folder(folder / "recordings", specs, recordings, span)


def _run_service(folder: Path) -> ServiceProcess:
    return ServiceProcess(folder, "json", "--keep-bytes", "100G")


def _read_events(service: ServiceProcess) -> dict[str, float]:
    """Return event → time of its first log line, in seconds since 1970."""
    events: dict[str, float] = {}
    for line in service.log.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        events.setdefault(fields["event"], datetime.fromisoformat(fields["time"]).timestamp())
    return events


def _read_niceness(process: int) -> int:
    """Return the niceness of a process; that of the process of pages is higher than that of solvers."""
    return os.getpriority(os.PRIO_PROCESS, process)


def _look_at_pages(service: ServiceProcess, filled: Filled) -> Iterator[tuple[str, float, list[float]]]:
    """Yield each page, the seconds of the first request and of the later ones, once the process of pages has started."""
    await_condition("pages are ready", lambda: "pages_ready" in _read_events(service), logs=lambda: [service.log])
    connection = _connect(service.url)
    _get(connection, "/login")  # opens the connection
    application = f"/applications/{filled.application}"
    rebalance = f"{application}/rebalances/{filled.newest}"
    before = datetime.now().astimezone() - _SPAN / 2
    for title, page in (
        ("all applications", "/"),
        ("an application", application),
        ("its older rebalances", f"{application}?before={before:%Y-%m-%d}"),
        ("a rebalance", rebalance),
        ("a rebalance, and why of a task", f"{rebalance}?task=0_1"),
        ("what if, the form", f"{application}/what-if"),
        ("metrics", "/metrics"),
    ):
        first, *later = (_get(connection, page) for _ in range(1 + _LOOKS))
        yield title, first, later
    connection.close()


def _answer_in_pairs(spec: Spec, pairs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of rebalances without open pages, and with open pages."""
    body = spec.generate().model_copy(update={"application": "app-00"}).model_dump_json(exclude_none=True).encode()
    alone: list[float] = []
    watched: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder, (spec,), 500)
        with _run_service(folder) as service:
            connection = _connect(service.url)
            for _ in range(3):
                _post(connection, body)
            with _open_pages(service.url) as open_eyes:
                for place in range(pairs):
                    order = (False, True) if place % 2 else (True, False)
                    for looks in order:
                        open_eyes(looks)
                        (watched if looks else alone).append(_post(connection, body))
            connection.close()
    return alone, watched


@contextmanager
def _open_pages(url: str) -> Iterator[Callable[[bool], None]]:
    """Yield a function that opens (True) and closes (False) ten pages, which renew themselves."""
    ended, looking = threading.Event(), threading.Event()
    begun = threading.Semaphore(0)

    def look() -> None:
        connection = _connect(url)
        while not ended.is_set():
            if looking.wait(0.1):
                begun.release()
                _get(connection, "/applications/app-00")
                ended.wait(_RENEWED_S / _PAGES)
        connection.close()

    def set_looking(looks: bool) -> None:
        if looks:
            looking.set()
            begun.acquire(timeout=30)  # a page has just been requested
        else:
            looking.clear()
            time.sleep(0.3)  # for the pages already requested
        while begun.acquire(blocking=False):
            pass

    # A page starts each second, like ten pages that renew themselves every ten seconds.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield set_looking
    finally:
        ended.set()
        thread.join()


def _connect(url: str) -> HTTPConnection:
    where = urlsplit(url)
    return HTTPConnection(where.hostname or "", where.port, timeout=120)


def _get(connection: HTTPConnection, page: str) -> float:
    """Request a page, and return the seconds until its last byte."""
    start = time.perf_counter()
    connection.request("GET", page, headers={"Accept": "text/html"})
    connection.getresponse().read()
    return time.perf_counter() - start


def _post(connection: HTTPConnection, body: bytes) -> float:
    """Post a rebalance, and return the seconds until the last byte of its answer."""
    headers = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "60000"}
    start = time.perf_counter()
    connection.request("POST", "/v1/assign", body, headers)
    connection.getresponse().read()
    return time.perf_counter() - start
