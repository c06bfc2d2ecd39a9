"""Simulated groups under `group.protocol=streams` on a real broker: optassign's assignor and Kafka's sticky, at the same
time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.applications import AS_SHIPPED, WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.scenario import OURS, STICKY, GroupChange, Observed, play, start_broker
from optassign_benchmarks.kafka.timeline import Figures
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

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
"""Seconds in which a thread restores a single copy."""


@dataclass(frozen=True)
class _Variant:
    """The assignor, and whether `optassign watch` triggers when warm-ups are done."""

    name: str
    assignor: str
    watched: bool
    offsets_ms: int = 15_000
    """Milliseconds between members' reports of offsets; the default is the least that a broker of 4.4.0 allows by default."""


_VARIANTS = (
    _Variant("`sticky`", STICKY, watched=False),
    _Variant("`optassign`, `optassign watch`", OURS, watched=True),
    _Variant("the same, offsets sent every 5 s", OURS, watched=True, offsets_ms=5000),
    _Variant("`optassign`, nobody triggers", OURS, watched=False),
)


@dataclass(frozen=True)
class _Case:
    name: str
    change: GroupChange
    standbys: int
    seconds: int
    """Seconds in which a thread restores a single copy."""

    @property
    def variants(self) -> tuple[_Variant, ...]:
        """Return the variants of the case. Only joins with small state include the variant without a trigger.

        Other changes leave no work that needs a trigger. Large state shows nothing more, and the wait for a missing change
        takes long.
        """
        return _VARIANTS if self.change.joins and self.seconds == _SMALL else _VARIANTS[:3]


def _list_cases(quick: bool) -> list[_Case]:
    cases = [(_CHANGES[0], standbys, _SMALL) for standbys in (1, 0)]
    if not quick:
        cases += [(_CHANGES[0], 0, _LARGE)]
        cases += [(change, 1, _SMALL) for change in _CHANGES[1:]]
    return [_Case(f"case-{number}", *case) for number, case in enumerate(cases)]


@contextmanager
def _open(quick: bool) -> Iterator[tuple[Broker, Path]]:
    with tempfile.TemporaryDirectory() as folder, start_broker(Path(folder) / "broker") as broker:
        yield broker, Path(folder)


def _play_all(opened: tuple[Broker, Path], case: _Case) -> Iterator[PlayedRow]:
    with ThreadPoolExecutor(len(case.variants)) as pool:
        yield from pool.map(lambda variant: _play(*opened, case, variant), case.variants)


def _play(broker: Broker, folder: Path, case: _Case, variant: _Variant) -> PlayedRow:
    change, seconds, name = case.change, case.seconds, f"{case.name}-{_VARIANTS.index(variant)}"
    group = Observed(
        broker,
        folder,
        name,
        _TASKS,
        Restoring(seconds * _RATE, _RATE),
        assignor=variant.assignor,
        standbys=case.standbys,
        watched=False,
    )
    group.members.configure(streams_task_offset_interval_ms=variant.offsets_ms)
    # Without a trigger no change follows the restoration, and no event reports its absence, so only time ends the wait.
    longest = seconds * 8.0 + 60.0 if variant.watched or variant.assignor == STICKY else seconds * 3.0 + 20.0
    with ExitStack() as stack:
        stack.enter_context(group.members)
        watcher = stack.enter_context(WatchProcess(broker.address, name, folder, **AS_SHIPPED)) if variant.watched else None
        figures = play(group, change, longest)
        faults = list(group.members.deaths)
        triggers = watcher.triggers if watcher else 0
    if figures.twice_ms:
        faults.append(f"tasks ran twice for {figures.twice_ms} ms")
    if variant.watched and figures.settled_s is None:
        faults.append("not settled")
    cells = {
        "processes": change.name,
        "standbys": case.standbys,
        "seconds to restore a copy": seconds,
        "assignor": variant.name,
        **_to_cells(figures),
        "triggers": triggers,
    }
    return PlayedRow(cells, tuple(f"{change.name}, {case.standbys} standbys, {variant.name}: {fault}" for fault in faults))


def _to_cells(figures: Figures) -> Mapping[str, object]:
    def seconds(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    return {
        "moved": len(figures.moved),
        "seconds without processing: median": seconds(figures.median) if figures.moved else "–",
        "most": seconds(figures.most) if figures.moved else "–",
        "of tasks that stayed: most": seconds(max(figures.stayed.values(), default=0.0)),
        "seconds until balanced": seconds(figures.balanced_s),
        "and all standbys ready": seconds(figures.settled_s),
        "covered": f"{figures.coverage:.0%}",
    }


STREAMS_GROUPS = PlayedStudy(
    cases=_list_cases,
    play=_play_all,
    open=_open,
)
