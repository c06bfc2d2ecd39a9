"""Simulated groups under `group.protocol=streams` on a real broker: our assignor and Kafka's sticky, at the same time."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.applications import AS_SHIPPED, Watching
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.scenario import OURS, STICKY, GroupChange, Observed, play, start_broker
from optassign_benchmarks.kafka.timeline import Figures
from optassign_benchmarks.results import Table, make_table

_TASKS = (SimulatedSubtopology("0", 12, logged=True), SimulatedSubtopology("1", 6, logged=False))
_CHANGES = (
    GroupChange("3 → 4", "abc", joins="d"),
    GroupChange("3 → 6", "abc", joins="def"),
    GroupChange("4 → 3, leaves", "abcd", leaves="d"),
    GroupChange("4 → 3, killed", "abcd", killed="d"),
    GroupChange("killed, returns", "abcd", killed="d", returns="d"),
)
_RATE = 5_000
_SMALL, _LARGE = 10, 120
"""Seconds that a thread takes to restore one copy by itself."""
_HEAD = (
    "processes",
    "standbys",
    "seconds to restore a copy",
    "assignor",
    "moved",
    "seconds without processing: median",
    "most",
    "of tasks that stayed: most",
    "seconds until balanced",
    "and all standbys ready",
    "covered",
    "triggers",
)


@dataclass(frozen=True)
class _Variant:
    """The assignor, and whether `optassign watch` triggers when warm-ups are done."""

    name: str
    assignor: str
    watched: bool
    offsets_ms: int = 15_000
    """How often members send offsets; the default is the least that a broker of 4.4.0 allows if it is not told otherwise."""


_VARIANTS = (
    _Variant("`sticky`", STICKY, watched=False),
    _Variant("`optassign`, `optassign watch`", OURS, watched=True),
    _Variant("the same, offsets sent every 5 s", OURS, watched=True, offsets_ms=5000),
    _Variant("`optassign`, nobody triggers", OURS, watched=False),
)


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Play all changes; returns the table, and what was not as it should be."""
    cases = [(_CHANGES[0], standbys, _SMALL) for standbys in (1, 0)]
    if not quick:
        cases += [(_CHANGES[0], 0, _LARGE)]
        cases += [(change, 1, _SMALL) for change in _CHANGES[1:]]
    rows: list[tuple[object, ...]] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, start_broker(Path(folder) / "broker") as broker:
        for number, (change, standbys, seconds) in enumerate(cases):
            # A join leaves work that a trigger has to continue; a leaving client leaves nothing to wait for.
            # Large state teaches no more about that than small state, and it takes long to see that no change comes.
            variants = _VARIANTS if change.joins and seconds == _SMALL else _VARIANTS[:3]
            with ThreadPoolExecutor(len(variants)) as pool:
                futures = [
                    pool.submit(_play, broker, Path(folder), f"case-{number}-{i}", variant, change, standbys, seconds)
                    for i, variant in enumerate(variants)
                ]
                for variant, future in zip(variants, futures, strict=True):
                    figures, triggers, faults = future.result()
                    rows.append((change.name, standbys, seconds, variant.name, *_to_cells(figures), triggers))
                    wrong += [f"{change.name}, {standbys} standbys, {variant.name}: {fault}" for fault in faults]
                    print(rows[-1], file=sys.stderr, flush=True)
    return [make_table(_HEAD, rows)], wrong


def _play(
    broker: Broker, folder: Path, name: str, variant: _Variant, change: GroupChange, standbys: int, seconds: int
) -> tuple[Figures, int, list[str]]:
    group = Observed(
        broker,
        folder,
        name,
        _TASKS,
        Restoring(seconds * _RATE, _RATE),
        assignor=variant.assignor,
        standbys=standbys,
        watched=False,
    )
    group.members.configure(streams_task_offset_interval_ms=variant.offsets_ms)
    # If there is no trigger, no change comes once all copies are restored, and no event tells so.
    longest = seconds * 8.0 + 60.0 if variant.watched or variant.assignor == STICKY else seconds * 3.0 + 20.0
    with ExitStack() as stack:
        stack.enter_context(group.members)
        watcher = stack.enter_context(Watching(broker.address, name, folder, **AS_SHIPPED)) if variant.watched else None
        figures = play(group, change, longest)
        faults = list(group.members.deaths)
        triggers = watcher.triggers if watcher else 0
    if figures.twice_ms:
        faults.append(f"tasks ran twice for {figures.twice_ms} ms")
    if variant.watched and figures.settled_s is None:
        faults.append("not settled")
    return figures, triggers, faults


def _to_cells(figures: Figures) -> tuple[object, ...]:
    def seconds(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    return (
        len(figures.moved),
        seconds(figures.median) if figures.moved else "–",
        seconds(figures.most) if figures.moved else "–",
        seconds(max(figures.stayed.values(), default=0.0)),
        seconds(figures.balanced_s),
        seconds(figures.settled_s),
        f"{figures.coverage:.0%}",
    )
