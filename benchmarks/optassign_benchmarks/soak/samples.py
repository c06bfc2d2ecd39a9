"""Samples of the resources of all processes and folders, as JSON lines, and checks of their limits."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, Self

_TICKS = os.sysconf("SC_CLK_TCK")
_SPAWNED = b"spawn_main"
"""A part of the command line of a worker process, which multiprocessing starts."""


@dataclass(frozen=True)
class Usage:
    """The resources of one process at one time."""

    memory: int
    """Resident bytes."""
    descriptors: int
    threads: int
    cpu: float
    """Seconds of processor time since the process began."""


def read_usage(pid: int) -> Usage | None:
    """Return a process's resources, or None if it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text(encoding="utf-8").splitlines())
        after_name = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        descriptors = len(os.listdir(folder / "fd"))
    except OSError:
        return None
    if "VmRSS" not in status:  # it has ended, and its parent has not read its exit code
        return None
    cpu = (int(after_name[11]) + int(after_name[12])) / _TICKS
    return Usage(int(status["VmRSS"].split()[0]) << 10, descriptors, int(status["Threads"]), cpu)


def read_memory(pid: int, field: str = "VmHWM") -> int:
    """Return a value of /proc/PID/status in bytes, by default the peak of resident memory; 0 if the process has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    return 0


def find_children(pid: int, *, workers: bool = False) -> list[int]:
    """Return the ids of the processes that any thread of a process has started, sorted. `workers`: only those of workers."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return sorted(child for child in found if not workers or _SPAWNED in _read_command(child))


def measure_folder(folder: Path) -> int:
    """Return the disk space of all files below a folder, in bytes."""
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):  # deleted during the walk
                total += 512 * os.lstat(os.path.join(parent, file)).st_blocks
    return total


def _read_command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@dataclass(frozen=True)
class Sample:
    """The resources of one process or one folder at one time. A folder has no `pid`, and of the resources only `disk`."""

    at: float
    """Seconds since the soak began."""
    kind: str
    """`service`, `worker`, `application` or `broker`; for a folder its content."""
    name: str
    pid: int | None = None
    memory: int | None = None
    """Resident bytes."""
    descriptors: int | None = None
    threads: int | None = None
    cpu: float | None = None
    """Seconds of processor time since the process began."""
    disk: int | None = None
    """Bytes of disk space."""


class Sampler:
    """A context manager that takes samples at intervals; `samples` has all samples so far."""

    def __init__(
        self,
        file: Path,
        find_processes: Callable[[], Iterable[tuple[str, str, int]]],
        folders: Mapping[str, Path],
        interval: float = 5.0,
    ) -> None:
        """Start no thread yet. `find_processes`: returns (kind, name, pid) of each process. `folders`: content → folder or
        file. `interval`: seconds."""
        self.samples: list[Sample] = []
        self._file, self._find_processes, self._folders, self._interval = file, find_processes, folders, interval
        self._start = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        """Take samples at each interval until the end.

        Keep them in `samples`, and write the file anew with a line of JSON for each.
        """
        with self._file.open("w", encoding="utf-8") as file:
            while True:
                for sample in self._take():
                    self.samples.append(sample)
                    file.write(json.dumps({name: value for name, value in asdict(sample).items() if value is not None}) + "\n")
                file.flush()
                if self._end.wait(self._interval):
                    return

    def _take(self) -> Iterable[Sample]:
        at = round(time.monotonic() - self._start, 1)
        for kind, name, pid in self._find_processes():
            usage = read_usage(pid)
            if usage is not None:
                yield Sample(at, kind, name, pid, **asdict(usage))
        for name, folder in self._folders.items():
            yield Sample(at, name, name, disk=folder.stat().st_blocks * 512 if folder.is_file() else measure_folder(folder))


_COLOURS = {"service": "#1f5a94", "worker": "#66a182", "application": "#d1495b", "broker": "#7f7f7f"}
_FOLDERS = ("#1f5a94", "#edae49", "#d1495b", "#7f7f7f")
_PANELS = (
    ("memory", "memory, MiB", 1 << 20),
    ("descriptors", "descriptors", 1),
    ("threads", "threads", 1),
    ("disk", "disk, MiB", 1 << 20),
)
_MOST_POINTS = 120
"""Number of points of a line; more would be indistinguishable."""


