"""Logs on standard error: one line for each event, as JSON or for people (docs/operations.md)."""

import json
import logging
import time
import traceback
from typing import Any

from optassign.service.clock import format_utc
from optassign.service.log_writer import LogWriter

__all__ = ["JsonFormatter", "TextFormatter", "collect_fields", "log_event", "set_up_logging"]

_STANDARD_ERROR = 2
"""Its descriptor."""
_log = logging.getLogger("optassign.service")


def set_up_logging(log_format: str) -> None:
    """Send everything that is logged in this process to standard error, as `json` or as `text`; nobody waits for it."""
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
    """What a line says: time, level, event and its fields. A message of another logger is the event `log`."""
    found: dict[str, Any] = {"time": format_utc(record.created), "level": record.levelname.lower()}
    fields = getattr(record, "fields", None)
    if fields is None:
        found |= {"event": "log", "logger": record.name, "message": record.getMessage()}
    else:
        found |= {"event": record.getMessage(), **fields}
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
        """Time, level, event, and `name=value` for each field."""
        fields = collect_fields(record)
        head = [fields.pop(name) for name in ("time", "level", "event")]
        return " ".join([*head, *(f"{_quote(name)}={_quote(value)}" for name, value in fields.items())])


def _quote(value: Any) -> str:
    """A value as one word, in quotes where it has to be, so that a line stays a line and can be split again."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
