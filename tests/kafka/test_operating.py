"""Tests that operators' requests to a running application take effect by themselves, and that a restart loses nothing."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from command_line import run_process

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import OperatorCommands, ServiceProcess

STATIC: dict[str, object] = {"max_warmup_replicas": 1, "main_consumer_session_timeout_ms": 45_000}
"""Properties for `restart_static_leader`: warm-ups take long, and the group does not notice the leader's restart."""
_IDLE_S = 15.0
"""Seconds at rest until a rebalance; the plug-in delays intervals below a minute by a third of the time at rest."""


@dataclass(frozen=True)
class Walk:
    """The outcome of a request."""

    seconds: float
    since: str
    """The event at second 0."""
    rebalances: int
    moved: int
    """Active tasks that moved."""
    output: str
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
        output = operator.run("resume")
        operator.await_newest("balanced after the pause", group, clients=3, rests=True)
        return output

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


def _await_rest(group: StreamsApplication, operator: OperatorCommands) -> None:
    operator.await_newest("at rest, balanced", group, clients=len(group.instances), rests=True)


def _start_static(group: StreamsApplication, *names: str) -> None:
    for name in names:
        group.configure(group_instance_id=f"S{name}")
        group.start(name)


def _measure(group: StreamsApplication, operator: OperatorCommands, since: str, ask: Callable[[], str]) -> Walk:
    before, newest, start = len(group.rebalances), operator.read_newest().recorded_at, time.monotonic()
    output = ask()
    seconds = time.monotonic() - start
    return Walk(seconds, since, len(group.rebalances) - before, operator.count_moves(newest), output)


