"""Logs on standard error: one line for each event, as JSON or as a sentence for people (docs/reference/logs.md)."""

import json
import logging
import os
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any

from optassign.printable import escape_unprintable
from optassign.service.clock import format_utc

__all__ = [
    "TEXTS",
    "JsonFormatter",
    "LogWriter",
    "TextFormatter",
    "collect_fields",
    "describe_event",
    "log_event",
    "set_up_logging",
]

_WAITING_LINES = 2_000  # lines that wait for standard error: a stalled reader must not fill the memory
_BURST_LINES = 500  # lines of one event that are written at once: a flood of one event leaves room for the others
_LINES_PER_SECOND = 50
"""Lines of one event that are written per second after a burst."""
_LOG_KINDS = 100  # kinds of events with a limit of their own: libraries choose the names of their loggers
_LONGEST_LINE = 16_384  # characters of a log line: Docker splits lines of more than 16 KiB
_LOG_STOPS_S = 2.0
"""Seconds for writing the waiting lines when the service stops; a stalled reader must not keep the service."""


class LogWriter(logging.Handler):
    """A handler that writes lines from its own thread. Lines beyond the limits are dropped, counted and reported.

    format_dropped: returns the line about dropped lines from their numbers by event. read_seconds: a monotonic clock.
    """

    def __init__(
        self,
        descriptor: int,
        format_dropped: Callable[[dict[str, int]], str],
        read_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._descriptor, self._format_dropped, self._read_seconds = descriptor, format_dropped, read_seconds
        self._queue: queue.Queue[str | None] = queue.Queue(_WAITING_LINES)
        self._allowances: dict[str, tuple[float, float]] = {}
        """Kind of event → (lines that may be written, time of that number by `read_seconds`)."""
        self._dropped: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._write_lines, name="optassign-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record for writing; never waits."""
        kind = record.getMessage() if hasattr(record, "fields") else record.name
        try:
            if self._may_write(kind):
                self._queue.put_nowait(self.format(record))
                return
        except queue.Full:
            pass
        except Exception:  # a record that cannot be formatted must not end the program
            self.handleError(record)
            return
        with self._counting:
            self._dropped[kind] += 1

    def close(self) -> None:
        """Write the waiting lines, for at most `_LOG_STOPS_S`."""
        try:
            self._queue.put(None, timeout=_LOG_STOPS_S)
        except queue.Full:
            pass
        else:
            self._thread.join(_LOG_STOPS_S)
        super().close()

    def _may_write(self, kind: str) -> bool:
        """Return whether a line of a kind may be written now, and charge its allowance (a token bucket)."""
        now = self._read_seconds()
        with self._counting:
            if kind not in self._allowances and len(self._allowances) >= _LOG_KINDS:
                kind = ""
            room, since = self._allowances.get(kind, (float(_BURST_LINES), now))
            room = min(float(_BURST_LINES), room + _LINES_PER_SECOND * (now - since))
            self._allowances[kind] = (max(0.0, room - 1), now)
            return room >= 1

    def _write_lines(self) -> None:
        while True:
            try:
                line = self._queue.get(timeout=1)
            except queue.Empty:
                line = ""
            if line is None:
                self._log_dropped()
                return
            if line:
                self._write(line)
            if not line or self._queue.empty():
                self._log_dropped()

    def _log_dropped(self) -> None:
        with self._counting:
            dropped, self._dropped = dict(self._dropped), Counter()
        if dropped:
            self._write(self._format_dropped(dropped))

    def _write(self, line: str) -> None:
        """Write a line to the descriptor. Python's own standard error would hold a lock that the end of the process needs."""
        if len(line) > _LONGEST_LINE:
            line = self._shorten(line)
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # closed: there is no reader
            pass

    def _shorten(self, line: str) -> str:
        """Return the line cut to about `_LONGEST_LINE` characters; JSON stays valid."""
        if not line.startswith("{"):
            return line[:_LONGEST_LINE] + "..."
        fields = json.loads(line)
        room = _LONGEST_LINE // max(1, len(fields))
        for name, value in fields.items():
            text = value if isinstance(value, str) else json.dumps(value)
            if len(text) > room:
                fields[name] = text[:room] + "..."
        return json.dumps(fields, separators=(",", ":"))


_STANDARD_ERROR = 2  # its file descriptor
_log = logging.getLogger("optassign.service")


def set_up_logging(log_format: str) -> None:
    """Send all log lines of this process to standard error, as `json` or as `text`, without waiting for it."""
    formatter = JsonFormatter() if log_format == "json" else TextFormatter()

    def format_dropped(lines: dict[str, int]) -> str:
        record = logging.LogRecord(_log.name, logging.WARNING, "", 0, "log_limited", None, None)
        record.created, record.fields = time.time(), {"dropped": lines}
        return formatter.format(record)

    handler = LogWriter(_STANDARD_ERROR, format_dropped)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the service logs these events itself


def log_event(name: str, level: int = logging.INFO, *, failed: bool = False, **fields: Any) -> None:
    """Log an event and its fields. `failed`: also the traceback of the present exception."""
    _log.log(level, name, extra={"fields": fields}, exc_info=failed)


def collect_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return a line's fields: time, level, event, sentence, and the event's own. A message of another logger is the event
    `log`."""
    found: dict[str, Any] = {"time": format_utc(record.created), "level": record.levelname.lower()}
    fields = getattr(record, "fields", None)
    if fields is None:
        found |= {"event": "log", "logger": record.name, "message": record.getMessage()}
    else:
        event = record.getMessage()
        sentence = describe_event(event, fields)
        found |= {"event": event, **({} if sentence is None else {"message": sentence}), **fields}
    if record.exc_info and record.exc_info[0] is not None:
        found["traceback"] = "".join(traceback.format_exception(*record.exc_info))
    return found


class JsonFormatter(logging.Formatter):
    """A formatter of events as JSON objects, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a JSON object."""
        return json.dumps(collect_fields(record), separators=(",", ":"), default=str)


class TextFormatter(logging.Formatter):
    """A formatter of events as sentences, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, event and sentence, then after a bar `name=value` for each field with a value."""
        fields = collect_fields(record)
        head = [fields.pop(name) for name in ("time", "level", "event")]
        sentence = escape_unprintable(fields.pop("message")) if "message" in fields else None
        words = [f"{_quote(name)}={_quote(value)}" for name, value in _flatten(fields)]
        if sentence is None:
            return " ".join([*head, *words])
        return " ".join([*head[:2], f"{head[2]}:", sentence, *(["|", *words] if words else [])])


def _flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and text of each field; nested names are joined by dots, such as `not_applied.tasks`.

    Commas join the elements of a list. None and empty lists are left out.
    """
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            if value:
                yield prefix + name, ", ".join(map(_to_text, value))
        elif value is not None:
            yield prefix + name, _to_text(value)


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quote(text: str) -> str:
    """Return a text as one word, so that a line stays one line and can be split again."""
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)


