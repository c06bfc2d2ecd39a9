"""Points in time as the protocol, the recordings and the log write them."""

import time
from datetime import UTC, datetime

__all__ = ["format_utc", "read_milliseconds"]


def read_milliseconds() -> int:
    """Milliseconds since 1970, now."""
    return time.time_ns() // 1_000_000


def format_utc(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
