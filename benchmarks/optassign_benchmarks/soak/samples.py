"""Samples of what all processes and folders take, from a thread that writes them down as JSON lines."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from optassign_benchmarks.soak.resources import measure_folder, read_usage

__all__ = ["Sample", "Sampler", "read_samples"]


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
