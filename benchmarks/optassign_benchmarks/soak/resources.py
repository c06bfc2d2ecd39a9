"""The resources of a process and a folder, as Linux tells them in /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Usage", "find_children", "measure_folder", "read_memory", "read_usage"]

_TICKS = os.sysconf("SC_CLK_TCK")
_SPAWNED = b"spawn_main"
"""A part of the command line of a process that multiprocessing has started for jobs."""


@dataclass(frozen=True)
class Usage:
    """The resources of one process, at one time."""

    memory: int
    """Bytes that are resident."""
    descriptors: int
    threads: int
    cpu: float
    """Seconds of processors, since the process began."""


def read_usage(pid: int) -> Usage | None:
    """Read a process's resources; None where there is none any more."""
    folder = Path(f"/proc/{pid}")
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text(encoding="utf-8").splitlines())
        after_name = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        descriptors = len(os.listdir(folder / "fd"))
    except OSError:
        return None
    if "VmRSS" not in status:  # it has ended, and its parent has not asked for its exit code
        return None
    cpu = (int(after_name[11]) + int(after_name[12])) / _TICKS
    return Usage(int(status["VmRSS"].split()[0]) << 10, descriptors, int(status["Threads"]), cpu)


def read_memory(pid: int, field: str = "VmHWM") -> int:
    """Bytes, by a field of /proc/PID/status (default: the most that were resident); 0 where the process is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    return 0


def find_children(pid: int, *, workers: bool = False) -> list[int]:
    """The processes that a process has started, by whatever thread; `workers`: only the ones that take jobs."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return sorted(child for child in found if not workers or _SPAWNED in _read_command(child))


def measure_folder(folder: Path) -> int:
    """Bytes of the blocks of all files below a folder."""
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):  # deleted meanwhile
                total += 512 * os.lstat(os.path.join(parent, file)).st_blocks
    return total


def _read_command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
