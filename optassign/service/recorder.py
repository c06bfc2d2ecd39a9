"""Writing recordings, in a thread of its own: it may stop, but assigning goes on."""

import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO

from optassign.recordings.files import Entry, entries, folder_of, relative_path
from optassign.recordings.recording import RecordingHead, encode
from optassign.service.logs import event
from optassign.service.metrics import Metrics
from optassign.service.settings import SettingsError

__all__ = ["Recorder"]

_QUEUE = 64
_TEMPORARY = ".recording-"
_LOCK = ".lock"
_FOREVER = 300_000.0
"""Days: longer than any recording is old; so many before now is still a date, which more need not be."""
_LOOK_ROUND = 600.0
"""Seconds between looks for recordings that have become too old, where none are written."""


@dataclass(frozen=True)
class _Item:
    head: RecordingHead
    assignment: bytes
    snapshot: bytes


class Recorder:
    """Writes what it is given, deletes what is too old or too much, and says so when it cannot."""

    def __init__(self, folder: Path, keep_days: float, keep_bytes: int, metrics: Metrics) -> None:
        """SettingsError if the folder is a file, or another service records there."""
        self._folder, self._keep_bytes, self._metrics = folder, keep_bytes, metrics
        self._keep = timedelta(days=min(keep_days, _FOREVER))
        self._queue: queue.Queue[_Item | None] = queue.Queue(_QUEUE)
        self._thread = threading.Thread(target=self._run, name="optassign-recorder", daemon=True)
        self._known: deque[Entry] = deque()
        """All recordings, the oldest first."""
        self._bytes = 0
        self._works: bool | None = None
        self._lock = _locked(folder)

    def start(self) -> None:
        """Clean up and wait for rebalances."""
        self._thread.start()

    def put(self, head: RecordingHead, assignment: bytes, snapshot: bytes) -> None:
        """Record a rebalance some time soon. Never waits: if the disk does not keep up, the rebalance is lost."""
        try:
            self._queue.put_nowait(_Item(head, assignment, snapshot))
        except queue.Full:
            self._metrics.unrecorded.inc()
            self._failed("the disk does not keep up")

    def stop(self, seconds: float) -> None:
        """Write what is waiting, for so long at most."""
        with suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(seconds)
        if self._lock is not None:
            self._lock.close()

    def _run(self) -> None:
        counted = False
        for item in self._items():
            # Where it is not known what there is, nothing old can be deleted, so nothing is written either: it is tried again.
            counted = counted or self._attempt(self._take_stock)
            if item is not None:
                written = counted and self._attempt(partial(self._write, item))
                (self._metrics.recorded if written else self._metrics.unrecorded).inc()
            self._attempt(self._delete_old)

    def _items(self) -> Iterator[_Item | None]:
        """What is to be written; None at first, and where nothing has come for a while. Ends when the recorder is to stop."""
        yield None
        while True:
            try:
                item = self._queue.get(timeout=_LOOK_ROUND)
            except queue.Empty:
                yield None
            else:
                if item is None:
                    return
                yield item

    def _attempt(self, step: Callable[[], None]) -> bool:
        """Whether it worked. Whatever is wrong with one step is told, and ends nothing."""
        try:
            step()
        except OSError as error:
            self._failed(_reason(error))
            return False
        except Exception as error:  # a bug
            event("recording_failed", logging.ERROR, failed=True, why=str(error))
            return False
        return True

    def _take_stock(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # of a crash, as nobody else writes here; what cannot be read or deleted stays
            for leftover in self._folder.glob(f"*/*/{_TEMPORARY}*"):
                with suppress(OSError):
                    leftover.unlink()
        self._known = deque(sorted(entries(self._folder)))
        self._bytes = sum(entry.size for entry in self._known)
        self._succeeded()

    def _write(self, item: _Item) -> None:
        at = datetime.fromisoformat(item.head.recorded_at)
        number = 0
        while (path := self._folder / relative_path(item.head.application, at, number)).exists():
            number += 1
        content = encode(item.head, item.assignment, item.snapshot)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{_TEMPORARY}{path.name}")
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # else a crash of the machine may leave an empty file of the final name
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise
        self._known.append(Entry(at, number, folder_of(item.head.application), path, len(content)))
        self._bytes += len(content)
        self._metrics.recordings_bytes.set(self._bytes)
        self._succeeded()

    def _delete_old(self) -> None:
        oldest = datetime.now(UTC) - self._keep
        kept: list[tuple[Entry, OSError]] = []
        while self._known and (self._bytes > self._keep_bytes or self._known[0].at < oldest):
            gone = self._known.popleft()
            self._bytes -= gone.size
            try:
                gone.path.unlink(missing_ok=True)
            except OSError as error:  # somebody else's: it must not keep all later ones; looked at again after a restart
                kept.append((gone, error))
                continue
            with suppress(OSError):  # not empty yet
                gone.path.parent.rmdir()
                gone.path.parent.parent.rmdir()
        self._metrics.recordings_bytes.set(self._bytes)
        if kept:  # one line, however many: a folder may have changed hands with all that is in it
            entry, why = kept[0]
            event("recording_kept", logging.WARNING, path=str(entry.path), why=_reason(why), others=len(kept) - 1)

    def _succeeded(self) -> None:
        if self._works is not True:
            event("recording", folder=str(self._folder), recordings=len(self._known), bytes=self._bytes)
        self._works = True
        self._metrics.recording.set(1)

    def _failed(self, why: str) -> None:
        if self._works is not False:
            event("recording_stopped", logging.ERROR, folder=str(self._folder), why=why, note="assigning goes on")
        self._works = False
        self._metrics.recording.set(0)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _locked(folder: Path) -> IO[bytes] | None:
    """A lock on the folder as long as the file is open; None where there cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SettingsError(f"--recordings: found {folder}, which is a file; allowed: a folder, or a name for one") from None
    except OSError:
        return None
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    try:
        file = open(folder / _LOCK, "ab")  # noqa: SIM115 - stays open until the service ends
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise SettingsError(
            f"--recordings: found {folder}, where another service records; allowed: a folder of its own"
        ) from None
    except OSError:  # a file system without locks
        pass
    return file