Fields = Mapping[str, Any]


def _describe_rebalance(fields: Fields) -> str:
    name, assignor = fields["application"] or "an application without a name", fields["assignor"]
    if fields.get("fallback"):
        return f"{assignor} assigned {name}, but {fields['fallback']}"
    if "tasks" not in fields:
        return f"{assignor} assigned {name}"
    moved = f"{fields['moved_active']:,} of {fields['tasks']:,} active tasks move"
    late = "" if fields["in_time"] else "; the answer was ready after its deadline, so the plug-in has fallen back"
    waits = "" if not fields["waiting"] else f", the follow-up waits for {fields['waiting']:,} copies"
    stalled = "; no warm-up makes progress: check the slots and the disks of the instances" if fields["stalled"] else ""
    paused = "" if fields.get("hold", "none") == "none" else "; it is paused, so nothing moves but what the rules force"
    return f"{assignor} assigned {name}: {moved}, {fields['warmups']:,} warm-ups{waits}{paused}{late}{stalled}"


def _describe_report(fields: Fields) -> str:
    name = fields["application"] or "an application without a name"
    why = f": {fields['why']}" if fields["why"] else ""
    return f"The plug-in reports that {fields['assignor']} assigned {name}, and not this service{why}"


def _describe_refused(fields: Fields) -> str:
    of = f" of {fields['application']}" if fields["application"] else ""
    then = "; the plug-in's planner answers" if fields["path"] == "/v1/assign" else ""
    return f"A request{of} to {fields['path']} had no answer after {fields['seconds']} s: {fields['why']}{then}"


def _describe_death(fields: Fields) -> str:
    over = f" over a request of {fields['application']}" if fields["application"] else ""
    return f"Worker {fields['pid']} died{over}: {fields['why']}; a new one starts"


