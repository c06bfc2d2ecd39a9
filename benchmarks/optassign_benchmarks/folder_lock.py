"""One driver per folder: a lock next to the results, which names the driver that has it."""

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
    """Another driver works on the folder, or one on another machine that may have ended."""


@contextmanager
def lock_folder(storage: Storage, say: Callable[[str], None], *, unlock: bool = False) -> Iterator[None]:
    """Hold the lock of a folder while in the context.

    The lock of a driver of this machine that has ended, as after `kill -9`, is named and taken over.

    Args:
        say: called with a line about a lock that is taken over.
        unlock: take over any lock.

    Raises:
        LockedError: if a driver has the lock that runs, or that runs on another machine, where this one cannot see it.
    """
    own = _describe_driver()
    while not storage.create(json.dumps(own) + "\n", _NAME):
        found = _read(storage)
        if found is None:  # it ended just now
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
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "began": _read_begin(os.getpid()),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["optassign", *sys.argv[1:]]),
    }


def _read(storage: Storage) -> dict[str, Any] | None:
    """The lock, None if there is none; one that a full disk has cut short names nothing."""
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
    """Whether the driver ran on this machine and runs no more. A process with its number that began later is another one."""
    if found.get("host") != socket.gethostname():
        return False
    return _read_begin(int(found.get("pid", 0))) != found.get("began") or found.get("began") is None


def _read_begin(pid: int) -> str | None:
    """When a process of this machine began, in ticks since the start; None if it does not run."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return _probe(pid)
    state, *rest = text.rpartition(")")[2].split()
    return None if state == "Z" else rest[18]


def _probe(pid: int) -> str | None:
    """The same without /proc: only whether it runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "runs"
    return "runs" if not Path("/proc/self/stat").exists() else None
