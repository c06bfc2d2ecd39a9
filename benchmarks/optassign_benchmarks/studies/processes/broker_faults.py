"""Faults of three brokers while groups of `group.protocol=streams` run: optassign and Kafka's sticky at the same time."""

from __future__ import annotations

import io
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.cluster import ThreeBrokers, name_cocoordinated_groups
from optassign_benchmarks.kafka.jars import warming_up_classpath
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import ASSIGNORS, BROKER_PROPERTIES, OURS, STICKY, WARMUPS
from optassign_benchmarks.kafka.trials import RealTrial, SimulatedTrial, Trial, TrialOutcome
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

_LONGEST = 240.0
"""Seconds to wait for the end of a fault's effects: the watcher tries again after three minutes without progress."""
_AFTERWARDS = 10.0
"""Seconds of observation after the fault and after the group has settled."""
_AWAY = 15.0
"""Seconds for which a broker is stopped or cut off: half of the members' session time-out."""
_DELAY = 0.1
"""Seconds of delay of each packet, in each direction."""
SIMULATED, LATEST, BEFORE = "simulated", "Kafka Streams 4.4.0", "Kafka Streams 4.3.1"


def _nothing(cluster: ThreeBrokers, group: str) -> None:
    """Do nothing, which shows the cost of the change itself."""


@dataclass(frozen=True)
class BrokerFault:
    """A fault of the cluster, and whether a process joins just before."""

    name: str
    joins: bool
    act: Callable[[ThreeBrokers, str], None]
    """Causes the fault. Its second argument is the name of a group; all groups have the same coordinator."""
    far: str = ""
    """The clients that use links: `members` (watchers included), `watcher`, or none if empty."""
    prepare: Callable[[ThreeBrokers, str], object] = _nothing
    """Called before the process joins and before any measurement."""
    needless: int = 1
    """Accepted number of needless moves by optassign: after a failover it may choose another of several equal tasks."""
    may_fall_back: bool = False
    """Whether the assignor may fail to answer for some time."""


def _stop(cluster: ThreeBrokers, group: str) -> None:
    """Stop the broker that coordinates the group, wait `_AWAY` seconds, and start it again."""
    broker = cluster.brokers[cluster.find_coordinator(group)]
    broker.process.stop()
    time.sleep(_AWAY)
    broker.start()


def _kill(cluster: ThreeBrokers, group: str) -> None:
    """Kill the group's coordinator, and start it again after `_AWAY` seconds."""
    broker = cluster.brokers[cluster.find_coordinator(group)]
    broker.process.kill()
    time.sleep(_AWAY)
    broker.start()


def _roll(cluster: ThreeBrokers, group: str) -> None:
    cluster.roll()


def _replace(cluster: ThreeBrokers, group: str) -> None:
    """Replace the jar by a rename, and restart all brokers one by one."""
    for jar in cluster.jars:
        copy = jar.with_suffix(".new")
        shutil.copy2(jar, copy)
        copy.replace(jar)
    cluster.roll()


def _overwrite(cluster: ThreeBrokers, group: str) -> None:
    """Overwrite the running jar with another build, as `cp` does, and restart all brokers one by one."""
    for jar in cluster.jars:
        if jar.name.startswith("optassign-broker"):
            with zipfile.ZipFile(jar) as old, zipfile.ZipFile(built := io.BytesIO(), "w", zipfile.ZIP_STORED) as new:
                for entry in old.infolist():
                    new.writestr(entry.filename, old.read(entry))
            jar.write_bytes(built.getvalue())  # the same file, unlike after a rename
    time.sleep(_AWAY)
    cluster.roll()


def _coordinate_without(cluster: ThreeBrokers, group: str) -> None:
    cluster.coordinate_without(group)


def _restart_with_assignors(cluster: ThreeBrokers, group: str) -> None:
    """Restart the coordinator, which knows only `sticky`, with the assignors of the other brokers."""
    time.sleep(_AWAY)
    cluster.restart(cluster.find_coordinator(group), assignors=str(BROKER_PROPERTIES[ASSIGNORS]))


def _cut(cluster: ThreeBrokers, group: str) -> None:
    link = cluster.links[cluster.find_coordinator(group)]
    link.cut()
    time.sleep(_AWAY)
    link.heal()


def _upgrade(cluster: ThreeBrokers, group: str) -> None:
    """Restart all brokers one by one with a model of Kafka's own warm-ups (KAFKA-20665)."""
    cluster.roll(warming_up_classpath())


def _leave_warming_up(cluster: ThreeBrokers, group: str) -> None:
    """Let optassign give its target at once, and restart all brokers with a model of Kafka's own warm-ups."""
    for broker in cluster.brokers:
        broker.configure(WARMUPS, "false")
    _upgrade(cluster, group)


