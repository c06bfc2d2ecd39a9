"""`optassign.weights=rates`: what each task's input grows by is measured on the broker, and is what is balanced."""

from __future__ import annotations

from collections.abc import Callable

from optassign.benchmarks.kafka.group import MOST_PROBES, Group
from optassign.benchmarks.kafka.placement import Placement
from optassign.benchmarks.kafka.service import Service
from optassign.formats.state import ApplicationState
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording

_BURST = 3_000
"""Records per partition, beside which the others' input hardly counts."""
_ENOUGH = 1.1
"""Of the mean: what is within the tolerance of 5% of the least, or not worth the move at 5% of the mean."""


def find_greatest_share(state: ApplicationState, placement: Placement) -> float:
    """The weight that the busiest instance runs, as a multiple of the mean."""
    weights = {task.id: task.weight for task in state.tasks}
    loads = [sum(weights[task] for task in tasks) for tasks in placement.active.values()]
    return max(loads) * len(loads) / sum(loads)


def test_a_skewed_input_is_balanced_by_its_rates(new_group: Callable[..., Group], service: Service) -> None:
    # The broker gets a quarter of the time-out, which is at most two thirds of the session's.
    settings = {"optassign_timeout_ms": 10_000, "main_consumer_session_timeout_ms": 15_000}
    group = new_group("skewed", optassign_weights="rates", **settings)
    group.load.run(0)  # of an even input the few seconds until it rests tell more noise than rates
    group.start("a", "b")
    group.settle(MOST_PROBES)
    before = group.await_complete()
    # What one of them runs of a subtopology is to be busy from now on.
    logged = ([task for task in tasks if task.startswith("0_")] for tasks in before.active.values())
    busy = [int(task.removeprefix("0_")) for task in max(logged, key=len)]
    group.load.write(_BURST, ("logged",), busy)
    group.probe()  # the next rebalance, whatever for, measures it
    group.settle(MOST_PROBES, returning=True)
    after = group.await_complete()
    state = read_recording(max(find_recordings(service.recordings, "skewed")).path).snapshot
    assert state.rates is not None
    assert find_greatest_share(state, before) > _ENOUGH, "counting left all of the burst on one instance"
    assert find_greatest_share(state, after) <= _ENOUGH
    lines = [line for log in group.logs() for line in log.read_text(encoding="utf-8").splitlines() if "optassign:" in line]
    assert not [line for line in lines if "not measured" in line]
    group.load.await_accounted()
