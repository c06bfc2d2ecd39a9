"""Rebalances of a stable group on a real broker, with the jar alone and with a service, while records flow."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy
from optassign_benchmarks.studies.processes.side_by_side import await_rest

__all__ = ["RESTING"]

_MINUTES, _QUICK_MINUTES = 60.0, 1.0
_MOST = {"jar alone": 0, "jar with service": 6}
"""Greatest accepted number of rebalances in an hour; with a service a stable group rebalances every ten minutes."""
_NAMES = "abc"
_RATE = 60.0
"""Records per second into the three subtopologies together."""
_PROPERTIES: dict[str, object] = {
    "probing_rebalance_interval_ms": 60_000,
    "main_consumer_session_timeout_ms": 45_000,
    "main_consumer_heartbeat_interval_ms": 3_000,
}
"""Kafka's defaults, and the least probing interval that Kafka takes."""


@contextmanager
def _open(quick: bool) -> Iterator[tuple[Broker, Path]]:
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder) / "broker") as broker:
        yield broker, Path(folder)


def _play(opened: tuple[Broker, Path], case: tuple[str, float]) -> Iterator[PlayedRow]:
    """Wait until a group is stable, and yield the row of its rebalances and moves in some minutes; any move is a fault."""
    (broker, folder), (assignor, minutes) = opened, case
    name = assignor.replace(" ", "-")
    with ExitStack() as stack:
        asked = assignor == "jar with service"
        service = stack.enter_context(ServiceProcess(folder / f"service-{name}") if asked else nullcontext())
        url = None if service is None else service.url
        group = stack.enter_context(StreamsApplication(broker, name, folder, optassign_url=url, **_PROPERTIES))
        group.load.write(PRELOAD)
        group.load.run(_RATE)
        group.start(*_NAMES)
        await_rest(group)
        before, placement, start = group.generation, group.await_complete(), time.monotonic()
        time.sleep(60 * minutes)
        rebalances, passed = group.generation - before, (time.monotonic() - start) / 60
        faults = list(group.deaths)
        moved = sum(len(group.await_complete().active[each] - placement.active[each]) for each in _NAMES)
    if rebalances > _MOST[assignor] * max(1.0, minutes / 60):
        faults.append(f"{assignor}: {rebalances} rebalances at rest")
    if moved:
        faults.append(f"{assignor}: {moved} active tasks moved at rest")
    cells = {"assignor": assignor, "minutes": round(passed), "rebalances": rebalances, "active tasks moved": moved}
    yield PlayedRow(cells, tuple(faults))


RESTING = PlayedStudy(
    cases=lambda quick: [(assignor, _QUICK_MINUTES if quick else _MINUTES) for assignor in _MOST],
    play=_play,
    open=_open,
    at_once=len(_MOST),
    caption=lambda quick: "A group of three instances at rest",
)
