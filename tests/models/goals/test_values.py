"""Tests of the values of goals for a placement, by hand. They test `optassign_models.goals.goal`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from judging import make_snapshot

from optassign.formats.state import ApplicationState
from optassign.translating.snapshot import read_situation
from optassign_models.goals import evaluate
from optassign_models.goals.disk import list_sizes
from optassign_models.goals.goal import ACTIVES_NOT_CAUGHT_UP, COPIES_NOT_CAUGHT_UP, RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers, weigh_tags
from optassign_models.problem import Placement, prepare

A, B, C = range(3)


def place(active: list[int], standby: dict[int, int] | None = None) -> Placement:
    given = standby or {}
    return Placement(np.array(active), np.array(list(given), dtype=np.int64), np.array(list(given.values()), dtype=np.int64))


def test_restore_work_counts_what_the_answer_restores_and_what_the_target_adds() -> None:
    """Clients a and b have 0_0, so this answer restores nothing of it. No client has 0_1, so any copy restores all of it."""
    clients = {"a": {"0_0": 0}, "b": {"0_0": 50}, "c": {}}
    problem = prepare(read_situation(make_snapshot({"0_0": 100, "0_1": 30}, clients)).problem)
    goals = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
    found = {name: tuple(evaluate(problem, place([name, A]), goals).values()) for name in (A, B, C)}
    assert found == {A: (30, 1, 1), B: (50 + 30, 2, 2), C: (100 + 30, 2, 2)}


def read_tagged(*tags: str) -> ApplicationState:
    clients = {name: {"tags": {"zone": values[0], "rack": values[1]}} for name, values in zip("abc", tags, strict=True)}
    options = {"goals": ["tag_spread", "restore_work"]}
    configs: dict[str, Any] = {"rack_aware_assignment_tags": ["zone", "rack"], "num_standby_replicas": 1}
    return make_snapshot({"0_0": 9}, clients, options=options, **configs)


def test_a_value_of_an_earlier_tag_outweighs_all_values_of_later_ones() -> None:
    problem = prepare(read_situation(read_tagged("xp", "xq", "yp")).problem)
    of_zone, of_rack = weigh_tags(2, 2)
    assert of_zone > 2 * of_rack
    values = {pair: evaluate(problem, place([pair[0]], {0: pair[1]}), (TAG_SPREAD,)) for pair in ((A, B), (A, C))}
    assert values[A, B] == {"tag_spread": -(of_zone + 2 * of_rack)}
    assert values[A, C] == {"tag_spread": -(2 * of_zone + of_rack)}
    assert bound_by_numbers(problem) == -(2 * of_zone + 2 * of_rack)


def test_weights_of_many_tags_stay_within_64_bits() -> None:
    assert weigh_tags(1_000_000, 5)[0] * 1_000_001 <= 1 << 60


@pytest.mark.parametrize(
    ("active", "value"),
    [
        ([A, B, B], 1000),  # loads 4 and 2 + 2 of 8 on two threads
        ([A, A, B], 1500),
        ([A, A, A], 2000),
    ],
)
def test_load_is_the_greatest_in_thousandths_of_an_even_spread(active: list[int], value: int) -> None:
    tasks = {f"0_{number}": {"stateful": False, "logged": False, "weight": weight} for number, weight in enumerate((4, 2, 2))}
    state = make_snapshot(tasks, {"a": {}, "b": {}}, options={"goals": ["load", "restore_work"]})
    problem = prepare(read_situation(state).problem)
    assert evaluate(problem, place(active), (LOAD,)) == {"load": value}


def test_state_is_in_even_spreads_over_the_clients_that_stay() -> None:
    """Two tasks of 30 and 10 offsets: client c drains, so an even spread is 20 offsets, not 13."""
    clients: dict[str, dict[str, int]] = {"a": {}, "b": {}, "c": {}}
    state = make_snapshot({"0_0": 30, "0_1": 10}, clients, num_standby_replicas=0)
    drains = tuple(client.model_copy(update={"draining": client.process_id == "c"}) for client in state.clients)
    problem = read_situation(state.model_copy(update={"clients": drains})).problem
    assert list_sizes(problem).tolist() == [1_500_000, 500_000]
