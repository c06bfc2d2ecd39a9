"""`optassign serve` as a separate process, a client that behaves like the plug-in, and common parts of the tests."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.service.settings import count_default_workers

SUPPORT = Path(__file__).parent
"""The folder for PYTHONPATH, if a service registers an assignor of `failing_assignors`."""
AT_REST = ("--idle-followup", "0")
"""First options of a service: without follow-ups of stable groups its answers equal the library's. Later options override."""
MOST_SECONDS = 300.0
"""Seconds after which a wait fails; long enough for a busy machine."""
MAX_BODY, MAX_CELLS, MAX_NAME = 300_000, 20_000, 80
"""Limits of the service in most tests."""
HEADERS = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "60000"}
"""Headers with the latest possible deadline, so that a busy machine does not miss it."""


class Running:
    """A running service; `log` has its lines so far."""

    client: httpx.Client

    def __init__(self, options: Sequence[str], verify: Any) -> None:
        self._workers = int(options[options.index("--workers") + 1]) if "--workers" in options else count_default_workers()
        self.verify = verify
        self.log: list[dict[str, Any]] = []
        self._new_line = threading.Condition()

    def connect(self) -> None:
        """Create the client once the service listens."""
        url = self.wait_for("listening")["url"].replace("0.0.0.0", "127.0.0.1")
        limits = httpx.Limits(max_connections=None)
        self.client = httpx.Client(base_url=url, timeout=MOST_SECONDS, verify=self.verify, limits=limits)

    def is_ready(self) -> bool:
        """Return whether its workers are ready, and the log has reported all of them."""
        return self.client.get("/readyz").status_code == 200 and len(self.list_worker_pids()) == self._workers

    def list_events(self, name: str, **fields: Any) -> list[dict[str, Any]]:
        """Return the events with this name and these fields, oldest first."""
        with self._new_line:
            return [e for e in self.log if e["event"] == name and all(e.get(key) == value for key, value in fields.items())]

    def wait_for(self, name: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """Wait for `count` events with this name and these fields, and return the newest."""
        with self._new_line:
            self._new_line.wait_for(lambda: len(self.list_events(name, **fields)) >= count, MOST_SECONDS)
        found = self.list_events(name, **fields)
        assert len(found) >= count, "\n".join(str(event) for event in self.log[-20:])
        return found[-1]

    def assign(self, state: ApplicationState | bytes, **headers: str | None) -> httpx.Response:
        """Send a POST to /v1/assign; headers as in `make_headers`."""
        content = state if isinstance(state, bytes) else state.model_dump_json().encode()
        return self.client.post("/v1/assign", content=content, headers=make_headers(headers))

    def report(self, body: bytes, rebalance: str, applied_at: int, **headers: str | None) -> httpx.Response:
        """Send a POST to /v1/applied with a body of `make_report`; headers as in `make_headers`."""
        named = {"optassign_rebalance": rebalance, "optassign_applied_at": str(applied_at), **headers}
        return self.client.post("/v1/applied", content=body, headers=make_headers(named))

    def read_metric(self, name: str, **labels: str) -> float | None:
        """Return the value of a metric with exactly these labels, or None if it is missing."""
        inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        full = f"{name}{{{inside}}}" if labels else name
        found = re.search(rf"^{re.escape(full)} (\S+)$", self.client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else None

    def list_worker_pids(self) -> list[int]:
        """Return the ids of the solver processes that have not died, the newest last."""
        gone = {event["pid"] for event in self.list_events("worker_died")}
        return [event["pid"] for event in self.list_events("worker_ready") if event["pid"] not in gone]


class Service(Running):
    """A service in separate processes; `limit_files` limits the size of its files, in bytes."""

    def __init__(
        self,
        *options: str,
        limit_files: int | None = None,
        verify: Any = True,
        is_ready: Callable[[Service], bool] | None = None,
        **environment: str,
    ) -> None:
        def limit_file_size() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_files or 0, limit_files or 0))

        super().__init__(options, verify)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "optassign.cli", "serve", "--port", "0", "--log-format", "json", *AT_REST, *options],
            stderr=subprocess.PIPE,
            text=True,
            # Threads of this process may hold locks that Python would need between fork and exec.
            preexec_fn=None if limit_files is None else limit_file_size,
            env={**{k: v for k, v in os.environ.items() if k != "OPTASSIGN_TOKEN"}, **environment},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.connect()
        wait_until(lambda: (is_ready or Service.is_ready)(self))

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._new_line:
                self.log.append(json.loads(line))  # a line that is not JSON ends the reading, and so the test
                self._new_line.notify_all()

    def stop(self) -> int:
        """Send SIGTERM, wait, and return the exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(MOST_SECONDS)
        self._reader.join(MOST_SECONDS)
        return code


@contextmanager
def run_service(*options: str, **settings: Any) -> Iterator[Service]:
    """Yield a service that runs within the context."""
    service = Service(*options, **settings)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition returns a true value, and return that value."""
    end = time.monotonic() + MOST_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found


@contextmanager
def freeze(*pids: int) -> Iterator[None]:
    """Suspend the processes within the context."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def make_headers(named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the headers of a request: the common ones and `named`, in Python's spelling; None removes a header."""
    spelt = {("-".join(part.capitalize() for part in key.split("_"))): value for key, value in named.items()}
    return {key: value for key, value in {**HEADERS, **spelt}.items() if value is not None}


def make_report(state: ApplicationState, applied: TaskAssignment, why: str = "no connection") -> bytes:
    """Return a plug-in's report of an applied answer."""
    parts = {"snapshot": json.loads(state.model_dump_json()), "applied": json.loads(applied.model_dump_json())}
    return json.dumps({"application": state.application, "why": why, **parts}).encode()


def list_files(folder: Path) -> list[Path]:
    """Return all visible files below a folder, sorted."""
    # A service may delete folders at the same time: `os.walk` skips them, `Path.rglob` raises.
    return sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names if not name.startswith("."))


def make_state(application: str | None, tasks: int = 24) -> ApplicationState:
    """Return a group that scales out, so that several rebalances have work."""
    return generate("scale-out", tasks, 4, 1, seed=3).model_copy(update={"application": application})


def read_answer(response: httpx.Response) -> TaskAssignment:
    assert response.status_code == 200, response.text
    return TaskAssignment.model_validate_json(response.content)


def dump_without_times(answer: TaskAssignment) -> str:
    return answer.without_times().model_dump_json()


def write_request_head(page: str, length: int) -> bytes:
    """Return the head of a POST, for tests that send the body themselves."""
    headers = {**HEADERS, "Content-Length": length, "Host": "x"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {page} HTTP/1.1\r\n{lines}\r\n".encode()
