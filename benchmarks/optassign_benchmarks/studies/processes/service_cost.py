"""The service's cost of a rebalance in addition to the solving: reading and checking the snapshot, HTTP, writing the answer.

Snapshots of a scale-out are posted over loopback to a service of its own, one after another. The solving is what its log says.
"""

from __future__ import annotations

import http.client
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.service import Service
from optassign_benchmarks.kafka.waiting import await_condition
from optassign_benchmarks.tables import Table, make_table

__all__ = ["run"]

_SPECS = (
    Spec("scale-out", 100, 10),
    Spec("scale-out", 1_000, 100),
    Spec("scale-out", 1_000, 100, dense=True),
    Spec("scale-out", 10_000, 1_000, warmups=100),
)
_BEFORE, _CALLS = 3, 20


def run() -> tuple[list[Table], list[str]]:
    """Medians in milliseconds; wrong: a call without an answer."""
    rows: list[tuple[object, ...]] = []
    wrong: list[str] = []
    for spec in _SPECS:
        body = spec.generate().model_dump_json(exclude_none=True).encode()
        seconds, solving, statuses = _ask_service(body)
        wrong += [f"{spec.name}: status {status}" for status in statuses if status != 200]
        beside = [1_000 * (whole - solve) for whole, solve in zip(seconds, solving, strict=True)][_BEFORE:]
        whole, solve = 1_000 * statistics.median(seconds[_BEFORE:]), 1_000 * statistics.median(solving[_BEFORE:])
        what = f"{spec.tasks:,} × {spec.clients:,}" + (", lags of all clients" if spec.dense else "")
        rows.append((what, len(body), whole, solve, statistics.median(beside), max(beside)))
    head = ("tasks × clients", "body, bytes", "whole ms", "solving ms", "beside it ms", "most ms")
    return [make_table(head, rows, f"{_CALLS} calls after {_BEFORE}")], wrong


def _ask_service(body: bytes) -> tuple[list[float], list[float], list[int]]:
    """Seconds, seconds of solving, and HTTP status of each call."""
    with tempfile.TemporaryDirectory() as folder, Service(Path(folder), log_format="json") as service:
        seconds, statuses = _post(service.url, body)
        # A rebalance is logged after its answer.
        await_condition("all is logged", lambda: len(service.solving_seconds()) == len(seconds), logs=lambda: [service.log])
        return seconds, service.solving_seconds(), statuses


def _post(url: str, body: bytes) -> tuple[list[float], list[int]]:
    """Seconds and HTTP status of each call, all on one connection."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
    headers = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "60000"}
    seconds, statuses = [], []
    for _ in range(_BEFORE + _CALLS):
        start = time.perf_counter()
        connection.request("POST", "/v1/assign", body, headers)
        response = connection.getresponse()
        response.read()
        seconds.append(time.perf_counter() - start)
        statuses.append(response.status)
    connection.close()
    return seconds, statuses
