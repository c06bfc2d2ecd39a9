"""The recorder writes and deletes recordings in its own thread, so that a full disk does not stop assignment."""

import logging
import os
import queue
import threading
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO

from optassign.formats.input_errors import InputError
from optassign.recordings.files import (
    RecordingFile,
    count_recordings,
    find_recordings,
    make_relative_path,
    measure_file,
    name_day,
    name_folder,
    read_recording_head,
)
from optassign.recordings.recording import RecordingHead, encode_recording, join_report
from optassign.service.clock import TrustedClock
from optassign.service.logs import log_event
from optassign.service.metrics import Metrics
from optassign.service.newest import MOST_KNOWN, Newest
from optassign.service.settings import SettingsError

__all__ = ["Recorder"]

_SAME_REBALANCE_S = 120.0
"""Greatest difference in seconds between the dates of a rebalance's answer and its report."""
_RECORDER_QUEUE = 64  # rebalances that wait to be written: a stalled disk must not fill the memory
_MOST_KEEP_DAYS = 300000.0
"""The most days for which recordings are kept: Python has no dates before year 1."""
_CLEAN_UP_S = 600.0
"""Seconds between two checks for old recordings if none are written. Days are counted, so minutes do not matter."""

_TEMPORARY = ".recording-"
"""Prefix of the names of unfinished files."""
_CLOCK = ".clock"
"""The file with the latest trusted time."""
_LOCK = ".lock"
"""The file whose lock tells other services that the folder is in use."""
_DELETED_AT_ONCE = 500
"""Old recordings that are deleted before the next rebalance is written; they take some tens of milliseconds."""
_SAME_REBALANCE = timedelta(seconds=_SAME_REBALANCE_S)


@dataclass(frozen=True)
class _Rebalance:
    """The parts of a recording; both answers and `snapshot` are JSON."""

    head: RecordingHead
    assignment: bytes
    snapshot: bytes
    not_applied: bytes | None


