"""An HTTP server in front of the service that can be slow or wrong: faults that a plug-in must survive."""

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


class ServiceFault(StrEnum):
    """A fault that `FaultyFront` injects into the service's answers."""

    NONE = "none"
    """Forwards answers unchanged."""
    SLOW = "slow"
    """Forwards an answer after the plug-in has stopped waiting."""
    ERROR = "error"
    """Answers with status 500."""
    CUT = "cut"
    """Sends half of the body, then closes the connection."""
    GARBAGE = "garbage"
    """Answers with status 200 and a body that is not JSON."""
    EMPTY = "empty"
    """Answers with status 200 and valid JSON in which no client has a task."""
    TWICE = "twice"
    """Makes every task active on every client, which kills the threads that take over tasks."""
    FORGOTTEN = "forgotten"
    """Leaves out one task, which Kafka does not notice."""
    STRANGER = "stranger"
    """Gives the tasks to process ids that are not in the group."""
    PROTOCOL = "protocol"
    """States another version of the protocol than the plug-in's."""
    NEWCOMER = "newcomer"
    """Makes every task active on the client with the fewest tasks, which must restore all of them first (R3)."""
    BARE = "bare"
    """Leaves out all standbys (R4)."""
    WARM = "warm"
    """Warms up every logged task on every client without a copy (R6)."""
    STORM = "storm"
    """Lets every client ask for a follow-up after a second (R8)."""
    PLANLESS = "planless"
    """Adds a plan in which no task has a standby."""
    LENGTHY = "lengthy"
    """Adds a few MiB of progress of non-existent copies, more than the plug-in accepts for a small group."""
    FUTURE = "future"
    """States that it answered in the year 9000; the answer is correct."""


class FaultyFront:
    """A proxy that forwards requests to `target` and injects `fault`, which can be set at any time; a context manager."""

    def __init__(self, target: str, slow_seconds: float) -> None:
        self.target = target
        self.fault = ServiceFault.NONE
        self.requests: Counter[ServiceFault] = Counter()
        """Fault → number of requests while it was set."""
        self._slow_seconds = slow_seconds
        self._closed = threading.Event()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                front._answer_request(self, body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # the plug-in closes the connection when an answer is late

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop listening; answers that SLOW delays are sent at once."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _answer_request(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        fault = self.fault
        self.requests[fault] += 1
        try:
            status, headers, answer = self._ask_service(handler, body)
        except (OSError, HTTPException):
            handler.send_error(502)  # the service is not running
            return
        if fault is ServiceFault.SLOW:
            self._closed.wait(self._slow_seconds)
        elif fault is ServiceFault.ERROR:
            status = 500
        elif fault is ServiceFault.PROTOCOL:
            headers["optassign-protocol"] = "99"
        elif fault is ServiceFault.FUTURE:
            headers["optassign-answered-at"] = "221845392000000"
        elif fault in _CHANGES and status == 200 and handler.path == "/v1/assign":
            answer = _CHANGES[fault](answer)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        if fault is ServiceFault.CUT:
            handler.wfile.write(answer[: len(answer) // 2])
            handler.close_connection = True
        else:
            handler.wfile.write(answer)

    def _ask_service(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and uncompressed body of the service's answer to the request."""
        target = urlsplit(self.target)
        connection = HTTPConnection(target.hostname or "", target.port, timeout=_TIMEOUT)
        try:
            sent = {name: value for name, value in handler.headers.items() if name.lower() not in _HOP_HEADERS}
            connection.request(handler.command, handler.path, body, sent)
            response = connection.getresponse()
            answer = response.read()
            headers = {name.lower(): value for name, value in response.getheaders()}
            if headers.get("content-encoding") == "gzip":
                answer = gzip.decompress(answer)
            kept = headers.keys() - _HOP_HEADERS - {"content-encoding"}
            return response.status, {name: headers[name] for name in sorted(kept)}, answer
        finally:
            connection.close()


# Headers that concern one connection and not the request; they are not forwarded.
_HOP_HEADERS = frozenset(
    {"connection", "content-length", "date", "host", "http2-settings", "server", "transfer-encoding", "upgrade"}
)


def _change_clients(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[bytes], bytes]:
    """Return a function on an answer's bytes that applies `change` to its list of clients."""

    def apply(answer: bytes) -> bytes:
        document = json.loads(answer)
        change(document["clients"])
        return json.dumps(document).encode()

    return apply


def _take_all_tasks_away(clients: list[dict[str, Any]]) -> None:
    for client in clients:
        client.update(active=[], standby=[], warmup=[])


def _give_every_task_to_all(clients: list[dict[str, Any]]) -> None:
    every = sorted({task for client in clients for task in client["active"]})
    for client in clients:
        client.update(active=every, standby=[], warmup=[])


def _drop_one_task(clients: list[dict[str, Any]]) -> None:
    most = max(clients, key=lambda client: len(client["active"]))
    most["active"] = most["active"][1:]


def _rename_clients(clients: list[dict[str, Any]]) -> None:
    for number, client in enumerate(clients):
        client["process_id"] = f"00000000-0000-0000-0000-{number:012}"


def _give_all_to_newcomer(clients: list[dict[str, Any]]) -> None:
    newcomer = min(clients, key=lambda client: len(client["active"]))
    for client in clients:
        if client is not newcomer:
            newcomer["active"] = sorted({*newcomer["active"], *client["active"]})
            client["active"] = []
    for client in clients:
        client["warmup"] = []
        client["standby"] = [] if client is newcomer else client["standby"]


def _take_standbys_away(clients: list[dict[str, Any]]) -> None:
    for client in clients:
        client["standby"] = []


def _warm_everything_up(clients: list[dict[str, Any]]) -> None:
    """Let each client of an answer warm up all logged tasks of which it has no copy."""
    logged = sorted({task for client in clients for task in client["active"] if task.startswith("0_")})
    for client in clients:
        held = {*client["active"], *client["standby"]}
        client["warmup"] = [task for task in logged if task not in held]


def _ask_for_a_storm(clients: list[dict[str, Any]]) -> None:
    for client in clients:
        client["followup_rebalance_ms"] = 1000


def _add_a_plan_without_standbys(answer: bytes) -> bytes:
    document = json.loads(answer)
    document["plan"] = [{"process_id": each["process_id"], "active": each["active"]} for each in document["clients"]]
    return json.dumps(document).encode()


def _add_progress_of_nothing(answer: bytes) -> bytes:
    document = json.loads(answer)
    row = {"task": "9_9", "process_id": "nobody", "lag": 1, "answers_without_progress": 0}
    document.setdefault("report", {})["warmup_progress"] = [row] * 50_000
    return json.dumps(document).encode()


_CHANGES: dict[ServiceFault, Callable[[bytes], bytes]] = {
    ServiceFault.GARBAGE: lambda answer: b"\x00\xff<html>no such thing" + answer[:20],
    ServiceFault.EMPTY: _change_clients(_take_all_tasks_away),
    ServiceFault.TWICE: _change_clients(_give_every_task_to_all),
    ServiceFault.FORGOTTEN: _change_clients(_drop_one_task),
    ServiceFault.STRANGER: _change_clients(_rename_clients),
    ServiceFault.NEWCOMER: _change_clients(_give_all_to_newcomer),
    ServiceFault.BARE: _change_clients(_take_standbys_away),
    ServiceFault.WARM: _change_clients(_warm_everything_up),
    ServiceFault.STORM: _change_clients(_ask_for_a_storm),
    ServiceFault.PLANLESS: _add_a_plan_without_standbys,
    ServiceFault.LENGTHY: _add_progress_of_nothing,
}
