"""Tests of R9: the same problem has the same answer, for any order of its lists, hash seed and thread."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import pytest
from altering import with_configs, with_options
from judging import draw_case
from same_answers import assign_with_hash_seed, write_answer
from seeds import take_few

from optassign.assignor import assign, create
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.simulation.successors import make_restored_snapshot

ASSIGNORS = ("cp-sat", "greedy")

CASES: dict[str, Callable[[], ApplicationState]] = {
    **{shape: lambda shape=shape: generate(shape, 24, 5, 1, seed=4, memory=True) for shape in SHAPES},  # type: ignore[misc]
    "two standbys": lambda: generate("scale-out", 30, 6, 2, threads=(1, 4), capacity=(0.5, 2.0), seed=5, memory=True),
    "unknown lags": lambda: generate("partial", 24, 5, 1, unknown=0.2, tiny=0.2, unlogged=0.2, seed=6, dense=True),
    "weights": lambda: generate("scale-out", 10, 3, 1, weights=0.5, racks=2, consumers=True, seed=7),
    "racks": lambda: configured(generate("scale-out", 18, 4, 1, racks=3, seed=8)),
    "weighted": lambda: with_options(generate("scale-out", 18, 4, 1, seed=9), preset="weighted"),
    "in the middle": lambda: in_the_middle(generate("scale-out", 30, 6, 2, seed=10)),
}


def configured(state: ApplicationState) -> ApplicationState:
    return with_configs(state, rack_aware_assignment_strategy="min_traffic", rack_aware_assignment_tags=("zone",))


def in_the_middle(state: ApplicationState) -> ApplicationState:
    """Return the snapshot two rebalances later, with the memory that answers leave."""
    for _ in range(2):
        state = make_restored_snapshot(state, assign(state, "greedy"), keep_state=True)
    return state


def shuffled(value: Any, rng: random.Random) -> Any:
    """Return the same JSON with all lists and dictionaries shuffled, except `goals`, whose order counts."""
    if isinstance(value, dict):
        items = [(key, list(below) if key == "goals" and below else shuffled(below, rng)) for key, below in value.items()]
        rng.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        below = [shuffled(entry, rng) for entry in value]
        rng.shuffle(below)
        return below
    return value


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("case", CASES)
def test_the_order_of_lists_and_keys_does_not_matter(case: str, assignor: str) -> None:
    state = CASES[case]()
    expected = write_answer(assign(state, assignor))
    for seed in range(3):
        again = ApplicationState.model_validate(shuffled(json.loads(state.model_dump_json()), random.Random(seed)))
        assert write_answer(assign(again, assignor)) == expected, f"order {seed}"


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("first", take_few(range(0, 120, 20), 3))
def test_the_order_does_not_matter_in_random_snapshots(first: int, assignor: str) -> None:
    for seed in range(first, first + 20):
        written = json.loads(draw_case(seed)[0].model_dump_json())
        state = ApplicationState.model_validate(written)
        again = ApplicationState.model_validate(shuffled(written, random.Random(seed)))
        assert again == state
        assert write_answer(assign(again, assignor)) == write_answer(assign(state, assignor)), f"snapshot {seed}"


def test_the_hash_seed_does_not_matter() -> None:
    states = [case() for case in CASES.values()]
    expected = [write_answer(assign(state, name)) for state in states for name in ASSIGNORS]
    assert assign_with_hash_seed(states, ASSIGNORS, "4242") == expected


def test_a_second_call_in_the_same_process_gives_the_same_answer() -> None:
    for name in ASSIGNORS:
        assignor = create(name)
        for case in CASES.values():
            state = case()
            assert write_answer(assignor.assign(state)) == write_answer(assignor.assign(state))


@pytest.mark.parametrize("shared", [True, False], ids=["one assignor", "one each"])
@pytest.mark.parametrize("name", ASSIGNORS)
def test_several_threads_at_once_get_the_answers_of_one(name: str, shared: bool) -> None:
    states = [case() for case in CASES.values()]
    expected = [write_answer(assign(state, name)) for state in states]
    one = create(name)
    with ThreadPoolExecutor(max_workers=3) as pool:
        rounds = [pool.map(lambda state: (one if shared else create(name)).assign(state), states) for _ in range(2)]
        answers = [write_answer(answer) for answer in chain.from_iterable(rounds)]
    assert answers == expected * 2
