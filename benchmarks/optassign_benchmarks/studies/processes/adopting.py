"""The steps of docs/how-to/adopt.md on a real broker while records flow, with two versions of Kafka Streams."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import MOST_PROBES, PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.jars import PLUGIN_CLASS, streams_classpath
from optassign_benchmarks.kafka.service import OperatorCommands, ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy
from optassign_benchmarks.studies.processes.rolling_restarts import await_rest

__all__ = ["IDLE_S", "walk"]

VERSIONS = ("3.9.1", "4.3.1")
IDLE_S = 60
"""Seconds after which a stable group rebalances, and the application's probing interval."""
_RATE = 60.0
"""Records per second into the three subtopologies of an application together."""
_NAMES = ("a", "b", "c", "d")
_PROPERTIES: dict[str, object] = {
    "probing_rebalance_interval_ms": 1000 * IDLE_S,
    "main_consumer_session_timeout_ms": 10_000,
    "main_consumer_heartbeat_interval_ms": 500,
}


class _Walker:
    """An application that goes through the steps. A step returns its number of moved active tasks; `take` adds its row."""

    def __init__(
        self, version: str, group: StreamsApplication, operator: OperatorCommands, service: ServiceProcess, *, hurries: bool
    ) -> None:
        self.rows: list[Mapping[str, object]] = []
        self._version, self._group, self._operator, self._service = version, group, operator, service
        self._hurries = hurries
        self._names: Sequence[str] = _NAMES

    def start(self) -> None:
        """Start all instances under Kafka's default, without the jar."""
        group = self._group
        group.jars = streams_classpath(self._version, plugin=False)
        group.load.write(PRELOAD)
        group.load.run(_RATE)
        group.start(*self._names)
        self._rest()

    def take(self, step: str, act: Callable[[], int]) -> None:
        """Run the step `act`, which returns its number of moves, and add its row."""
        group = self._group
        generation, written, begun = group.generation, group.load.written, time.monotonic()
        moves = act()
        self.rows.append(
            {
                "Kafka Streams": self._version,
                "step": step,
                "minutes": round((time.monotonic() - begun) / 60, 1),
                "rebalances": group.generation - generation,
                "active tasks moved": moves,
                "records written meanwhile": group.load.written - written,
                "lost or counted twice": group.load.lost + group.load.doubled,
                "threads dead": len(group.deaths),
            }
        )

    def bring_jar(self) -> int:
        """Install the jar on every instance."""
        self._group.jars = streams_classpath(self._version, plugin=True)
        return self._roll()

    def look_in_shadow(self) -> int:
        """Let Kafka's default assign, while the service compares."""
        self._group.configure(
            task_assignor_class=PLUGIN_CLASS,
            optassign_url=self._service.url,
            optassign_timeout_ms=5_000,
            optassign_mode="shadow",
        )
        return self._roll()

    def go_live(self) -> int:
        """Let the service assign."""
        self._group.configure(optassign_mode=None)
        return self._roll(is_live=True)

    def restart_all(self) -> int:
        """Restart every instance without other changes."""
        return self._roll(is_live=True)

    def scale_in(self) -> int:
        """Drain and stop the last instance; return the number of active tasks that moved."""
        self._group.mark()
        if self._hurries:
            self._operator.run("drain", _NAMES[-1])
            self._group.probe()  # the drain takes effect at the next rebalance
            _play_followups(self._group)
        self._operator.run("drain", _NAMES[-1], "--wait")
        moves = _count_moves(self._group)
        before = self._group.generation
        self._group.stop(_NAMES[-1])
        self._names = _NAMES[:-1]
        self._group.await_complete(after=before)
        self._rest(is_live=True)
        return moves + _count_moves(self._group)

    def roll_back(self) -> int:
        """Remove the settings, so that Kafka's default assigns."""
        self._group.configure(task_assignor_class=None, optassign_url=None, optassign_timeout_ms=None)
        return self._roll()

    def _roll(self, *, is_live: bool = False) -> int:
        """Restart the instances one after the other, each once all tasks run again; return the moves until the group is
        stable."""
        group, moves = self._group, 0
        for name in self._names:
            moves += _count_moves(group)
            before = group.generation
            group.stop(name)
            group.start(name)
            group.await_complete(after=before)
        self._rest(is_live=is_live)
        return moves + _count_moves(group)

    def _rest(self, *, is_live: bool = False) -> None:
        if self._hurries:
            _play_followups(self._group)
        elif is_live:
            self._operator.await_newest("at rest", self._group, clients=len(self._names), rests=True)
            self._group.await_caught_up()
        else:
            await_rest(self._group)


def walk(
    version: str, broker: Broker, service: ServiceProcess, folder: Path, *, hurries: bool = False
) -> list[Mapping[str, object]]:
    """Take all steps with one application, and return their rows. AssertionError afterwards for a lost or repeated record.

    hurries: whether to request follow-ups at once instead of waiting for the probing interval.
    """
    application = f"adopting-{version.replace('.', '-')}"
    with StreamsApplication(broker, application, folder, task_assignor_class=None, **_PROPERTIES) as group:
        walker = _Walker(version, group, OperatorCommands(service, application), service, hurries=hurries)
        walker.start()
        walker.take("bring the jar", walker.bring_jar)
        walker.take("adopt in shadow", walker.look_in_shadow)
        walker.take("go live", walker.go_live)
        walker.take("restart all", walker.restart_all)
        walker.take("scale in", walker.scale_in)
        walker.take("roll back", walker.roll_back)
        group.load.await_accounted()
        group.assert_nothing_died()
        return walker.rows


@contextmanager
def _open(quick: bool) -> Iterator[Callable[[str], list[Mapping[str, object]]]]:
    """Yield the function that takes all steps with a version; a quick run requests follow-ups at once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adopting-")))
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(ServiceProcess(folder / "service", "text", "--idle-followup", str(IDLE_S)))
        yield partial(walk, broker=broker, service=service, folder=folder, hurries=quick)


ADOPTING = PlayedStudy(
    cases=lambda quick: VERSIONS,
    play=lambda walk_one, version: map(PlayedRow, walk_one(version)),
    open=_open,
    at_once=len(VERSIONS),
)
"""Half an hour, mostly waiting for follow-ups of Kafka's default."""


def _play_followups(group: StreamsApplication) -> None:
    """Repeat rebalances, each after all copies have caught up, until the assignor asks for no follow-up.

    AssertionError after too many.
    """
    for _ in range(MOST_PROBES):
        group.await_complete()
        if group.at_rest:
            return
        group.await_caught_up()
        group.probe()
    raise AssertionError(f"{group.application}: follow-ups still asked for after {MOST_PROBES}")


def _count_moves(group: StreamsApplication) -> int:
    """Return the number of moves of active tasks between instances since an instance was started or ended."""
    return sum(len(list(pairwise(owners))) for owners in group.owners().values())
