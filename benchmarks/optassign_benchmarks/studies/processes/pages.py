"""The cost of the operator's pages: how long each takes, and whether rebalances are answered as fast while ten are open.

Pages are asked of a service with recordings of a scale-out, over loopback. Rebalances are posted in pairs: one while no page is
open, one while ten pages renew themselves as they do in a browser, every ten seconds each.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from optassign import assign
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import RecordingHead, encode_recording, make_overview, summarise
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

_SIZES = (
    (Spec("scale-out", 1_000, 100), 10_000, 0.2),
    (Spec("scale-out", 10_000, 1_000, warmups=100), 1_000, 1.0),
)
"""Snapshot, how many recordings, and seconds that a page may take."""
_LOOKS, _PAIRS, _PAGES = 7, 40, 10
_RENEWED_S = 10.0


def _play(_: None, case: tuple[Spec, int, float]) -> Iterator[PlayedRow]:
    """A row for each page; wrong: a page that takes too long."""
    spec, recordings, most = case
    size = f"{spec.tasks:,} × {spec.clients:,}, {recordings:,} recorded"
    for page, first, median in _look_at_pages(spec, recordings):
        cells = {"tasks × clients": size, "page": page, "first ms": 1_000 * first, "median ms": 1_000 * median}
        yield PlayedRow(cells, (f"{size}: {page} takes {median:.2f} s",) * (median > most))


def _play_pairs(_: None, pairs: int) -> Iterator[PlayedRow]:
    alone, watched = _answer_in_pairs(_SIZES[0][0], pairs)
    ratio = statistics.median(second / first for first, second in zip(alone, watched, strict=True))
    yield PlayedRow(
        {
            "rebalances at 1,000 × 100": len(alone),
            "ms with no page open": 1_000 * statistics.median(alone),
            f"ms with {_PAGES} pages open": 1_000 * statistics.median(watched),
            "median ratio": ratio,
        }
    )


PAGES = (
    PlayedStudy(
        cases=lambda quick: [(spec, number // 20 if quick else number, most) for spec, number, most in _SIZES],
        play=_play,
        caption=lambda quick: f"{_LOOKS} looks after the first",
    ),
    PlayedStudy(
        cases=lambda quick: [10 if quick else _PAIRS],
        play=_play_pairs,
        caption=lambda quick: "Pairs of a rebalance, with and without open pages",
    ),
)


def _look_at_pages(spec: Spec, recordings: int) -> Iterator[tuple[str, float, float]]:
    """Page, seconds of the first look and median of the later ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        newest = _record(spec, folder / "recordings", recordings)
        with ServiceProcess(folder, log_format="json") as service:
            connection = _connect(service.url)
            _get(connection, "/login")  # the connection; the process that makes pages starts with the first page
            _get(connection, "/v1/history/nobody")
            rebalance = f"/applications/app/rebalances/{newest}"
            for title, page in (
                ("all applications", "/"),
                ("an application", "/applications/app"),
                ("a rebalance", rebalance),
                ("a rebalance, and why of a task", f"{rebalance}?task=0_1"),
                ("what if, the form", "/applications/app/what-if"),
            ):
                seconds = [_get(connection, page) for _ in range(1 + _LOOKS)]
                yield title, seconds[0], statistics.median(seconds[1:])
            connection.close()


def _record(spec: Spec, folder: Path, number: int) -> str:
    """Record the same rebalance `number` times, a minute apart; the newest one's day and time."""
    state = spec.generate().model_copy(update={"application": "app"})
    answer = assign(state, "greedy", 30.0)
    at = datetime.now(UTC).replace(microsecond=0)
    head = RecordingHead(
        format=1,
        application="app",
        recorded_at=at.isoformat(timespec="milliseconds"),
        answered_at=round(at.timestamp() * 1_000),
        assignor="greedy",
        time_limit=30.0,
        summary=summarise(state, answer),
        overview=make_overview(state, answer),
    )
    content = encode_recording(head, answer.model_dump_json().encode(), state.model_dump_json(exclude_none=True).encode())
    first = folder / make_relative_path("app", at, 0)
    first.parent.mkdir(parents=True)
    first.write_bytes(content)
    for place in range(1, number):
        path = folder / make_relative_path("app", at - timedelta(minutes=place), 0)
        path.parent.mkdir(exist_ok=True)
        os.link(first, path)  # one file on the disk, many in the folders
    return f"{first.parent.name}/{first.name.removesuffix('.json.gz')}"


def _answer_in_pairs(spec: Spec, pairs: int) -> tuple[list[float], list[float]]:
    """Seconds of rebalances while no page is open, and while pages are open."""
    body = spec.generate().model_copy(update={"application": "app"}).model_dump_json(exclude_none=True).encode()
    alone: list[float] = []
    watched: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _record(spec, folder / "recordings", 500)
        with ServiceProcess(folder, log_format="json") as service:
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
    """Ten pages that renew themselves; what is given opens and closes all of them."""
    ended, looking = threading.Event(), threading.Event()
    begun = threading.Semaphore(0)

    def look() -> None:
        connection = _connect(url)
        while not ended.is_set():
            if looking.wait(0.1):
                begun.release()
                _get(connection, "/applications/app")
                ended.wait(_RENEWED_S / _PAGES)
        connection.close()

    def set_looking(looks: bool) -> None:
        if looks:
            looking.set()
            begun.acquire(timeout=30)  # a page is asked for just now
        else:
            looking.clear()
            time.sleep(0.3)  # the requested ones come
        while begun.acquire(blocking=False):
            pass

    # Each second one of ten that renew themselves every ten seconds.
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
    """Seconds until the last byte."""
    start = time.perf_counter()
    connection.request("GET", page, headers={"Accept": "text/html"})
    connection.getresponse().read()
    return time.perf_counter() - start


def _post(connection: HTTPConnection, body: bytes) -> float:
    """Seconds until the last byte of the answer."""
    headers = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "60000"}
    start = time.perf_counter()
    connection.request("POST", "/v1/assign", body, headers)
    connection.getresponse().read()
    return time.perf_counter() - start
