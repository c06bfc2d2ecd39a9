"""Seconds of an operator's requests on a real broker: drain an instance, pause → restart → resume, restart a static leader.

The group has no other reason to rebalance, so a request waits for the follow-up that a stable group asks for.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import OperatorCommands, ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

__all__ = ["STATIC", "Walk", "drain_at_rest", "pause_restart_resume", "restart_static_leader"]

STATIC: dict[str, object] = {"max_warmup_replicas": 1, "main_consumer_session_timeout_ms": 45_000}
"""Properties for `restart_static_leader`: warm-ups take long, and the group does not notice the leader's restart."""
_IDLE_S = {False: 300, True: 15}
"""Quick run or not → seconds after which a stable group rebalances; 300 is the default of `optassign serve`."""
_RATE = 100.0
"""Records per second into the three subtopologies of an application together."""


@dataclass(frozen=True)
class Walk:
    """The outcome of a request."""

    seconds: float
    since: str
    """The event at second 0."""
    rebalances: int
    moved: int
    """Active tasks that moved."""
    said: str
    """The output of the last command."""


def drain_at_rest(group: StreamsApplication, operator: OperatorCommands) -> Walk:
    """Drain `c` of three instances of a stable group by `drain --wait`, which ends when `c` may stop."""
    _await_rest(group, operator)
    return _measure(group, operator, "drain", lambda: operator.run("drain", "c", "--wait"))


def pause_restart_resume(
    group: StreamsApplication, operator: OperatorCommands, look: Callable[[], object] = lambda: None
) -> Walk:
    """Pause a stable group and restart `c` of three instances, which then has no active task; resume, and wait for balance.

    look: called before the application is resumed. AssertionError if the restarted instance gets tasks during the pause, since
    a resume then has nothing to change.
    """
    _await_rest(group, operator)
    operator.run("pause")
    group.kill("c")
    operator.await_newest("the others have its tasks", group, clients=2, hold="paused")
    group.start("c")
    group.await_complete()
    operator.await_newest("c is back, and held at what it has", group, clients=3, hold="paused")
    held = operator.read_newest()
    assert not held.assignment.by_process_id[group.instances["c"].process_id].active
    assert not held.summary.balanced
    look()

    def resume() -> str:
        said = operator.run("resume")
        operator.await_newest("balanced after the pause", group, clients=3, rests=True)
        return said

    return _measure(group, operator, "resume", resume)


def restart_static_leader(group: StreamsApplication, operator: OperatorCommands) -> Walk:
    """Let `c` join two static members, and kill and restart the leader during a warm-up; wait for balance."""
    _start_static(group, "a", "b")
    operator.await_newest("two at rest", group, clients=2, rests=True)
    _start_static(group, "c")
    await_condition("a warm-up is under way", lambda: operator.read_newest().summary.warmups, logs=group.logs)

    def restart() -> str:
        leader = group.leader
        group.kill(leader)
        _start_static(group, leader)
        operator.await_newest("balanced after the restart", group, clients=3, rests=True)
        return leader

    return _measure(group, operator, "restart", restart)


_WALKS: dict[str, Callable[[StreamsApplication, OperatorCommands], Walk]] = {
    "drain an instance of a group at rest": drain_at_rest,
    "pause, restart an instance, resume": pause_restart_resume,
    "restart the static leader in mid-warm-up": restart_static_leader,
}


@contextmanager
def _open(quick: bool) -> Iterator[tuple[Broker, ServiceProcess, Path]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="operating-")))
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(ServiceProcess(folder / "service", "text", "--idle-followup", str(_IDLE_S[quick])))
        yield broker, service, folder


def _play(opened: tuple[Broker, ServiceProcess, Path], name: str) -> Iterator[PlayedRow]:
    """Yield the row of a request; faults are dead stream threads, and records that are lost or processed twice."""
    (broker, service, folder), walk = opened, _WALKS[name]
    properties = STATIC if walk is restart_static_leader else {"main_consumer_session_timeout_ms": 10_000}
    application = walk.__name__.replace("_", "-")
    with StreamsApplication(broker, application, folder, optassign_url=service.url, **properties) as group:
        group.load.write(PRELOAD)
        group.load.run(_RATE)
        if walk is not restart_static_leader:
            group.start("a", "b", "c")
        found = walk(group, OperatorCommands(service, group.application))
        group.load.await_accounted()
        cells = {
            "what the operator does": name,
            "seconds": round(found.seconds, 1),
            "from": found.since,
            "rebalances": found.rebalances,
            "active tasks moved": found.moved,
            "records": group.load.written,
            "lost or counted twice": len(group.load.faults),
        }
        yield PlayedRow(cells, tuple(f"{name}: {fault}" for fault in (*group.deaths, *group.load.faults)))


OPERATING = PlayedStudy(
    cases=lambda quick: _WALKS,
    play=_play,
    open=_open,
    at_once=len(_WALKS),
    caption=lambda quick: f"A group at rest rebalances every {_IDLE_S[quick]} s",
)
"""Ten minutes, nearly all of it waiting for follow-ups of stable groups; in a quick run these come after 15 s."""


def _await_rest(group: StreamsApplication, operator: OperatorCommands) -> None:
    operator.await_newest("at rest, balanced", group, clients=len(group.instances), rests=True)


def _start_static(group: StreamsApplication, *names: str) -> None:
    for name in names:
        group.configure(group_instance_id=f"S{name}")
        group.start(name)


def _measure(group: StreamsApplication, operator: OperatorCommands, since: str, ask: Callable[[], str]) -> Walk:
    before, newest, start = len(group.rebalances), operator.read_newest().recorded_at, time.monotonic()
    said = ask()
    seconds = time.monotonic() - start
    return Walk(seconds, since, len(group.rebalances) - before, operator.count_moves(newest), said)
