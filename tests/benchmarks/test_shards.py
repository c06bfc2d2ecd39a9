"""Tests of POP's experiment on a small scale: the figures of its rounds, and a generator that follows the page."""

from __future__ import annotations

from itertools import islice

import pytest

from optassign.formats.state import ApplicationState
from optassign.measuring.load import Loads
from optassign_benchmarks.studies import shards


def stay(state: ApplicationState) -> tuple[dict[str, str], None]:
    """Return the current assignment as the answer."""
    return {task: client.process_id for client in state.clients for task in client.previous_active}, None


def test_shards_begin_spread_by_number() -> None:
    state = shards.make_shards(40, 8)
    assert {len(client.previous_active) for client in state.clients} == {5}
    assert sorted(task for client in state.clients for task in client.previous_active) == sorted(state.all_tasks)


def test_rounds_draw_the_same_loads_each_time_and_a_server_that_keeps_all_moves_nothing() -> None:
    seen: list[ApplicationState] = []

    def look(state: ApplicationState) -> tuple[dict[str, str], None]:
        seen.append(state)
        return stay(state)

    assert [one.moves for one in islice(shards.play(40, 8, look), 3)] == [0, 0, 0]
    again = [list(one.tasks) for one in seen]
    list(islice(shards.play(40, 8, look), 3))
    assert [list(one.tasks) for one in seen[3:]] == again
    for state in seen:
        weights = [task.weight for task in state.tasks]
        assert weights == sorted(weights, reverse=True)
        assert 1_000 * 40**-0.75 <= weights[-1] <= 1_000 * 40**-0.25
        assert weights[0] == 1_000


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_every_round_ends_within_the_tolerance(assignor: str) -> None:
    played = list(islice(shards.play(64, 8, shards.ask(assignor)), 4))
    assert all(one.load <= 1.05 * (1 + 1e-6) for one in played)
    assert sum(one.moves for one in played) > 0
    assert all(one.bound is None or one.bound <= one.moves for one in played)


def test_the_heuristic_moves_from_overloaded_servers_only() -> None:
    state = shards.make_shards(4, 2)
    tasks = tuple(task.model_copy(update={"weight": weight}) for task, weight in zip(state.tasks, (20, 1, 3, 2), strict=True))
    state = state.model_copy(update={"tasks": tasks})
    target, _ = shards.move_hottest(state)
    assert target == {"0_0": "s0000", "0_1": "s0001", "0_2": "s0001", "0_3": "s0001"}
    assert Loads(state).oversized == {"0_0"}
