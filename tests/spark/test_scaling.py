"""Tests that the measures of a rebalance at a multiple of its size are multiplied, too."""

import pytest

from optassign import assign
from optassign.judging.metrics import measure
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.spark.recordings import scale_assignment, scale_state

SPECS = [
    Spec("scale-out", 30, 4, seed=1, memory=True),
    Spec("restart", 30, 4, standbys=2, seed=2, unlogged=0.2, threads=(1, 3)),
    Spec("partial", 24, 5, seed=3, unknown=0.2),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.parametrize("assignor", ["greedy", "sticky"])
def test_sums_are_multiples(spec: Spec, assignor: str) -> None:
    state = spec.generate()
    answer = assign(state, assignor)
    large, answers = scale_state(state, 3), scale_assignment(answer, state, 3)
    small_measures, large_measures = measure(state, answer), measure(large, answers)
    for name in (
        "active_moves",
        "standby_migrations",
        "restore_work",
        "copies_not_caught_up",
        "actives_not_caught_up",
        "warmups",
        "warmup_work",
    ):
        assert getattr(large_measures, name) == 3 * getattr(small_measures, name), name
    assert (len(large.tasks), len(large.clients)) == (3 * len(state.tasks), 3 * len(state.clients))
    assert {rule for rule in ("format", "R1", "R2") if rule in large_measures.violations} == set()
    assert large.dropped.model_dump() == state.dropped.model_dump() | {
        name: 3 * number for name, number in state.dropped.model_dump().items()
    }


def test_subtopologies_grow_in_size_and_not_in_number() -> None:
    state = SPECS[0].generate()
    large = scale_state(state, 2)
    assert {task.task_id.subtopology for task in large.tasks} == {task.task_id.subtopology for task in state.tasks}


def test_consumers_and_memory_grow() -> None:
    from optassign.generating import generate

    state = generate("steady", 20, 4, seed=1, memory=True, consumers=True)
    large = scale_state(state, 2)
    assert large.remembered is not None
    assert state.remembered is not None
    assert len(large.remembered.clients) == 2 * len(state.remembered.clients)
    consumers = [tasks for client in large.clients for tasks in client.consumers.values()]
    assert sum(map(len, consumers)) == 2 * sum(len(tasks) for client in state.clients for tasks in client.consumers.values())


@pytest.mark.parametrize("factor", [0, -1])
def test_a_factor_below_one_is_refused(factor: int) -> None:
    with pytest.raises(ValueError, match="allowed: 1 or more"):
        scale_state(SPECS[0].generate(), factor)
