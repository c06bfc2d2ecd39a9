"""Writing recordings, in a thread of its own: it may stop, but assigning goes on."""

import logging
import os
import queue
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from optassign.recording_files import Entry, entries, folder_of, relative_path
from optassign.recordings import RecordingHead, encode
from optassign.service.logs import event
from optassign.service.metrics import Metrics
from optassign.service.settings import SettingsError

__all__ = ["Recorder"]

_QUEUE = 64
_TEMPORARY = ".recording-"
_LOCK = ".lock"
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
        self._folder, self._keep, self._keep_bytes, self._metrics = folder, timedelta(days=keep_days), keep_bytes, metrics
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
        try:
            self._take_stock()
            self._succeeded()
        except OSError as error:
            self._failed(_reason(error))
        while True:
            try:
                item = self._queue.get(timeout=_LOOK_ROUND)
                if item is None:
                    return
                self._write(item)
                self._metrics.recorded.inc()
                self._succeeded()
            except queue.Empty:
                pass
            except OSError as error:
                self._metrics.unrecorded.inc()
                self._failed(_reason(error))
            except Exception as error:  # a bug in writing must not end all writing
                self._metrics.unrecorded.inc()
                event("recording_failed", logging.ERROR, failed=True, why=str(error))
            with suppress(OSError):
                self._delete_old()

    def _take_stock(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for leftover in self._folder.glob(f"*/*/{_TEMPORARY}*"):  # of a crash: nobody else writes here
            leftover.unlink(missing_ok=True)
        self._known = deque(sorted(entries(self._folder)))
        self._bytes = sum(entry.size for entry in self._known)
        self._delete_old()

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

    def _delete_old(self) -> None:
        oldest = datetime.now(UTC) - self._keep
        while self._known and (self._bytes > self._keep_bytes or self._known[0].at < oldest):
            gone = self._known[0]
            gone.path.unlink(missing_ok=True)
            self._known.popleft()
            self._bytes -= gone.size
            with suppress(OSError):  # not empty yet
                gone.path.parent.rmdir()
                gone.path.parent.parent.rmdir()
        self._metrics.recordings_bytes.set(self._bytes)

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
