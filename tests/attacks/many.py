"""`python tests/attacks/many.py`: fifty applications at one service, then a million recordings.

`--write` puts the figures into docs/data/pager.json.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "support" / "processes"))

from pages import write_recording
from serving import HEADERS, Service, make_headers, make_state, run_service, wait_until

from optassign.formats.state import ApplicationState
from optassign.generate import generate
from optassign.recordings.files import SUFFIX
from optassign_benchmarks.results import Table, describe_machine, make_table, write_study

_APPLICATIONS = 50
_SIZES = (16, 24, 48, 96, 200, 400, 800, 1200, 1600, 2000)
"""Tasks; five applications of each."""
_PAUSE_S = 60.0
"""Between two rebalances of an application that is on its way: five times as many as a group at rest has, and more."""
_DEADLINE_MS = 5000
_DAYS = 90
_MANY = 1_000_000


class _Application(threading.Thread):
    """An application that asks for an assignment every minute, as its plug-in does."""

    def __init__(self, service: Service, state: ApplicationState, first: float, end: float) -> None:
        super().__init__(daemon=True)
        self.state, self.seconds, self.refused = state, list[float](), list[str]()
        self._service, self._first, self._end = service, first, end

    def run(self) -> None:
        time.sleep(self._first)
        body = self.state.model_dump_json().encode()
        with httpx.Client(base_url=self._service.client.base_url, timeout=30) as client:
            while time.monotonic() < self._end:
                begun = time.monotonic()
                headers = make_headers({"optassign_deadline_ms": str(_DEADLINE_MS)})
                answer = client.post("/v1/assign", content=body, headers=headers)
                self.seconds.append(time.monotonic() - begun)
                if answer.status_code != 200:
                    self.refused.append(answer.text[:100])
                time.sleep(max(0.0, _PAUSE_S - (time.monotonic() - begun)))


def load_service(minutes: float, folder: Path) -> Table:
    """Fifty applications of 16 to 2,000 tasks, which scale out, with two workers."""
    states = [
        generate("scale-out", size, max(4, size // 20), 1, seed=number).model_copy(update={"application": f"app-{number:02}"})
        for number, size in enumerate(_SIZES * (_APPLICATIONS // len(_SIZES)))
    ]
    source = random.Random(7)
    with run_service("--workers", "2", "--recordings", str(folder)) as service:
        end = time.monotonic() + 60 * minutes
        applications = [_Application(service, state, source.uniform(0, _PAUSE_S), end) for state in states]
        for application in applications:
            application.start()
        for application in applications:
            application.join()
        greedy = sum(
            service.metric("optassign_rebalances_total", mode="active", outcome=name) or 0 for name in ("limit", "fallback")
        )
    rows = []
    for low, high in ((16, 96), (200, 800), (1200, 2000)):
        of_size = [one for one in applications if low <= len(one.state.tasks) <= high]
        seconds = sorted(second for one in of_size for second in one.seconds)
        refused = [text for one in of_size for text in one.refused]
        shown = (f"{low:,} to {high:,}", len(of_size), len(seconds), len(refused), statistics.median(seconds))
        rows.append((*shown, seconds[int(0.99 * (len(seconds) - 1))], seconds[-1]))
        for text in refused[:3]:
            print(text, file=sys.stderr)
    columns = ("tasks", "applications", "rebalances", "refused", "median s", "p99 s", "most s")
    caption = (
        f"50 applications, each with a rebalance a minute, for {minutes:g} minutes; two workers; {greedy:g} answers by greedy"
    )
    return make_table(columns, rows, caption)


def fill(folder: Path, number: int) -> None:
    """So many recordings of fifty applications over 90 days; those of an application have the same content."""
    of_day = number // _APPLICATIONS // _DAYS + 1
    now = datetime.now(UTC)
    for application in range(_APPLICATIONS):
        state = make_state(f"app-{application:02}")
        first = write_recording(folder, state, now)
        for day in range(1, _DAYS + 1):
            of = folder / f"app-{application:02}" / f"{now - timedelta(days=day):%Y-%m-%d}"
            of.mkdir(parents=True)
            for place in range(of_day):
                second = place * 86_400 // of_day
                os.link(first, of / f"{second // 3600:02}{second // 60 % 60:02}{second % 60:02}.000-{place}{SUFFIX}")


@contextmanager
def _start(folder: Path) -> Iterator[tuple[Service, float, float]]:
    """A service on a folder, with the seconds to its port and until it is ready."""
    begun = time.monotonic()
    options = ("--workers", "2", "--recordings", str(folder))
    with run_service(*options, is_ready=lambda service: bool(service.events("listening"))) as service:
        port = time.monotonic() - begun
        wait_until(lambda: service.client.get("/readyz").status_code == 200)
        yield service, port, time.monotonic() - begun


def look(folder: Path, number: int) -> tuple[Table, Table]:
    """Seconds to the port and to each page with so many recordings; the same after a kill."""
    starts, pages = [], []
    with _start(folder) as (service, port, ready):
        starts.append(("start", port, ready))
        listed = service.client.get("/v1/history/app-07").json()["rebalances"]
        _, day, at = listed[1]["id"].split("/")
        names = {
            "all applications": "/",
            "those at rest": "/?status=at%20rest",
            "an application": "/applications/app-08",
            "older rebalances": f"/applications/app-08?before={day}/{at}",
            "a rebalance": f"/applications/app-08/rebalances/{day}/{at}",
            "metrics": "/metrics",
        }
        for name, address in names.items():
            seconds = []
            for _ in range(4):
                begun = time.monotonic()
                response = service.client.get(address, headers={**HEADERS, "Accept": "text/html"}, timeout=60)
                assert response.status_code == 200, (address, response.text[:300])
                seconds.append(time.monotonic() - begun)
            pages.append((name, seconds[0], statistics.median(seconds[1:])))
        service.process.kill()
        service.process.wait()
    with _start(folder) as (service, port, ready):
        starts.append(("start after kill -9", port, ready))
        remembered = service.metric("optassign_remembered_applications")
    caption = f"{number:,} recordings of 50 applications; {remembered:g} of them are remembered after the kill"
    return (
        make_table(("what", "seconds to the port", "seconds until ready"), starts, caption),
        make_table(("page", "first s", "then, median s"), pages, f"Pages with {number:,} recordings"),
    )


def main() -> None:
    """Run all of it, and print or write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--recordings", type=int, default=_MANY)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    machine = describe_machine()
    folder = Path(tempfile.mkdtemp(prefix="many-"))
    try:
        tables = [load_service(arguments.minutes, folder / "asked")] if arguments.minutes else []
        fill(folder / "filled", arguments.recordings)
        tables += look(folder / "filled", arguments.recordings)
    finally:
        shutil.rmtree(folder)
    for table in tables:
        print(table.to_markdown(), end="\n\n")
    if arguments.write:
        command = f"python tests/attacks/many.py --minutes {arguments.minutes:g} --recordings {arguments.recordings}"
        write_study("pager", tables, (), command, machine)


if __name__ == "__main__":
    main()