class Recorder:
    """A writer of recordings. It deletes the oldest recordings beyond the limits of age and size, and logs failures."""

    def __init__(self, folder: Path, keep_days: float, keep_bytes: int, metrics: Metrics) -> None:
        """Lock the folder. SettingsError if the folder is a file, or another service records there."""
        self._folder, self._keep_bytes, self._metrics = folder, keep_bytes, metrics
        self._keep = timedelta(days=min(keep_days, _MOST_KEEP_DAYS))
        self._queue: queue.Queue[_Rebalance | None] = queue.Queue(_RECORDER_QUEUE)
        self._thread = threading.Thread(target=self._run, name="optassign-recorder", daemon=True)
        self._days: dict[str, tuple[int, int]] = {}
        """Day, as in folder names → number and bytes of its recordings."""
        self._oldest: deque[RecordingFile] = deque()
        """Recordings of the oldest day, the oldest first; listed when recordings must be deleted."""
        self._kept: set[Path] = set()
        """Recordings that could not be deleted and no longer count."""
        self._idle = Newest[str | None, RecordingFile | None](MOST_KNOWN)
        """Application with a stable group → its last recording, which the next one replaces; None if that is its first
        recording, which is kept."""
        self._bytes = 0
        self._has_more_to_delete = False
        self._clock = TrustedClock(folder / _CLOCK)
        self._is_recording: bool | None = None
        self._lock = _lock_folder(folder)

    def start(self) -> None:
        """Start the thread, which counts recordings, deletes old ones and then waits for rebalances."""
        self._thread.start()

    def put(self, head: RecordingHead, assignment: bytes, snapshot: bytes, not_applied: bytes | None = None) -> bool:
        """Queue a rebalance without waiting, and return whether it had room: if the disk does not keep up, it is lost.

        Two rebalances with the same `head.rebalance` make one recording (`join_report`).
        """
        try:
            self._queue.put_nowait(_Rebalance(head, assignment, snapshot, not_applied))
        except queue.Full:
            self._metrics.unrecorded.inc()
            self._note_failure("the disk does not keep up")
            return False
        return True

    def stop(self, seconds: float) -> None:
        """Write the queued rebalances, for at most `seconds`, and stop."""
        with suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(seconds)
        if self._lock is not None:
            self._lock.close()

    def _run(self) -> None:
        counted = False
        for rebalance in self._take_rebalances():
            # Write nothing until the present recordings are counted, since old ones cannot be deleted before.
            counted = counted or self._attempt(self._count_recordings)
            if rebalance is not None:
                written = counted and self._attempt(partial(self._write, rebalance))
                (self._metrics.recorded if written else self._metrics.unrecorded).inc()
            self._attempt(self._delete_old)

    def _take_rebalances(self) -> Iterator[_Rebalance | None]:
        """Yield each rebalance to write, and None at first and when old recordings are due for deletion. Ends with the
        recorder."""
        yield None
        while True:
            try:
                rebalance = self._queue.get(timeout=0 if self._has_more_to_delete else _CLEAN_UP_S)
            except queue.Empty:
                yield None
            else:
                if rebalance is None:
                    return
                yield rebalance

    def _attempt(self, step: Callable[[], None]) -> bool:
        """Run a step, and return whether it succeeded. Errors are logged and do not end the recorder."""
        try:
            step()
        except OSError as error:
            self._note_failure(_describe_error(error))
            return False
        except Exception as error:  # a bug
            log_event("recording_failed", logging.ERROR, failed=True, why=str(error))
            return False
        return True

    def _count_recordings(self) -> None:
        """Count the present recordings, after deleting unfinished files of a crash."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # only this process writes here; leftovers that cannot be read or deleted stay
            for leftover in self._folder.glob(f"*/*/{_TEMPORARY}*"):
                with suppress(OSError):
                    leftover.unlink()
        self._days = count_recordings(self._folder)
        self._bytes = sum(size for _, size in self._days.values())
        self._oldest.clear()
        self._note_success()

    def _count(self, file: RecordingFile, number: int, size: int) -> None:
        """Count a recording of `size` bytes that was added (1) or removed (-1)."""
        day = name_day(file.at)
        known, bytes_known = self._days.get(day, (0, 0))
        self._days[day] = (known + number, bytes_known + number * size)
        self._bytes += number * size
        if known + number <= 0:
            self._bytes -= self._days.pop(day)[1]

    def _write(self, rebalance: _Rebalance) -> None:
        at = datetime.fromisoformat(rebalance.head.recorded_at)
        known = self._find_same(rebalance.head, at)
        if known is not None:
            joined = join_report(known.path, rebalance.head, rebalance.assignment)
            if joined is not None:
                size = measure_file(known.path)
                self._write_file(known.path, joined)
                self._count(known, -1, size)
                with suppress(ValueError):
                    self._oldest.remove(known)
                self._add_file(known)
            self._idle.pop(rebalance.head.application, None)  # it is the only recording of what Kafka applied
            return
        number = 0
        while (path := self._folder / make_relative_path(rebalance.head.application, at, number)).exists():
            number += 1
        content = encode_recording(rebalance.head, rebalance.assignment, rebalance.snapshot, rebalance.not_applied)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write_file(path, content)
        file = RecordingFile(at, number, name_folder(rebalance.head.application), path)
        self._add_file(file)
        self._thin_out(rebalance.head, file)

    def _thin_out(self, head: RecordingHead, file: RecordingFile) -> None:
        """Keep only the first and the last recording of a stable group: those between repeat the same answer."""
        name = head.application
        if not _is_idle(head):
            self._idle.pop(name, None)
            return
        before = self._idle.get(name)
        self._idle[name] = file if name in self._idle else None
        if before is not None:
            with suppress(OSError):
                size = measure_file(before.path)
                before.path.unlink()
                self._count(before, -1, size)
                with suppress(ValueError):
                    self._oldest.remove(before)
                before.path.parent.rmdir()  # fails while the day has other recordings

    def _write_file(self, path: Path, content: bytes) -> None:
        """Write a file or replace it. After a crash, it has the old content or the new."""
        temporary = path.with_name(f"{_TEMPORARY}{path.name}")
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # otherwise a crash of the machine may leave an empty file of the final name
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise

    def _add_file(self, file: RecordingFile) -> None:
        self._count(file, 1, measure_file(file.path))
        if self._oldest and name_day(file.at) == name_day(self._oldest[0].at):
            insort(self._oldest, file)
        self._metrics.recordings_bytes.set(self._bytes)
        self._note_success()

    def _find_same(self, head: RecordingHead, at: datetime) -> RecordingFile | None:
        """Return the recording of the same rebalance, or None."""
        if head.rebalance is None:
            return None
        days = {name_day(day) for day in (at - _SAME_REBALANCE, at, at + _SAME_REBALANCE)}
        for file in sorted(find_recordings(self._folder, head.application, days), reverse=True):
            if abs(file.at - at) <= _SAME_REBALANCE and file.folder == name_folder(head.application):
                with suppress(InputError):
                    if read_recording_head(file.path).rebalance == head.rebalance:
                        return file
        return None

    def _delete_old(self) -> None:
        """Delete the oldest recordings beyond the limits, at most `_DELETED_AT_ONCE`, so that waiting rebalances are written in
        between."""
        oldest = self._clock.read() - self._keep
        kept: list[tuple[RecordingFile, OSError]] = []
        for _ in range(_DELETED_AT_ONCE):
            first = self._find_oldest() if self._bytes > self._keep_bytes or self._has_day_before(oldest) else None
            if first is None or (self._bytes <= self._keep_bytes and first.at >= oldest):
                self._has_more_to_delete = False
                break
            self._oldest.popleft()
            try:
                self._count(first, -1, measure_file(first.path))
                first.path.unlink(missing_ok=True)
            except FileNotFoundError:
                self._count(first, -1, 0)
            except OSError as error:  # it may belong to another program: skip it until the next start
                kept.append((first, error))
                self._kept.add(first.path)
                continue
            with suppress(OSError):  # delete empty folders as well
                first.path.parent.rmdir()
                first.path.parent.parent.rmdir()
        else:
            self._has_more_to_delete = True
        self._metrics.recordings_bytes.set(self._bytes)
        if kept:  # one line for all of them: a folder's owner may have changed
            file, why = kept[0]
            log_event("recording_kept", logging.WARNING, path=str(file.path), why=_describe_error(why), others=len(kept) - 1)

    def _has_day_before(self, oldest: datetime) -> bool:
        return min(self._days, default=name_day(oldest)) <= name_day(oldest)

    def _find_oldest(self) -> RecordingFile | None:
        """Return the oldest recording, listing its day on demand. None if there is no recording."""
        while self._days and (not self._oldest or name_day(self._oldest[0].at) > min(self._days)):
            day = min(self._days)
            of_day = find_recordings(self._folder, days={day})
            self._oldest = deque(sorted(file for file in of_day if file.path not in self._kept))
            if not self._oldest:  # another program has deleted them
                self._bytes -= self._days.pop(day)[1]
        return self._oldest[0] if self._oldest else None

    def _note_success(self) -> None:
        """Set the gauge of recording; after a failure, or at first, log that recordings are written."""
        if self._is_recording is not True:
            number = sum(count for count, _ in self._days.values())
            log_event("recording", folder=str(self._folder), recordings=number, bytes=self._bytes)
        self._is_recording = True
        self._metrics.recording.set(1)

    def _note_failure(self, why: str) -> None:
        if self._is_recording is not False:
            log_event("recording_stopped", logging.ERROR, folder=str(self._folder), why=why, note="assigning goes on")
        self._is_recording = False
        self._metrics.recording.set(0)


def _is_idle(head: RecordingHead) -> bool:
    """Return whether an answer, active and in time, found the group stable, with the same clients and no request."""
    summary, overview = head.summary, head.overview
    has_same_clients = overview is None or not (overview.joined or overview.left)
    is_rest = summary.reason == "rest" and summary.awaited in (None, "operators") and summary.hold == "none"
    return is_rest and not head.reported and head.mode == "active" and head.in_time and has_same_clients


def _describe_error(error: OSError) -> str:
    return error.strerror or str(error)


def _lock_folder(folder: Path) -> IO[bytes] | None:
    """Lock the folder while the returned file is open; None on Windows, or if the folder cannot be written.

    SettingsError if another service holds the lock, or the folder is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SettingsError(f"--recordings: found {folder}, which is a file; allowed: a folder, or a name for one") from None
    except OSError:
        return None
    try:
        import fcntl
    except ImportError:  # Windows
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