@pytest.fixture(scope="module")
def operated(folder: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(folder / "operated", "text", "--idle-followup", str(_IDLE_S)) as service:
        yield service


def read_page(service: ServiceProcess, path: str) -> str:
    """Return the text of a page; ask again until the service makes it in time, since a busy machine is late at first."""
    found: list[str] = []

    def read() -> bool:
        with suppress(OSError), urlopen(Request(f"{service.url}{path}", headers={"Accept": "text/html"}), timeout=60) as page:
            found.append(page.read().decode())
        return bool(found)

    await_condition(f"the page {path}", read, logs=lambda: [service.log])
    return found[0]


def find_shown_status(page: str) -> tuple[str, str]:
    """Return the status on the page, and its explanation."""
    ((word, about),) = re.findall(
        r'<dt>Status</dt><dd><strong><span class="status [\w-]+">([^<]*)</span></strong>.*?<br>(.*?)<br>', page
    )
    return word, about


def read_logs(group: StreamsApplication) -> str:
    """Return the logs of all instances, including past ones."""
    return "".join(log.read_text(encoding="utf-8", errors="replace") for log in group.logs()[:-1])


def show(walk: Walk) -> None:
    print(f"balanced, or free to stop, {walk.seconds:.1f} s after the {walk.since}, in {walk.rebalances} rebalances")


@pytest.mark.long
def test_a_group_at_rest_is_drained(new_group: Callable[..., StreamsApplication], operated: ServiceProcess) -> None:
    group, operator = new_group("at-rest", optassign_url=operated.url), OperatorCommands(operated, "at-rest")
    group.start("a", "b", "c")
    group.await_complete()
    refused = operator.run("drain", "NOPE", code=4)
    assert "no such client in the last rebalance: client: found NOPE; allowed: one of" in refused
    walk = drain_at_rest(group, operator)
    show(walk)
    assert "the drain takes effect at the next rebalance, at the latest at " in walk.output
    assert "drain of c: may stop" in walk.output
    assert not group.await_complete().active["c"]
    group.leave("c")
    operator.await_newest("c has left", group, clients=2, rests=True)
    assert json.loads(read_page(operated, "/v1/applications/at-rest"))["drains"] == [], "its drain is over"
    group.load.await_accounted()


@pytest.mark.long
def test_an_instance_that_restarts_in_a_pause_gets_its_tasks_back(
    new_group: Callable[..., StreamsApplication], operated: ServiceProcess
) -> None:
    """During the pause, page and leader's log say that the group is paused and not balanced."""
    group, operator = new_group("resting", optassign_url=operated.url), OperatorCommands(operated, "resting")
    group.start("a", "b", "c")
    seen: list[str] = []
    walk = pause_restart_resume(group, operator, lambda: seen.append(read_page(operated, "/applications/resting")))
    show(walk)
    assert "the request takes effect at the next rebalance, at the latest at " in walk.output
    paused = seen[0]
    word, about = find_shown_status(paused)
    assert (word, "nothing moves but what the rules force" in about) == ("paused", True)
    assert "not balanced yet" in paused
    assert "every copy is where it should be" not in paused
    rebalance, logs = operator.read_newest().rebalance, read_logs(group)
    assert "why=the application is paused: nothing moves but what the rules force" in logs
    assert f"rebalance={rebalance}" in logs, "the line of the log leads to the page"
    last = json.loads(read_page(operated, "/v1/history/resting"))["row"]["last"]["id"]
    assert f"rebalance={rebalance}" in read_page(operated, f"/applications/{last.replace('/', '/rebalances/', 1)}")
    assert "trigger=followup" in logs
    group.await_complete().assert_balanced(standbys=1)
    group.load.await_accounted()


@pytest.mark.long
def test_a_static_leader_restarts_in_the_middle_of_warming_up(
    new_group: Callable[..., StreamsApplication], operated: ServiceProcess
) -> None:
    """Members have a group.instance.id; the leader's restart causes no rebalance, and the follow-up still comes."""
    group, operator = new_group("static", optassign_url=operated.url, **STATIC), OperatorCommands(operated, "static")
    walk = restart_static_leader(group, operator)
    show(walk)
    clients = operator.read_newest().snapshot.clients
    assert sorted(str(client.client_id) for client in clients) == ["Sa", "Sb", "Sc"]
    assert "drain of Sc: waiting" in operator.run("drain", "Sc")
    operator.run("drain", "Sc", "--cancel")
    assert run_process("explain", "static", "--task", "0_3", "--recordings", str(operated.recordings)).returncode == 0
    group.await_complete().assert_balanced(standbys=1)
    group.load.await_accounted()


@pytest.mark.long
def test_the_config_line_without_the_jar_ends_the_leading_instance(new_group: Callable[..., StreamsApplication]) -> None:
    """The error is the one that the guide quotes; once the line is removed, the instance runs."""
    group = new_group("no-jar", optassign_url=None, optassign_timeout_ms=None)
    group.start("a", plugin=False)
    text = "Expected an instantiable class name for task.assignor.class"
    await_condition("it dies when it leads", lambda: any(text in death for death in group.deaths), logs=group.logs)
    assert text in (Path(__file__).parents[2] / "docs/how-to/troubleshoot.md").read_text(encoding="utf-8")
    group.kill("a")
    group.configure(task_assignor_class=None)
    group.start("a", plugin=False)
    instance = group.instances["a"]
    await_condition("all its tasks run", lambda: set(instance.status().active) == group.tasks, logs=group.logs)


@pytest.mark.long
def test_keys_of_consumers_reach_the_plug_in_and_fewer_clients_log_them_as_unused(
    new_group: Callable[..., StreamsApplication], operated: ServiceProcess
) -> None:
    def count_remarks(key: str) -> int:
        keys = {"optassign_url": None, "optassign_timeout_ms": None} | {key: operated.url}
        group = new_group(key.replace("_", "-"), **keys)
        group.start("a")
        group.await_complete()
        assert group.rebalances[-1].assignor == "cp-sat"
        return sum("optassign" in line and "not used yet" in line for line in read_logs(group).splitlines())

    assert count_remarks("consumer_optassign_url") < count_remarks("optassign_url")
