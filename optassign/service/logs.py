"""Logs on standard error: one line for each event, as JSON or for people (docs/reference/logs.md)."""

import json
import logging
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from optassign.printable import escape_unprintable
from optassign.service.clock import format_utc
from optassign.service.log_texts import describe_event
from optassign.service.log_writer import LogWriter

__all__ = ["JsonFormatter", "TextFormatter", "collect_fields", "log_event", "set_up_logging"]

_STANDARD_ERROR = 2
"""Its descriptor."""
_log = logging.getLogger("optassign.service")


def set_up_logging(log_format: str) -> None:
    """Send all log lines of this process to standard error, as `json` or as `text`; no caller waits for it."""
    formatter = JsonFormatter() if log_format == "json" else TextFormatter()

    def format_dropped(lines: dict[str, int]) -> str:
        record = logging.LogRecord(_log.name, logging.WARNING, "", 0, "log_limited", None, None)
        record.created, record.fields = time.time(), {"dropped": lines}
        return formatter.format(record)

    handler = LogWriter(_STANDARD_ERROR, format_dropped)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # of what it does we tell ourselves


def log_event(name: str, level: int = logging.INFO, *, failed: bool = False, **fields: Any) -> None:
    """Log an event and its fields. `failed`: also the traceback of the exception that is being handled."""
    _log.log(level, name, extra={"fields": fields}, exc_info=failed)


def collect_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Collect a line's fields: time, level, event, its sentence and its fields. A message of another logger is the event
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
    """Lines for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """An object of JSON."""
        return json.dumps(collect_fields(record), separators=(",", ":"), default=str)


class TextFormatter(logging.Formatter):
    """Lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, event and its sentence; then, behind a bar, `name=value` for each field that says something."""
        fields = collect_fields(record)
        head = [fields.pop(name) for name in ("time", "level", "event")]
        sentence = escape_unprintable(fields.pop("message")) if "message" in fields else None
        words = [f"{_quote(name)}={_quote(value)}" for name, value in _flatten(fields)]
        if sentence is None:
            return " ".join([*head, *words])
        return " ".join([*head[:2], f"{head[2]}:", sentence, *(["|", *words] if words else [])])


def _flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Name and text of each field; what is in a field that has fields goes by both names, `beside.tasks`."""
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
    """A text as one word, in quotes where it has to be, so that a line stays a line and can be split again."""
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
