"""Samples of an application during an event."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.recovery.course import LoggedAnswer, Sample, Wanted, read_answers

_INTERVAL = 0.25
"""Seconds from a sample to the next status requests, a twelfth of a heartbeat. The next sample follows after another half."""


class Observer:
    """A thread that samples the status of all running instances; a context manager that ends the thread.

    A sample has the previous status of an instance that answers late, for example of a new instance.
    """

    def __init__(self, group: StreamsApplication, wanted: Wanted) -> None:
        self.samples: list[Sample] = []
        self._group = group
        self._wanted = wanted
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def read_answers(self) -> list[LoggedAnswer]:
        """Return all assignments so far, in their order."""
        return sorted(answer for name, log in self._group.read_logs().items() for answer in read_answers(name, log))

    def await_complete(self, timeout: float) -> None:
        """Wait until each task is active once and all instances run; NotReachedError after `timeout` seconds."""
        self._await(
            "every task active once, all instances running", 0, timeout, lambda sample: self._wanted.is_complete(sample)
        )

    def await_restored(self, holds: float, timeout: float) -> None:
        """Wait until the application is restored and stable for `holds` seconds; NotReachedError after `timeout` seconds."""

        def is_reached(sample: Sample) -> bool:
            return self._wanted.is_restored(sample) and self.read_answers()[-1].stable

        self._await("even, restored and at rest", holds, timeout, is_reached)

    def save(self, file: Path) -> None:
        """Write all samples as JSON lines."""
        lines = (
            f'{{"at": {sample.at:.3f}, "statuses": {{'
            + ", ".join(f'"{name}": {status.model_dump_json()}' for name, status in sample.statuses.items())
            + "}}"
            for sample in tuple(self.samples)
        )
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed.set()
        self._thread.join()

    def _await(self, what: str, holds: float, timeout: float, is_reached: object) -> None:
        assert callable(is_reached)
        after, since = len(self.samples) + 1, None  # the sample under way may be from before the call

        def lasts() -> bool:
            nonlocal after, since
            self._group.assert_nothing_died()
            assert self._thread.is_alive(), "the thread that samples has ended"
            for sample in self.samples[after:]:
                after += 1
                since = (sample.at if since is None else since) if is_reached(sample) else None
                if since is not None and sample.at - since >= holds:
                    return True
            return False

        await_condition(
            f"{self._group.application}: {what}",
            lasts,
            timeout=timeout,
            found=lambda: self.samples[-1:],
            logs=self._group.logs,
        )

    def _look(self) -> None:
        while not self._closed.wait(_INTERVAL):
            instances = dict(self._group.instances)
            for each in instances.values():
                with suppress(OSError):  # a process that is about to end has closed its input
                    each.ask_status()
            self._closed.wait(_INTERVAL / 2)
            self.samples.append(Sample(time.time(), {name: each.last_status for name, each in instances.items()}))
