"""Points in time as snapshots and answers carry them: ISO 8601; without a zone they are UTC, so that no machine decides."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator

from optassign.formats.base import cross_check_error, quote

__all__ = ["Time", "parse_time", "to_ms"]


def parse_time(text: str) -> datetime:
    """The time, in UTC. ValueError if it is none."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def to_ms(text: str) -> int:
    """Milliseconds since 1970."""
    return round((parse_time(text) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _is_time(text: str) -> str:
    try:
        parse_time(text)
    except (ValueError, OverflowError):
        raise cross_check_error(quote(text), "a time as in ISO 8601, such as 2026-11-20T15:20:01.123Z") from None
    return text


Time = Annotated[str, AfterValidator(_is_time)]
"""Text that is a time."""