def _describe_request(fields: Fields) -> str:
    """Return the sentence of event `hold`: an operator's request, or its progress."""
    name, client, by = fields["application"], fields.get("client"), fields.get("by")
    texts = {
        "paused": f"{by} paused {name}",
        "resumed": f"{by} resumed {name}",
        "forget_plan": f"{by} had {name} replanned: its next rebalance makes a new target assignment",
        "plan_not_forgotten": f"{by} cancelled the replanning of {name}",
        "plan_forgotten": f"{name} has a new target assignment, as requested",
        "ended": f"{by} had {name} forgotten: it is expected to be silent",
        "end_cancelled": f"{by} cancelled the end of {name}",
        "returned": f"{name}, which was forgotten, rebalances again",
        "drain": f"{by} drains {client} of {name}",
        "undrain": f"{by} cancelled the drain of {client} of {name}",
        "drained": f"{client} of {name} has left, so its drain is over",
        "drain_state": f"The drain of {client} of {name}: {str(fields.get('state')).replace('_', ' ')}",
    }
    return texts.get(fields["what"], f"{name}: {fields['what']}")


TEXTS: dict[str, str | Callable[[Fields], str]] = {
    "applications_read": "The file of applications has changed and was read again",
    "assignor_promises_less": "{assignor} does not promise R1 to R6, so active plug-ins refuse its assignments that break one; "
    "choose another --assignor, or run plug-ins in shadow mode",
    "bug": "A bug ended the request to {path}: {error}; please report it with this traceback",
    "certificate_read": "The TLS certificate has changed and was read again",
    "client_gone": "The caller of {path} closed the connection before the response; check its timeout and the network",
    "connection_ended": "The service closed a connection that kept a slot without a request under way ({why})",
    "connection_refused": "A connection from {peer} was refused (limit: {limit}); raise --max-connections if it is legitimate",
    "demo": "{recordings} simulated rebalances of a day are in {folder}, which is deleted at the end",
    "drain_not_saved": "The state of a request for {application} could not be saved: {why}; the next rebalance tries again",
    "hold": _describe_request,
    "listening": "The service listens on {url}",
    "log_limited": "Lines of the log were dropped: too many came at once, or standard error did not take them",
    "login_failed": "A request from {peer} to {path} had no valid token; check the token file and the caller's token",
    "memory_forgotten": "The last assignment of {application} is dated too far ahead and is forgotten; check the clocks",
    "memory_lost": "The recordings in {folder} could not be read: {why}; the next rebalances start without memory",
    "memory_restored": "The last assignments of {applications} applications are remembered again",
    "operator_requests_lost": "Pauses and drains could not be read ({why}); check those in force, request the others again, "
    "then delete {file}",
    "operator_requests_restored": "Pauses and drains of {applications} applications are in force again, read from {file}",
    "pages_ready": "The process of pages has made its first page",
    "rebalance": _describe_rebalance,
    "recording": "Rebalances are recorded in {folder}",
    "recording_failed": "A rebalance could not be recorded: {why}; assigning goes on, check the disk",
    "recording_kept": "The recording {path} could not be deleted: {why}; delete it, or correct its permissions",
    "recording_stopped": "Nothing is recorded in {folder}: {why}; assigning goes on, and recording resumes by itself",
    "refused": _describe_refused,
    "report": _describe_report,
    "secret_readable": "Every user of this machine may read {path}; take that right away: chmod o-r",
    "settings_kept": "A changed file could not be used: {why}; the previous settings stay in force, correct the file",
    "stopped": "The service has stopped",
    "stopping": "The service stops on {signal}: requests under way are answered first",
    "tokens_read": "The token file has changed and was read again",
    "worker_died": _describe_death,
    "worker_failed": "A worker did not start: {why}; next try in {next_try_seconds} s, check memory and assignor",
    "worker_ready": "Worker {pid} is ready",
}
"""Event → its sentence, with names of fields in braces, or a function that returns the sentence for the fields."""


def describe_event(event: str, fields: Fields) -> str | None:
    """Return the sentence of an event as one printable line; None for an event without a sentence, such as a library's."""
    text = TEXTS.get(event)
    if text is None:
        return None
    try:
        sentence = text(fields) if callable(text) else Formatter().vformat(text, (), fields)
    except (KeyError, TypeError, ValueError):  # missing fields must not lose the event
        return None
    return escape_unprintable(sentence)
