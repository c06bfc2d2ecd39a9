"""Tests of every baseline: it gives a valid answer to any snapshot, and the same answer to the same problem."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from answers_as_text import describe, make_running_client
from judging import draw_case, make_snapshot
from same_answers import assign_with_hash_seed, write_answer
from seeds import take_few
from tiny import draw_tiny_state

from optassign import assignor as assignors
from optassign.assignor import TaskAssignor, assign, create
from optassign.cli import main
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.judging.validation import validate
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot

BASELINES = (
    "consumer-sticky",
    "gap-sticky",
    "gap-sticky:previous-tasks",
    "goal-chain",
    "high-availability",
    "sticky",
    "weighted-shards",
)
KEEPS_ITS_ACTIVES = ("consumer-sticky", "gap-sticky")
"""Baselines whose next answer moves no active task after all copies of an answer are restored."""
ASKS_AGAIN = ("goal-chain", "high-availability", "weighted-shards")
"""Baselines that may request follow-ups; the others never do."""
ALWAYS_KEPT = {"format", "R1", "R2", "R4"}
"""Rules that no baseline breaks; a baseline may ignore the others."""

all_baselines = pytest.mark.parametrize("name", BASELINES)


@cache
def make_cases() -> dict[str, ApplicationState]:
    """Return a snapshot of each shape and special cases, by name."""
    return {
        **{shape: generate(shape, 24, 5, 1, seed=4) for shape in SHAPES},
        "two standbys": generate("scale-out", 30, 6, 2, threads=(1, 4), capacity=(0.5, 2.0), seed=5, memory=True),
        "no standbys": generate("scale-in", 20, 4, 0, threads=(1, 3), seed=6),
        "unknown lags": generate("partial", 24, 5, 1, unknown=0.3, tiny=0.2, unlogged=0.2, seed=7, dense=True),
        "consumers, racks, weights": generate("scale-out", 20, 4, 1, threads=2, weights=0.5, racks=2, consumers=True, seed=8),
        "one client": generate("restart", 9, 1, 1, threads=2, seed=9),
        "more standbys than clients": generate("cold", 12, 3, 9, seed=10),
        "more clients than tasks": generate("scale-out", 3, 9, 2, stateless=0.0, seed=11),
        "stateless only": generate("scale-in", 12, 4, 1, stateless=1.0, seed=12),
        "no tasks": generate("cold", 0, 3, 1),
        "larger": generate("partial", 40, 7, 2, threads=(1, 3), seed=1),
        "larger still": generate("scale-out", 60, 9, 1, seed=2),
    }


def list_states(seeds: int) -> list[ApplicationState]:
    """Return the cases and small random snapshots: tasks with two owners or none, memory, unlisted state, draining clients."""
    drawn = [state for seed in range(seeds) for state in (draw_case(seed)[0], draw_tiny_state(seed))]
    return [*make_cases().values(), *drawn]


def reorder(value: Any, rng: random.Random | None) -> Any:
    """Return the same JSON with every list and dictionary reversed, or shuffled by `rng`."""
    if isinstance(value, dict):
        below = [(key, reorder(inner, rng)) for key, inner in value.items()]
    elif isinstance(value, list):
        below = [reorder(inner, rng) for inner in value]
    else:
        return value
    if rng is None:
        below.reverse()
    else:
        rng.shuffle(below)
    return dict(below) if isinstance(value, dict) else below


def test_all_baselines_are_here() -> None:
    found: list[str] = []
    for name in assignors.list_names():
        if not (assignors.find_traits(name).keeps_rules or assignors.find_traits(name).needs_jdk):
            default, *others = assignors.list_variants(name) or (name,)
            found += [name, *(f"{name}:{other}" for other in others)]
            if default != name:
                assert write_answer(assign(make_cases()["scale-out"], f"{name}:{default}")) == write_answer(
                    assign(make_cases()["scale-out"], name)
                )
    assert found == list(BASELINES)


@all_baselines
def test_it_is_an_assignor_by_its_name(name: str) -> None:
    made = create(name)
    assert isinstance(made, TaskAssignor)
    assert made.assign(make_cases()["scale-out"]).assignor.partition(":")[0] == name.partition(":")[0]


@pytest.mark.parametrize("seeds", take_few([10, 30], 1))
@all_baselines
def test_every_task_is_active_once_and_has_its_standbys(name: str, seeds: int) -> None:
    for number, state in enumerate(list_states(seeds)):
        broken = [violation for violation in validate(state, assign(state, name)) if violation.rule in ALWAYS_KEPT]
        assert not broken, f"snapshot {number}: {broken[0]}"


@pytest.mark.parametrize("seeds", take_few([10, 30], 1))
@all_baselines
def test_the_order_of_lists_does_not_matter(name: str, seeds: int) -> None:
    for number, state in enumerate(list_states(seeds)):
        written = json.loads(state.model_dump_json())
        expected = write_answer(assign(ApplicationState.model_validate(written), name))
        for rng in (None, random.Random(number)):
            again = ApplicationState.model_validate(reorder(written, rng))
            assert write_answer(assign(again, name)) == expected, (
                f"snapshot {number}, {'reversed' if rng is None else 'shuffled'}"
            )


def test_the_hash_seed_does_not_matter() -> None:
    states = list(make_cases().values())
    asked = [(state, name) for state in states for name in BASELINES]
    for (state, name), answer in zip(asked, assign_with_hash_seed(states, BASELINES, "4242"), strict=True):
        assert answer == write_answer(assign(state, name)), f"{name}: {state.application}"


@all_baselines
def test_a_repeated_question_gets_the_same_answer(name: str) -> None:
    made = create(name)
    for state in make_cases().values():
        assert write_answer(made.assign(state)) == write_answer(made.assign(state))


@all_baselines
def test_its_convergence_is_valid_and_ends(name: str) -> None:
    for case in ("scale-out", "scale-in", "restart", "two standbys"):
        result = converge(make_cases()[case], name)
        assert ALWAYS_KEPT.isdisjoint(result.violations), f"{case}: {result}"
        assert result.settled, f"{case}: {result}"
        assert result.rebalances == 1 or name in ASKS_AGAIN, f"{case}: {result}"


@pytest.mark.parametrize("keep_state", [False, True], ids=["deleted", "kept"])
@pytest.mark.parametrize("name", KEEPS_ITS_ACTIVES)
def test_actives_stay_once_assigned(name: str, keep_state: bool) -> None:
    for number, state in enumerate(list_states(30)):
        if any(client.consumers for client in state.clients):
            continue  # an answer does not name the consumer of a task
        first = assign(state, name)
        again = assign(make_restored_snapshot(state, first, keep_state=keep_state), name)
        moved = [(one, other) for one, other in zip(first.clients, again.clients, strict=True) if one.active != other.active]
        assert not moved, f"snapshot {number}: {moved[0]}"


@pytest.mark.parametrize("name", ["goal-chain", "weighted-shards"])
def test_nothing_to_do(name: str) -> None:
    assert describe(assign(make_snapshot({}, {"a": {}, "b": {}}), name)) == {"a": "", "b": ""}
    tasks = {"0_0": 1_000, "1_0": "stateless"}
    assert describe(assign(make_snapshot(tasks, {"a": {}}, num_standby_replicas=1), name)) == {"a": "0_0 1_0"}
    all_clients = {"a": {**make_running_client("0_0"), "draining": True}, "b": {"draining": True}}
    assert describe(assign(make_snapshot({"0_0": 1_000}, all_clients), name)) == {"a": "0_0", "b": ""}


@all_baselines
def test_compare_lists_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(make_cases()["scale-out"].model_dump_json(), encoding="utf-8")
    code = main(["compare", str(path), "--assignors", name, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert list(found["assignors"]) == ["previous", name]
    assert not found["failures"]
    judged = found["assignors"][name]
    assert ALWAYS_KEPT.isdisjoint(judged["violations"])
    assert code == 0, "a baseline may break the rules that it does not know"