FAULTS = (
    BrokerFault("none: a fourth process joins", True, _nothing),
    BrokerFault("the coordinator stops for 15 s while tasks move", True, _stop),
    BrokerFault("the coordinator is killed and gone for 15 s while tasks move", True, _kill),
    BrokerFault("rolling restart of all brokers", False, _roll),
    BrokerFault("the jar is replaced, rolling restart", False, _replace),
    BrokerFault("the jar is overwritten while tasks move, rolling restart", True, _overwrite, may_fall_back=True),
    BrokerFault(
        "the coordinator does not know the assignor; restarted with it 15 s after a process joined",
        True,
        _restart_with_assignors,
        prepare=_coordinate_without,
        needless=9,  # sticky has placed the group before, so each task of the new process may move twice
    ),
    BrokerFault("the watcher loses the coordinator's broker for 15 s while tasks move", True, _cut, "watcher"),
    BrokerFault("members and watcher lose the coordinator's broker for 15 s while tasks move", True, _cut, "members"),
    BrokerFault("a network with 0.1 s of delay each way; a fourth process joins", True, _nothing, "members"),
)
UPGRADE = BrokerFault("upgrade to brokers that warm up by themselves (model) while tasks move", True, _upgrade)
WARMING_UP = BrokerFault(
    "none: a fourth process joins; brokers warm up by themselves (model)", True, _nothing, prepare=_leave_warming_up
)
CASES = (
    *((fault, members) for members in (SIMULATED, LATEST) for fault in FAULTS),
    *((fault, BEFORE) for fault in FAULTS[:3]),
    (UPGRADE, SIMULATED),
    (WARMING_UP, SIMULATED),
)
"""The faults and the kinds of members. Members of 4.3.1, which get no warm-ups, only meet faults that may end them.

The last two cases are last because the brokers continue to warm up by themselves.
"""


@contextmanager
def _open(quick: bool) -> Iterator[tuple[ThreeBrokers, Path]]:
    with tempfile.TemporaryDirectory() as folder, ThreeBrokers(Path(folder) / "cluster") as cluster:
        yield cluster, Path(folder)


def _play(opened: tuple[ThreeBrokers, Path], case: tuple[int, tuple[BrokerFault, str]]) -> Iterator[PlayedRow]:
    """Yield a row for each trial of a case: its number, and a fault with the kind of members."""
    number, (fault, members) = case
    for trial, outcome in play(*opened, f"{number}-{members[-5:]}", fault, members):
        cells = {
            "fault": fault.name,
            "members": members,
            "assignor": f"`{trial.assignor}`",
            "lost": outcome.lost,
            "doubled": outcome.doubled,
            "died": outcome.died,
            "longest pause of a task, s": f"{outcome.pause_s:.1f}",
            "active tasks that moved": outcome.moves,
            "of them needless": outcome.needless,
            "settled after, s": "–" if outcome.settled_s is None else f"{outcome.settled_s:.0f}",
        }
        yield PlayedRow(cells, tuple(f"{fault.name}, {members}: {each}" for each in find_faults(trial, outcome)))


BROKER_FAULTS = PlayedStudy(
    cases=lambda quick: [(n, case) for n, case in enumerate(CASES) if not quick or case[1] == SIMULATED],
    play=_play,
    open=_open,
)


def play(
    cluster: ThreeBrokers, folder: Path, name: str, fault: BrokerFault, members: str, assignors: Sequence[str] = (OURS, STICKY)
) -> Iterator[tuple[Trial, TrialOutcome]]:
    """Let a fault hit a group of each assignor at the same time, and yield their outcomes."""
    reached = cluster.far if fault.far == "members" else cluster, cluster.far if fault.far else cluster
    for link in cluster.links:
        link.delay = _DELAY if fault.far and fault.act is _nothing else 0.0
    with ExitStack() as stack:
        trials: list[Trial] = []
        for assignor, group in zip(
            assignors, name_cocoordinated_groups(*(f"{each}-{name}" for each in assignors)), strict=True
        ):
            trial: Trial = (
                SimulatedTrial(reached, folder, group, assignor)
                if members == SIMULATED
                else RealTrial(reached, folder, group, assignor, latest=members == LATEST)
            )
            stack.callback(trial.close)
            trials.append(trial)
        fault.prepare(cluster, trials[0].name)
        for trial in trials:
            trial.begin()
        if fault.joins:
            for trial in trials:
                trial.join()
            await_condition("tasks move", lambda: all(trial.has_begun() for trial in trials), logs=lambda: [cluster.log])
        with ThreadPoolExecutor(1) as pool:
            _await_settled(trials, pool.submit(fault.act, cluster, trials[0].name))
        for trial in trials:
            yield trial, trial.conclude()
    cluster.await_in_sync()


def _await_settled(trials: Sequence[Trial], acting: Future[None]) -> None:
    """Wait until all groups have been settled for some time after the fault, or the time is over."""
    start = time.monotonic()
    since: float | None = None
    while (now := time.monotonic()) - start < _LONGEST or not acting.done():
        settled = [trial.is_settled() for trial in trials]
        since = (since or now) if all(settled) and acting.done() else None
        if since and now - since > _AFTERWARDS:
            break
        time.sleep(0.1)
    acting.result()


def find_faults(trial: Trial, outcome: TrialOutcome) -> list[str]:
    """Return the broken promises of optassign, one line each; empty for other assignors."""
    if trial.assignor != OURS:
        return []
    found = [f"{what}: {count}" for what in ("lost", "doubled", "died") if (count := getattr(outcome, what))]
    return found + ["not settled"] * (outcome.settled_s is None)
