"""Tests of `optassign.weights=rates`: the broker's offsets give the growth of each task's input, and load is balanced by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest

from optassign.formats.base import parse_time
from optassign.formats.state import ApplicationState
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording
from optassign_benchmarks.kafka.group import MOST_PROBES, StreamsApplication, TasksByInstance
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

_BURST = 3_000
"""Records per partition; the input of other tasks hardly counts next to it."""
_ENOUGH = 1.1
"""Greatest load of a balanced group, in multiples of the mean: 5% of tolerance, and 5% that are not worth a move."""
_COUNTS_AFTER = timedelta(minutes=1)


def find_greatest_share(state: ApplicationState, placement: TasksByInstance) -> float:
    """Return the load of the busiest instance as a multiple of the mean."""
    weights = {task.id: task.weight for task in state.tasks}
    loads = [sum(weights[task] for task in tasks) for tasks in placement.active.values()]
    return max(loads) * len(loads) / sum(loads)


def list_snapshots(service: ServiceProcess, application: str) -> list[ApplicationState]:
    """Return the snapshots of all rebalances, oldest first."""
    snapshots = [read_recording(found.path).snapshot for found in find_recordings(service.recordings, application)]
    return sorted(snapshots, key=lambda state: state.taken_at or "")


def rest_by_numbers(group: StreamsApplication) -> TasksByInstance:
    """Rebalance until no task moves, and return the placement. Follow-ups show no rest: they come until rates count."""
    before = group.await_complete()
    for _ in range(MOST_PROBES):
        group.await_caught_up()
        after = group.probe()
        if after == before:
            return after
        before = after
    raise AssertionError(f"{group.application} does not come to rest: {before}")


def put_back(service: ServiceProcess, state: ApplicationState, minutes: int) -> None:
    """Send the snapshot to the service with a time `minutes` earlier, instead of waiting."""
    assert state.taken_at is not None
    then = (parse_time(state.taken_at) - timedelta(minutes=minutes)).isoformat(timespec="milliseconds")
    headers = {"Content-Type": "application/json", "Optassign-Protocol": "1", "Optassign-Deadline-Ms": "30000"}
    snapshot = state.model_copy(update={"taken_at": then}).model_dump_json().encode()
    with urlopen(Request(f"{service.url}/v1/assign", snapshot, headers), timeout=60) as response:
        answer = json.load(response)
    assert parse_time(answer["report"]["rates"]["taken_at"]) == parse_time(then)


@pytest.mark.long
def test_a_skewed_input_is_balanced_by_its_rates(new_group: Callable[..., StreamsApplication], service: ServiceProcess) -> None:
    # The broker gets a quarter of the time-out, which is at most two thirds of the session's time-out.
    settings = {"optassign_timeout_ms": 15_000, "main_consumer_session_timeout_ms": 30_000}
    group = new_group("skewed", optassign_weights="rates", **settings)
    group.start("a", "b")
    before = rest_by_numbers(group)
    # The tasks of one subtopology on one instance get the burst.
    logged = ([task for task in tasks if task.startswith("0_")] for tasks in before.active.values())
    busy = [int(task.removeprefix("0_")) for task in max(logged, key=len)]
    known = list_snapshots(service, "skewed")
    group.load.write(_BURST, ("logged",), busy)
    soon = group.probe()  # the next rebalance measures the burst
    await_condition("the rebalance is recorded", lambda: len(list_snapshots(service, "skewed")) > len(known))
    first, *_, last = snapshots = list_snapshots(service, "skewed")
    begin = parse_time(first.taken_at or "")
    early = [state for state in snapshots if parse_time(state.taken_at or "") < begin + _COUNTS_AFTER]
    assert all({task.weight for task in state.tasks} == {1.0} for state in early), "what seconds tell is noise"
    if last in early:
        assert last.rates is not None
        assert any(row.per_second for row in last.rates.tasks)
        assert soon == before
    put_back(service, known[-1], minutes=2)
    group.settle(MOST_PROBES, returning=True)
    after = group.await_complete()
    state = list_snapshots(service, "skewed")[-1]
    assert state.rates is not None
    assert find_greatest_share(state, before) > _ENOUGH, "counting left all of the burst on one instance"
    assert find_greatest_share(state, after) <= _ENOUGH
    lines = [line for log in group.logs() for line in log.read_text(encoding="utf-8").splitlines() if "optassign:" in line]
    assert not [line for line in lines if "not measured" in line]
    group.load.await_accounted()
