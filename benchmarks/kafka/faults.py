"""An HTTP server in front of the service that can be slow or wrong: what a plug-in must survive."""

from __future__ import annotations

import gzip
import json
import threading
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

_TIMEOUT = 30.0


class Fault(StrEnum):
    """What the server in front does with the service's answers."""

    NONE = "none"
    """Hands them on."""
    SLOW = "slow"
    """Hands them on when nobody waits any more."""
    ERROR = "error"
    """Status 500 instead."""
    CUT = "cut"
    """Half of the body, then the connection ends."""
    GARBAGE = "garbage"
    """Status 200, and no JSON."""
    EMPTY = "empty"
    """Status 200, JSON of the right form, and no task for anyone."""
    TWICE = "twice"
    """Every task active on every client, which kills the thread that takes it over."""
    FORGOTTEN = "forgotten"
    """One task on no client, which Kafka does not notice."""
    STRANGER = "stranger"
    """Process ids that are not in the group."""
    PROTOCOL = "protocol"
    """Another protocol version than the plug-in speaks."""


class FaultyFront:
    """Listens on a port of its own and hands requests on to `target`; set `fault` at any time. A context manager."""

    def __init__(self, target: str, slow_seconds: float) -> None:
        self.target = target
        self.fault = Fault.NONE
        self.requests: Counter[Fault] = Counter()
        """Requests that came while this fault was set."""
        self._slow_seconds = slow_seconds
        self._closed = threading.Event()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                front._answer(self, body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # the plug-in hung up, as it should where the answer came too late

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """End it; who waits for a slow answer gets none."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        fault = self.fault
        self.requests[fault] += 1
        try:
            status, headers, answer = self._ask(handler, body)
        except (OSError, HTTPException):
            handler.send_error(502)  # the service is down
            return
        if fault is Fault.SLOW:
            self._closed.wait(self._slow_seconds)
        elif fault is Fault.ERROR:
            status = 500
        elif fault is Fault.PROTOCOL:
            headers["optassign-protocol"] = "99"
        elif fault in _PERVERSIONS and status == 200:
            answer = _PERVERSIONS[fault](answer)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        if fault is Fault.CUT:
            handler.wfile.write(answer[: len(answer) // 2])
            handler.close_connection = True
        else:
            handler.wfile.write(answer)

    def _ask(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """The service's status, headers and body, unpacked."""
        target = urlsplit(self.target)
        connection = HTTPConnection(target.hostname or "", target.port, timeout=_TIMEOUT)
        try:
            sent = {name: value for name, value in handler.headers.items() if name.lower() not in _OF_A_CONNECTION}
            connection.request(handler.command, handler.path, body, sent)
            response = connection.getresponse()
            answer = response.read()
            headers = {name.lower(): value for name, value in response.getheaders()}
            if headers.get("content-encoding") == "gzip":
                answer = gzip.decompress(answer)
            kept = headers.keys() - _OF_A_CONNECTION - {"content-encoding"}
            return response.status, {name: headers[name] for name in sorted(kept)}, answer
        finally:
            connection.close()


_OF_A_CONNECTION = frozenset(
    {"connection", "content-length", "date", "host", "http2-settings", "server", "transfer-encoding", "upgrade"}
)


def _perverted(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[bytes], bytes]:
    """What applies a change to the clients of an answer."""

    def apply(answer: bytes) -> bytes:
        document = json.loads(answer)
        change(document["clients"])
        return json.dumps(document).encode()

    return apply


def _nothing(clients: list[dict[str, Any]]) -> None:
    for client in clients:
        client.update(active=[], standby=[], warmup=[])


def _twice(clients: list[dict[str, Any]]) -> None:
    every = sorted({task for client in clients for task in client["active"]})
    for client in clients:
        client.update(active=every, standby=[], warmup=[])


def _forgotten(clients: list[dict[str, Any]]) -> None:
    most = max(clients, key=lambda client: len(client["active"]))
    most["active"] = most["active"][1:]


def _stranger(clients: list[dict[str, Any]]) -> None:
    for number, client in enumerate(clients):
        client["process_id"] = f"00000000-0000-0000-0000-{number:012}"


_PERVERSIONS: dict[Fault, Callable[[bytes], bytes]] = {
    Fault.GARBAGE: lambda answer: b"\x00\xff<html>no such thing" + answer[:20],
    Fault.EMPTY: _perverted(_nothing),
    Fault.TWICE: _perverted(_twice),
    Fault.FORGOTTEN: _perverted(_forgotten),
    Fault.STRANGER: _perverted(_stranger),
}
