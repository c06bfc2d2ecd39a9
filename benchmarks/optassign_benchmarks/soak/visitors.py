"""Other users of the service: many small applications, bad requests, and peers that disconnect or fall silent."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from optassign.generating import generate
from optassign.generating.snapshots import Shape

__all__ = ["Visitors"]

_SHAPES: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart", "partial")
_APPLICATIONS = 600
"""Number of applications, more than the service remembers."""
_MOST_SILENT = 100
"""Number of silent connections that are kept open."""
_SECONDS = 5.0
"""Seconds to wait for an answer: the service may be stopped for a while."""
_HEADERS = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "2000"}


class Visitors:
    """Visitors that call the service repeatedly within the context, in a random order determined by the seed."""

    def __init__(self, url: str, seed: int, pause: float = 0.5) -> None:
        self.visits: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        """Status → number of answers; 0 for no answer."""
        target = urlsplit(url)
        self._address = (target.hostname or "", target.port or 0)
        self._random, self._pause = random.Random(seed), pause
        self._silent: list[socket.socket] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="visitors", daemon=True)
        self._ways: list[tuple[str, Callable[[], None], int]] = [
            ("rebalance", self._ask, 10),
            ("report", self._report, 3),
            ("spoiled body", self._ask_spoiled, 4),
            ("large body", self._ask_large, 1),
            ("gone before the answer", self._leave, 3),
            ("half a head", lambda: self._fall_silent(b"POST /v1/assign HTTP/1.1\r\nHost: x\r\nContent-Ty"), 3),
            ("half a body", lambda: self._fall_silent(self._make_head(1000) + b"{"), 2),
            ("nothing at all", lambda: self._fall_silent(b""), 1),
            ("no HTTP", lambda: self._fall_silent(b"\x16\x03\x01\x02\r\n\r\n"), 1),
            ("metrics", lambda: self._send("GET", "/metrics", b"", {}), 2),
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """End the visits, and close open connections."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        while self._silent:
            self._silent.pop().close()

    def _run(self) -> None:
        while not self._end.wait(self._pause):
            name, visit, _ = self._random.choices(self._ways, [weight for *_, weight in self._ways])[0]
            self.visits[name] += 1
            try:
                visit()
            except (OSError, HTTPException):  # the service is stopped, or has closed the connection
                self.statuses[0] += 1

    def _make_snapshot(self) -> str:
        shape = self._random.choice(_SHAPES)
        state = generate(shape, self._random.randint(4, 40), self._random.randint(2, 5), 1, seed=self._random.getrandbits(30))
        name = f"visitor-{self._random.randrange(_APPLICATIONS)}"
        return state.model_copy(update={"application": name}).model_dump_json()

    def _ask(self) -> None:
        self._send("POST", "/v1/assign", self._make_snapshot().encode(), _HEADERS)

    def _report(self) -> None:
        snapshot = json.loads(self._make_snapshot())
        clients = [{"process_id": client["process_id"], "active": []} for client in snapshot["clients"]]
        for number, task in enumerate(snapshot["tasks"]):
            clients[number % len(clients)]["active"].append(task["id"])
        applied = {"format": 1, "assignor": "fallback", "clients": clients}
        body = {"application": snapshot["application"], "why": "a visit", "applied": applied, "snapshot": snapshot}
        now = str(round(1000 * time.time()))
        named = {"Optassign-Rebalance": f"{self._random.getrandbits(64):x}", "Optassign-Applied-At": now}
        self._send("POST", "/v1/applied", json.dumps(body).encode(), _HEADERS | named)

    def _ask_spoiled(self) -> None:
        body = bytearray(self._make_snapshot().encode())
        for _ in range(self._random.randint(1, 5)):
            body[self._random.randrange(len(body))] = self._random.getrandbits(8)
        self._send("POST", "/v1/assign", bytes(body), _HEADERS)

    def _ask_large(self) -> None:
        lists = ",".join(["[]"] * 700_000)
        self._send("POST", "/v1/assign", f'{{"format":1,"application":"large","x_lists":[{lists}]}}'.encode(), _HEADERS)

    def _leave(self) -> None:
        body = self._make_snapshot().encode()
        with socket.create_connection(self._address, timeout=_SECONDS) as connection:
            connection.sendall(self._make_head(len(body)) + body)

    def _fall_silent(self, first: bytes) -> None:
        connection = socket.create_connection(self._address, timeout=_SECONDS)
        connection.sendall(first)
        self._silent.append(connection)
        if len(self._silent) > _MOST_SILENT:
            self._silent.pop(0).close()

    def _make_head(self, length: int) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**_HEADERS, "Content-Length": length, "Host": "x"}.items())
        return f"POST /v1/assign HTTP/1.1\r\n{lines}\r\n".encode()

    def _send(self, method: str, page: str, body: bytes, headers: dict[str, str]) -> None:
        connection = HTTPConnection(*self._address, timeout=_SECONDS)
        try:
            connection.request(method, page, body, headers)
            response = connection.getresponse()
            response.read()
            self.statuses[response.status] += 1
        finally:
            connection.close()
