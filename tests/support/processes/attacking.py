"""Attacks on a service, and their effect on a regular plug-in."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from serving import HEADERS, Running, Service, make_state, write_request_head

from optassign_benchmarks.kafka.processes import find_free_ports
from optassign_benchmarks.soak.samples import find_children, read_memory

_SPAWN = multiprocessing.get_context("spawn")
INNOCENT_DEADLINE = 2.0
"""Seconds until a request's deadline; the plug-in's default."""


def read_address(service: Running) -> tuple[str, int]:
    """Return the address of the service."""
    parts = urlsplit(str(service.client.base_url))
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def open_connections(service: Running, count: int, first: bytes) -> list[socket.socket]:
    """Return up to `count` connections on which `first` has been sent, without those refused at once."""
    address = read_address(service)
    found = []
    for _ in range(count):
        try:
            connection = socket.create_connection(address, timeout=5)
            connection.sendall(first)
        except OSError:
            continue
        found.append(connection)
    return found


def count_open(connections: list[socket.socket]) -> int:
    """Return the number of connections that the service has not closed."""
    number = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            while connection.recv(1 << 16):
                pass
        except BlockingIOError:
            number += 1
        except OSError:
            pass
    return number


class _Background(ABC):
    """Work that a thread repeats within the context, until `_end` is set."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @abstractmethod
    def _work(self) -> None: ...


class Innocent(_Background):
    """A plug-in with a small group that sends requests repeatedly within the context."""

    def __init__(self, service: Running, pause: float = 0.05, deadline: float = INNOCENT_DEADLINE) -> None:
        self.seconds: list[float] = []
        """Seconds of each request, answered or not."""
        self.missed = 0
        """Number of requests without an answer in time."""
        self._service, self._pause, self._deadline = service, pause, deadline
        super().__init__()

    @property
    def p99(self) -> float:
        """Return the seconds within which 99 of 100 requests ended."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]

    def _work(self) -> None:
        body = make_state("innocent").model_dump_json().encode()
        headers = {**HEADERS, "Optassign-Deadline-Ms": str(round(1000 * self._deadline))}
        with httpx.Client(base_url=self._service.client.base_url, timeout=self._deadline) as client:
            while not self._end.wait(self._pause):
                begun = time.monotonic()
                try:
                    answered = client.post("/v1/assign", content=body, headers=headers).status_code == 200
                except httpx.HTTPError:
                    answered = False
                self.seconds.append(time.monotonic() - begun)
                self.missed += not answered


class MemoryWatch(_Background):
    """A watch on a process and its children within the context; `most` has process id → peak of resident memory in bytes."""

    def __init__(self, pid: int) -> None:
        self.most: dict[int, int] = {}
        self._pid = pid
        super().__init__()

    def _work(self) -> None:
        while not self._end.wait(0.05):
            for pid in [self._pid, *find_children(self._pid)]:
                self.most[pid] = max(self.most.get(pid, 0), read_memory(pid, "VmRSS"))


def is_running(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_with_stuck_workers(service: Service) -> list[int]:
    """Kill the service while its workers are stopped, so that they cannot notice its end; return their ids."""
    pids = service.list_worker_pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    service.process.kill()
    service.process.wait()
    return pids


@contextmanager
def flood(service: Service, body: bytes, threads: int, deadline_ms: int = 10_000) -> Iterator[list[int]]:
    """Send the body repeatedly from `threads` threads within the context. Afterwards the yielded list has the statuses, with 0
    for each request without an answer.

    The threads are in a separate process with low priority, as attackers have their own machines.
    """
    ours, theirs = _SPAWN.Pipe()
    headers = {**HEADERS, "Optassign-Deadline-Ms": str(deadline_ms)}
    arguments = (str(service.client.base_url), body, headers, threads, theirs)
    process = _SPAWN.Process(target=_send_until_told, args=arguments, daemon=True)
    process.start()
    statuses: list[int] = []
    try:
        ours.recv()  # the process has begun
        yield statuses
    finally:
        ours.send(None)
        statuses += ours.recv()
        process.join()


def _send_until_told(url: str, body: bytes, headers: dict[str, str], threads: int, pipe: "Connection[Any, Any]") -> None:
    os.nice(19)
    end = threading.Event()
    statuses: list[int] = []

    def send() -> None:
        with httpx.Client(base_url=url, timeout=120) as client:
            while not end.is_set():
                try:
                    statuses.append(client.post("/v1/assign", content=body, headers=headers).status_code)
                except httpx.HTTPError:
                    statuses.append(0)

    running = [threading.Thread(target=send, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    pipe.send(None)
    pipe.recv()
    end.set()
    for thread in running:
        thread.join()
    pipe.send(statuses)


def begin_bodies(service: Running, count: int, length: int = 1000) -> list[socket.socket]:
    """Return connections with requests whose bodies never get beyond their first byte."""
    return open_connections(service, count, write_request_head("/v1/assign", length) + b"{")


def start_unread_service(*options: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a service whose log is never read, and return its process and port. The pipe is as small as possible."""
    import fcntl

    (port,) = find_free_ports(1)
    read_end, write_end = os.pipe()
    with suppress(AttributeError, OSError):
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    arguments = ["serve", "--port", str(port), "--log-format", "json", *options]
    process = subprocess.Popen([sys.executable, "-m", "optassign.cli", *arguments], stderr=write_end)
    os.close(write_end)
    process.unread = read_end  # type: ignore[attr-defined] # stays open, otherwise the log would fail instead of waiting
    return process, port
