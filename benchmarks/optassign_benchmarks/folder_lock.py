"""A lock that allows one driver per folder. The lock file lies next to the results and names the driver."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from optassign.errors import OptassignError
from optassign_benchmarks.spark.storage import Storage

__all__ = ["LockedError", "lock_folder"]

_NAME = "driver.lock"


class LockedError(OptassignError, RuntimeError):
    """Raised if another driver holds the lock, or a driver on another machine that may have ended."""


@contextmanager
def lock_folder(storage: Storage, say: Callable[[str], None], *, unlock: bool = False) -> Iterator[None]:
    """Hold the lock of a folder within the context.

    The lock of an ended driver of this machine, as after `kill -9`, is reported and taken over.

    Args:
        say: called with a line about a lock that is taken over.
        unlock: whether to take over any lock.

    Raises:
        LockedError: if a running driver holds the lock, or a driver on another machine, where its end cannot be seen.
    """
    own = _describe_driver()
    while not storage.create(json.dumps(own) + "\n", _NAME):
        found = _read(storage)
        if found is None:  # the other driver has just ended
            continue
        if not unlock and not _has_ended(found):
            raise LockedError(
                f"found that {storage.given} is locked by {_name(found)}; allowed: one driver at a time "
                "(--unlock, if that one has ended)"
            )
        say(f"stale lock of {_name(found)}, which has ended" if not unlock else f"took the lock of {_name(found)}")
        storage.delete(_NAME)
    try:
        yield
    finally:
        if _read(storage) == own:
            storage.delete(_NAME)


def _describe_driver() -> dict[str, Any]:
    """Return host, process id, start and command of this process, which writes into the folder."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "began": _read_begin(os.getpid()),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["optassign", *sys.argv[1:]]),
    }


def _read(storage: Storage) -> dict[str, Any] | None:
    """Return the lock, or None without one. A lock that a full disk has truncated is empty."""
    try:
        found = json.loads(storage.read(_NAME)) if storage.exists(_NAME) else None
    except ValueError:
        found = {}
    return found if isinstance(found, dict) or found is None else {}


def _name(found: dict[str, Any]) -> str:
    if not found:
        return "a driver that could not write its name"
    return f"process {found.get('pid')} on {found.get('host')} since {found.get('since')} (`{found.get('command')}`)"


def _has_ended(found: dict[str, Any]) -> bool:
    """Return whether the driver ran on this machine and has ended. A process of the same id with a later start is not the
    driver."""
    if found.get("host") != socket.gethostname():
        return False
    return _read_begin(int(found.get("pid", 0))) != found.get("began") or found.get("began") is None


def _read_begin(pid: int) -> str | None:
    """Return the start time of a process of this machine, in ticks since the system's start; None if it does not run."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return _probe(pid)
    state, *rest = text.rpartition(")")[2].split()
    return None if state == "Z" else rest[18]


def _probe(pid: int) -> str | None:
    """Return "runs" if a process runs, otherwise None; replaces `_read_begin` on systems without /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "runs"
    return "runs" if not Path("/proc/self/stat").exists() else None
