"""Logs on standard error: one line for each event, as JSON or for people."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

__all__ = ["event", "set_up"]

_log = logging.getLogger("optassign.service")


def set_up(log_format: str) -> None:
    """Everything that is logged in this process goes to standard error in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if log_format == "json" else _Text())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # of what it does we tell ourselves


def event(name: str, level: int = logging.INFO, *, failed: bool = False, **fields: Any) -> None:
    """Log an event with its fields; `failed`: with the exception that is being handled."""
    _log.log(level, name, extra={"fields": fields}, exc_info=failed)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Time, level, event and what belongs to it; a message of another logger is the event `log`."""
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
    fields = getattr(record, "fields", None)
    if fields is None:
        found |= {"event": "log", "logger": record.name, "message": record.getMessage()}
    else:
        found |= {"event": record.getMessage(), **fields}
    if record.exc_info and record.exc_info[0] is not None:
        found["traceback"] = "".join(traceback.format_exception(*record.exc_info))
    return found


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_fields(record), separators=(",", ":"), default=str)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        head = [fields.pop(name) for name in ("time", "level", "event")]
        return " ".join([*head, *(f"{name}={_plain(value)}" for name, value in fields.items())])


def _plain(value: Any) -> str:
    """One word, or quoted: a line stays a line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