def draw_soak(samples: Sequence[Sample], actions: Sequence[float], file: Path) -> None:
    """Draw the samples into a file, in the format of its suffix (PNG, SVG …). `actions`: times in seconds since the soak began,
    shown as ticks."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines: dict[tuple[str, str, int | None], list[Sample]] = defaultdict(list)
    for sample in samples:
        lines[sample.kind, sample.name, sample.pid].append(sample)
    figure = Figure(figsize=(9.6, 8.0), layout="constrained")
    panels = figure.subplots(len(_PANELS), 1, sharex=True)
    for panel, (quantity, label, unit) in zip(panels, _PANELS, strict=True):
        _draw_lines(panel, lines, quantity, unit)
        panel.set_ylabel(label)
        panel.set_ylim(0, 1.3 * panel.get_ylim()[1])  # room for the legend
        panel.legend(loc="upper left", ncols=4, fontsize=8, frameon=False)
    panels[-1].eventplot(
        [time / 60 for time in actions], lineoffsets=0, linelengths=0.12 * panels[-1].get_ylim()[1], colors="#707070"
    )
    panels[-1].set_xlabel("minutes; grey ticks: an instance or the service is hurt, or comes back")
    with mpl.rc_context({"svg.hashsalt": "soak", "svg.fonttype": "none"}):
        figure.savefig(file, dpi=130, metadata={"Date": None} if file.suffix == ".svg" else None)


def _draw_lines(panel: Any, lines: dict[tuple[str, str, int | None], list[Sample]], quantity: str, unit: int) -> None:
    named: set[str] = set()
    for (kind, _, _), one in lines.items():
        if getattr(one[0], quantity) is None:
            continue
        colour = _COLOURS.get(kind) or _FOLDERS[len(named) % len(_FOLDERS)]
        shown = one[:: max(1, len(one) // _MOST_POINTS)]
        panel.plot(
            [sample.at / 60 for sample in shown],
            [getattr(sample, quantity) / unit for sample in shown],
            color=colour,
            linewidth=0.9,
            label=None if kind in named else kind,
        )
        named.add(kind)


MIB = 1 << 20
_QUANTITIES = ("memory", "descriptors", "threads", "disk")
_LEAST_SHARE = 0.6
"""The share of the soak that a process must have run for its growth to be judged. The first quarter is its warm-up."""
_LEAST_SAMPLES = 20


@dataclass(frozen=True)
class GrowthLimit:
    """A limit of `most`, and of `growth` from the median of a process's second quarter to the median of its last quarter."""

    most: int
    growth: int | None = None
    """None if growth up to `most` is allowed."""


LIMITS: dict[tuple[str, str], GrowthLimit] = {
    ("service", "memory"): GrowthLimit(256 * MIB, 12 * MIB),
    ("service", "descriptors"): GrowthLimit(600, 8),
    ("service", "threads"): GrowthLimit(40, 2),
    ("worker", "memory"): GrowthLimit(400 * MIB, 40 * MIB),
    ("worker", "descriptors"): GrowthLimit(64, 2),
    ("worker", "threads"): GrowthLimit(16, 2),
    ("application", "memory"): GrowthLimit(600 * MIB, 64 * MIB),
    ("application", "descriptors"): GrowthLimit(600, 60),
    ("application", "threads"): GrowthLimit(120, 4),
    ("recordings", "disk"): GrowthLimit(5 * MIB),
}
"""(kind, quantity) → its limit. An application has a heap of 128 MiB and one thread; `recordings` are kept up to 4 MiB."""


@dataclass(frozen=True)
class SoakRow:
    """A quantity of a kind of processes, or of a folder, over the whole soak."""

    kind: str
    quantity: str
    before: float
    """The median in the second quarter of the longest-running process's life."""
    after: float
    """The median in its last quarter."""
    most: int
    """The greatest value over all processes of the kind."""
    most_growth: float | None
    """The greatest growth over all processes that ran long enough; None if none did."""


def summarise(samples: Iterable[Sample]) -> list[SoakRow]:
    """Return a row for each kind and quantity, in order of first appearance."""
    by_kind: dict[str, dict[tuple[str, int | None], list[Sample]]] = defaultdict(lambda: defaultdict(list))
    last = 0.0
    for sample in samples:
        by_kind[sample.kind][sample.name, sample.pid].append(sample)
        last = max(last, sample.at)
    return [row for kind, processes in by_kind.items() for row in _summarise_kind(kind, list(processes.values()), last)]


def _summarise_kind(kind: str, processes: list[list[Sample]], seconds: float) -> Iterator[SoakRow]:
    longest = max(processes, key=lambda one: one[-1].at - one[0].at)
    old = [one for one in processes if one[-1].at - one[0].at >= _LEAST_SHARE * seconds and len(one) >= _LEAST_SAMPLES]
    for quantity in _QUANTITIES:
        if getattr(longest[0], quantity) is None:
            continue
        before, after = _compare_quarters(longest, quantity)
        growths = [late - early for early, late in (_compare_quarters(one, quantity) for one in old)]
        most = max(getattr(sample, quantity) for one in processes for sample in one)
        yield SoakRow(kind, quantity, before, after, most, max(growths, default=None))


def _compare_quarters(samples: list[Sample], quantity: str) -> tuple[float, float]:
    values = [getattr(sample, quantity) for sample in samples]
    quarter = max(1, len(values) // 4)
    return median(values[quarter : 2 * quarter] or values), median(values[-quarter:])


def find_faults(rows: Iterable[SoakRow]) -> list[str]:
    """Return a line for each exceeded limit."""
    found = []
    for row in rows:
        limit = LIMITS.get((row.kind, row.quantity))
        if limit is None:
            continue
        if row.most > limit.most:
            found.append(f"{row.kind}: {row.quantity} up to {row.most:,}; allowed: {limit.most:,}")
        if limit.growth is not None and row.most_growth is not None and row.most_growth > limit.growth:
            found.append(f"{row.kind}: {row.quantity} grew by {row.most_growth:,.0f}; allowed: {limit.growth:,}")
    return found
