"""What an operator does to a group at rest takes effect by itself, and a restart in the middle loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording
from optassign_benchmarks.kafka.group import Group
from optassign_benchmarks.kafka.service import Service
from optassign_benchmarks.kafka.waiting import await_condition

_IDLE_S = 15.0
"""After which a group at rest rebalances here; the plug-in puts off what is below a minute by a third of the time at rest."""


@pytest.fixture(scope="module")
def operated(folder: Path) -> Iterator[Service]:
    with Service(folder / "operated", "json", "--idle-followup", str(_IDLE_S)) as service:
        yield service


def ask(service: Service, method: str, page: str) -> dict[str, Any]:
    request = Request(
        f"{service.url}/v1/applications/{page}", b"{}", {"Optassign-Protocol": "1", "Content-Type": "application/json"}
    )
    request.method = method
    if method == "GET":
        request.data = None
    with urlopen(request, timeout=30) as response:
        found: dict[str, Any] = json.load(response)
        return found


def read_newest(service: Service, application: str) -> Any:
    return read_recording(max(find_recordings(service.recordings, application)).path)


def await_rest(service: Service, group: Group) -> float:
    """Wait until the last answer moves and awaits nothing, and is balanced; the seconds that it took."""

    def rests() -> bool:
        group.assert_nothing_died()
        if not list(find_recordings(service.recordings, group.application)):
            return False
        newest = read_newest(service, group.application)
        summary = newest.summary
        known = len(newest.snapshot.clients) == len(group.instances)
        return known and summary.awaited == "operators" and summary.balanced and summary.hold == "none"

    return await_condition(f"{group.application}: at rest, balanced", rests, logs=group.logs)


@pytest.mark.long
def test_a_group_at_rest_drains_and_resumes_by_itself(new_group: Callable[..., Group], operated: Service) -> None:
    group = new_group("at-rest", optassign_url=operated.url)
    group.start("a", "b", "c")
    await_rest(operated, group)
    ask(operated, "POST", f"at-rest/drains/{group.instances['c'].process_id}")
    assert ask(operated, "GET", "at-rest")["waits_for"] == "nothing: it gives operators their turn"
    seconds = await_condition(
        "c may stop", lambda: ask(operated, "GET", "at-rest")["drains"][0]["state"] == "may_stop", logs=group.logs
    )
    print(f"drain at rest: c may stop after {seconds:.1f} s")
    assert not group.await_complete().active["c"]
    ask(operated, "DELETE", f"at-rest/drains/{group.instances['c'].process_id}")
    await_rest(operated, group)

    ask(operated, "POST", "at-rest/pause")
    group.kill("c")
    await_condition(
        "the others have its tasks",
        lambda: len(read_newest(operated, "at-rest").snapshot.clients) == 2,
        logs=group.logs,
    )
    group.start("c")
    group.await_complete()
    await_condition(
        "c is back, and held at what it has",
        lambda: (newest := read_newest(operated, "at-rest")).summary.hold == "paused" and len(newest.snapshot.clients) == 3,
        logs=group.logs,
    )
    held = read_newest(operated, "at-rest")
    assert held.summary.awaited == "operators"
    ask(operated, "DELETE", "at-rest/pause")
    seconds = await_rest(operated, group)
    print(f"pause, restart, resume: balanced {seconds:.1f} s after resume")
    group.await_complete().assert_balanced(standbys=1)
    group.load.await_accounted()


@pytest.mark.long
def test_a_static_leader_restarts_in_the_middle_of_warming_up(new_group: Callable[..., Group], operated: Service) -> None:
    """Its members go by their group.instance.id; its restart causes no rebalance, and the follow-up comes all the same."""
    group = new_group("static", optassign_url=operated.url, max_warmup_replicas=1, main_consumer_session_timeout_ms=45_000)
    for name in ("a", "b"):
        group.configure(group_instance_id=f"S{name}")
        group.start(name)
    await_rest(operated, group)
    newest = read_newest(operated, "static")
    assert sorted(client.client_id for client in newest.snapshot.clients) == ["Sa", "Sb"]
    group.configure(group_instance_id="Sc")
    group.start("c")
    begun = time.monotonic()
    await_condition("a warm-up is under way", lambda: read_newest(operated, "static").summary.warmups, logs=group.logs)
    leader, rebalances = group.leader, len(group.rebalances)
    group.kill(leader)
    group.configure(group_instance_id=f"S{leader}")
    group.start(leader)
    await_rest(operated, group)
    print(f"static leader restarted in mid-warm-up: balanced {time.monotonic() - begun:.1f} s after the third joined,")
    print(f"in {len(group.rebalances) - rebalances} rebalances after its restart")
    assert len(read_newest(operated, "static").snapshot.clients) == 3
    group.await_complete().assert_balanced(standbys=1)
    group.load.await_accounted()
