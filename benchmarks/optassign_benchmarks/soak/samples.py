"""Samples of what all processes and folders take, from a thread that writes them down as JSON lines."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from optassign_benchmarks.soak.resources import measure_folder, read_usage


@dataclass(frozen=True)
class Sample:
    """The resources of one process or one folder at one time. A folder has no `pid`, and nothing but `disk`."""

    at: float
    """Seconds since the soak began."""
    kind: str
    """`service`, `worker`, `application` or `broker`; of a folder what it holds."""
    name: str
    pid: int | None = None
    memory: int | None = None
    """Bytes that are resident."""
    descriptors: int | None = None
    threads: int | None = None
    cpu: float | None = None
    """Seconds of processors, since the process began."""
    disk: int | None = None
    """Bytes of blocks."""


class Sampler:
    """Takes samples every few seconds while in the context; `samples` has those so far."""

    def __init__(
        self,
        file: Path,
        find_processes: Callable[[], Iterable[tuple[str, str, int]]],
        folders: Mapping[str, Path],
        interval: float = 5.0,
    ) -> None:
        """find_processes: (kind, name, pid) of each. folders: what it holds -> folder or file. interval: seconds."""
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


def read_samples(file: Path) -> list[Sample]:
    """The samples of a soak, from its JSON lines."""
    return [Sample(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


_COLOURS = {"service": "#1f5a94", "worker": "#66a182", "application": "#d1495b", "broker": "#7f7f7f"}
_FOLDERS = ("#1f5a94", "#edae49", "#d1495b", "#7f7f7f")
_PANELS = (
    ("memory", "memory, MiB", 1 << 20),
    ("descriptors", "descriptors", 1),
    ("threads", "threads", 1),
    ("disk", "disk, MiB", 1 << 20),
)
_MOST_POINTS = 120
"""The points of a line: more cannot be told apart."""


def draw_soak(samples: Sequence[Sample], actions: Sequence[float], file: Path) -> None:
    """Draw into a file, of the kind that its suffix says (PNG, SVG …). actions: seconds at which something was done."""
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
