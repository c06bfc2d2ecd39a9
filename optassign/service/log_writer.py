"""Write lines to standard error without any caller waiting for it, and never more of them than a person can read."""

import json
import logging
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable

from optassign_models.policy.constants import BURST_LINES, LINES_PER_SECOND, LOG_KINDS, LOG_STOPS_S, LONGEST_LINE, WAITING_LINES

__all__ = ["LogWriter"]


class LogWriter(logging.Handler):
    """Writes lines from a thread of its own. Surplus and unread lines are dropped, counted and told.

    format_dropped: a line that tells how many lines were dropped, by event.
    read_seconds: a clock that only goes forward.
    """

    def __init__(
        self,
        descriptor: int,
        format_dropped: Callable[[dict[str, int]], str],
        read_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._descriptor, self._format_dropped, self._read_seconds = descriptor, format_dropped, read_seconds
        self._queue: queue.Queue[str | None] = queue.Queue(WAITING_LINES)
        self._allowances: dict[str, tuple[float, float]] = {}
        """Kind -> (lines that may be written, at which time)."""
        self._dropped: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._write_lines, name="optassign-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Have the record written some time soon; never waits."""
        kind = record.getMessage() if hasattr(record, "fields") else record.name
        try:
            if self._may_write(kind):
                self._queue.put_nowait(self.format(record))
                return
        except queue.Full:
            pass
        except Exception:  # of a log that cannot be formatted the program must not end
            self.handleError(record)
            return
        with self._counting:
            self._dropped[kind] += 1

    def close(self) -> None:
        """Write waiting lines, within an unnoticeable time."""
        try:
            self._queue.put(None, timeout=LOG_STOPS_S)
        except queue.Full:
            pass
        else:
            self._thread.join(LOG_STOPS_S)
        super().close()

    def _may_write(self, kind: str) -> bool:
        """Whether the kind's allowance has room for one more line."""
        now = self._read_seconds()
        with self._counting:
            if kind not in self._allowances and len(self._allowances) >= LOG_KINDS:
                kind = ""
            room, since = self._allowances.get(kind, (float(BURST_LINES), now))
            room = min(float(BURST_LINES), room + LINES_PER_SECOND * (now - since))
            self._allowances[kind] = (max(0.0, room - 1), now)
            return room >= 1

    def _write_lines(self) -> None:
        while True:
            try:
                line = self._queue.get(timeout=1)
            except queue.Empty:
                line = ""
            if line is None:
                self._tell_dropped()
                return
            if line:
                self._write(line)
            if not line or self._queue.empty():
                self._tell_dropped()

    def _tell_dropped(self) -> None:
        with self._counting:
            dropped, self._dropped = dict(self._dropped), Counter()
        if dropped:
            self._write(self._format_dropped(dropped))

    def _write(self, line: str) -> None:
        """Write a line. By its descriptor: Python's own standard error would hold a lock that the end of the process needs."""
        if len(line) > LONGEST_LINE:
            line = self._shorten(line)
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # closed, or its reader has gone: there is no reader to tell
            pass

    def _shorten(self, line: str) -> str:
        """A line that is too long, cut; as JSON again, if it was."""
        if not line.startswith("{"):
            return line[:LONGEST_LINE] + "..."
        fields = json.loads(line)
        room = LONGEST_LINE // max(1, len(fields))
        for name, value in fields.items():
            text = value if isinstance(value, str) else json.dumps(value)
            if len(text) > room:
                fields[name] = text[:room] + "..."
        return json.dumps(fields, separators=(",", ":"))
