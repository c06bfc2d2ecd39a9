"""Rolling restarts on a real broker under the classic protocol: the plug-in and Kafka's default assignor, side by side.

Three instances restart one after the other, each when the group rests again. Members are static (`group.instance.id`) and
back within the session time-out, static and away for longer, or dynamic.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.side_by_side import await_rest, open_groups, play_all
from optassign_benchmarks.tables import Table, make_table

_RECORDS = 2_000
"""Per partition of the logged subtopology; afterwards nothing is written."""
_NAMES = ("a", "b", "c")
HEAD = (
    "assignor",
    "members",
    "rebalances",
    "active tasks moved",
    "of them needless",
    "records restored",
    "seconds until at rest and restored",
    "active tasks at the end",
)


@dataclass(frozen=True)
class _Way:
    """How instances restart."""

    label: str
    session_ms: int
    is_static: bool
    is_awaited: bool
    """Whether the others have taken over before the instance starts again."""
    leaves: bool = False


_WAYS = (
    _Way("static, back within the session time-out of 60 s", 60_000, is_static=True, is_awaited=False),
    _Way("static, away beyond the session time-out of 20 s", 20_000, is_static=True, is_awaited=True),
    _Way("dynamic, leaves the group", 60_000, is_static=False, is_awaited=True, leaves=True),
)


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Return a row for each way and assignor. Wrong are needless moves under the plug-in, dead threads and lost records.

    It takes a quarter of an hour, nearly all of it waiting for follow-ups of Kafka's default. `quick`: without it.
    """
    with ThreadPoolExecutor(len(_WAYS)) as pool:
        found = list(pool.map(lambda way: _play_both(way, quick=quick), _WAYS))
    return [make_table(HEAD, [row for rows, _ in found for row in rows])], [fault for _, faults in found for fault in faults]


def _play_both(way: _Way, *, quick: bool) -> tuple[list[tuple[object, ...]], list[str]]:
    """Return the rows of one way, and what is wrong."""
    settings = {"main_consumer_session_timeout_ms": way.session_ms, "acceptable_recovery_lag": 100}
    with open_groups("rolling-restarts", with_default=not quick, **settings) as groups:
        rows, wrong = play_all(groups, partial(_play, way))
    column = HEAD.index("of them needless")
    needless = [row for row in rows if "plug-in" in str(row[0]) and row[column]]
    return rows, [*wrong, *(f"{row[0]}, {way.label}: {row[column]} needless moves" for row in needless)]


def _play(way: _Way, name: str, group: StreamsApplication) -> tuple[object, ...]:
    """Three instances at rest, and each restarted: the row of what that took."""
    group.load.write(_RECORDS, ["logged"])
    for instance in _NAMES:
        _start(group, instance, way)
    await_rest(group)
    group.load.await_accounted()
    generation, restored, begun = group.generation, group.count_restored(), time.monotonic()
    moves = needless = 0
    for instance in _NAMES:
        before = group.generation
        if way.leaves:
            group.leave(instance)
        else:
            group.stop(instance)
        if way.is_awaited:
            group.await_complete(after=before)
        away = _list_moves(group)
        _start(group, instance, way)
        await_rest(group)
        back = _list_moves(group)
        moves += len(away) + len(back)
        # Tasks of an instance that is away go to others, and as many come back; all other moves are needless.
        needless += sum(one != instance for one, _ in away) + sum(other != instance for _, other in back)
        needless += max(0, len(back) - len(away))
    sizes = " / ".join(str(len(tasks)) for tasks in group.await_complete().active.values())
    seconds = round(time.monotonic() - begun)
    rebalances = group.generation - generation
    return (name, way.label, rebalances, moves, needless, group.count_restored() - restored, seconds, sizes)


def _start(group: StreamsApplication, name: str, way: _Way) -> None:
    group.configure(group_instance_id=f"{group.application}-{name}" if way.is_static else None)
    group.start(name)


def _list_moves(group: StreamsApplication) -> list[tuple[str, str]]:
    """(from, to) of each move of an active task since an instance was started or ended."""
    return [pair for owners in group.owners().values() for pair in pairwise(owners)]
