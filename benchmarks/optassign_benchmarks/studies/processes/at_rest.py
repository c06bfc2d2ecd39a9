"""Rebalances of groups at rest on a real broker, while records flow and nothing else happens."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from optassign_benchmarks.kafka.recovery.prepared_groups import (
    COPIES,
    JAR,
    SERVICE,
    SMALL,
    GroupSetup,
    PreparedGroups,
    count_lost,
)
from optassign_benchmarks.runner import PlayedRow, PlayedStudy
from optassign_models.policy.constants import IDLE_FOLLOWUP_MS

_MINUTES, _QUICK_MINUTES = 60, 1
_MOST = {JAR: 0, SERVICE: 6}
"""Most rebalances in an hour: a service must apply its operators' requests within ten minutes."""
_INSTANCES = "abc"
_SERVICE_OPTIONS = ("--idle-followup", f"{IDLE_FOLLOWUP_MS / 1000:g}")
"""The default, which a service of a study has only if it is named."""
_SETTLES_S = 60.0
"""Seconds from the start of the instances until the group is at rest, beyond any doubt."""


@contextmanager
def _open(quick: bool) -> Iterator[tuple[PreparedGroups, int]]:
    yield PreparedGroups(Path("build/in-time")), _QUICK_MINUTES if quick else _MINUTES


def _play(opened: tuple[PreparedGroups, int], assignor: str) -> Iterator[PlayedRow]:
    """Let a group rest for some minutes, and yield its row."""
    prepared, minutes = opened
    with ExitStack() as stack:
        running = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="at-rest-")))
        setup = GroupSetup(SMALL, assignor, COPIES)
        group = stack.enter_context(prepared.start(setup, _INSTANCES, running / "group", _SERVICE_OPTIONS))
        group.await_complete()
        time.sleep(_SETTLES_S)
        before, written = group.generation, group.load.written
        time.sleep(60 * minutes)
        rebalances, written = group.generation - before, group.load.written - written
        lost, doubled, dead = count_lost(group), group.load.doubled, len(group.deaths)
    yield describe(
        assignor, minutes, {"rebalances": rebalances, "written": written, "lost": lost, "doubled": doubled, "dead": dead}
    )


def describe(assignor: str, minutes: int, counts: Mapping[str, int]) -> PlayedRow:
    """Return the row of an assignor; counts: rebalances, dead stream threads, and records written, lost and doubled."""
    cells: dict[str, Any] = {
        "assignor": assignor,
        "instances": len(_INSTANCES),
        "minutes": minutes,
        "rebalances": counts["rebalances"],
        "records written": counts["written"],
        "records lost": counts["lost"],
        "records doubled": counts["doubled"],
        "stream threads dead": counts["dead"],
    }
    most = {"rebalances": _MOST[assignor], "records lost": 0, "records doubled": 0, "stream threads dead": 0}
    beyond = [(name, cells[name], allowed) for name, allowed in most.items() if cells[name] > allowed]
    return PlayedRow(cells, tuple(f"{assignor}: {found} {name}, at most {allowed} allowed" for name, found, allowed in beyond))


AT_REST = PlayedStudy(cases=lambda quick: tuple(_MOST), play=_play, open=_open, at_once=len(_MOST))
"""An hour: both groups rest at the same time, each on its own broker."""
