"""Tests of Elasticsearch's algorithm by hand, as KIP-441 describes it; test_baselines.py has the tests of all baselines."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from answers_as_text import describe
from answers_as_text import make_running_client as running
from judging import make_answer, make_snapshot

from optassign.assignor import assign
from optassign.assignors.baselines.weighted_shards import ShardWeights
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.judging.validation import validate
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot
from optassign.translating.snapshot import read_situation

NAME = "weighted-shards"
LOG = 1_000
STATELESS = "stateless"


# ----------------------------------------------------------------------------------------------------------------- weights


def test_weights_of_three_clients_by_hand() -> None:
    """Client a has two copies of subtopology 0, b three of 1, c two of 0 and one of 1: the averages are 8/3, 4/3 and 4/3."""
    problem = read_situation(
        make_snapshot({f"{group}_{n}": STATELESS for group in range(2) for n in range(4)}, {"a": {}, "b": {}, "c": {}})
    )
    weights = ShardWeights(problem.problem, np.full(3, 1 / 3))
    for task, client in ((0, 0), (1, 0), (4, 1), (5, 1), (6, 1), (2, 2), (3, 2), (7, 2)):
        weights.add(task, client, 1)
    by_hand = [
        [0.45 * -2 / 3 + 0.55 * 2 / 3, 0.45 / 3 - 0.55 * 4 / 3, 0.45 / 3 + 0.55 * 2 / 3],
        [0.45 * -2 / 3 - 0.55 * 4 / 3, 0.45 / 3 + 0.55 * 5 / 3, 0.45 / 3 - 0.55 / 3],
    ]
    assert weights.weigh_all() == pytest.approx(np.array(by_hand))
    assert weights.weigh(1) == pytest.approx(np.array(by_hand[1]))


def test_a_new_task_goes_where_the_weight_is_least_not_where_the_fewest_tasks_are() -> None:
    clients = {"a": running("0_0 0_1"), "b": running("1_0 1_1 1_2"), "c": running("0_2 0_3 1_3")}
    tasks = {f"0_{n}": LOG for n in range(5)} | {f"1_{n}": LOG for n in range(4)}
    # For subtopology 0, a weighs 0.45 (2 − 3) + 0.55 (2 − 5/3) = −0.27, b 0 + 0.55 (0 − 5/3) = −0.92.
    assert describe(assign(make_snapshot(tasks, clients), NAME))["b"].startswith("0_4 1_0 1_1 1_2")


def test_shares_are_by_threads() -> None:
    tasks = {f"0_{n}": LOG for n in range(9)}
    found = assign(make_snapshot(tasks, {"a": {"threads": 2}, "b": {}}), NAME)
    assert [len(client.active) for client in found.clients] == [6, 3]


# -------------------------------------------------------------------------------------------------------------- allocation


def test_primaries_are_allocated_before_replicas() -> None:
    found = assign(make_snapshot({"0_0": LOG, "0_1": LOG}, {"a": {}, "b": {}, "c": {}}, num_standby_replicas=2), NAME)
    assert describe(found) == {"a": "0_0 | 0_1", "b": "0_1 | 0_0", "c": " | 0_0 0_1"}


def test_a_replica_is_promoted_however_far_behind_and_another_takes_its_place() -> None:
    """The client of 0_0 has left; c is its standby, lags, and has the most copies."""
    clients = {
        "a": {},
        "b": running("0_1"),
        "c": {**running("0_2 0_3"), "standby": "0_0", "lags": {"0_2": -2, "0_3": -2, "0_0": 900}},
    }
    tasks = {f"0_{n}": LOG for n in range(4)}
    remembered = make_answer({"b": "0_1", "c": "0_2 0_3 | 0_0", "gone": "0_0 | 0_1 0_2 0_3"})
    found = assign(make_snapshot(tasks, clients, num_standby_replicas=1, remembered=remembered), NAME)
    assert found.by_process_id["c"].active == ("0_0", "0_2", "0_3")
    assert "0_0" in found.by_process_id["a"].standby
    assert not any(
        violation.rule == "R4" for violation in validate(make_snapshot(tasks, clients, num_standby_replicas=1), found)
    )


def test_the_replica_that_lags_least_is_promoted() -> None:
    clients = {"a": {"standby": "0_0", "lags": {"0_0": 500}}, "b": {"standby": "0_0", "lags": {"0_0": 400}}, "c": {}}
    found = assign(make_snapshot({"0_0": LOG}, clients, num_standby_replicas=2), NAME)
    assert describe(found) == {"a": " | 0_0", "b": "0_0", "c": " | 0_0"}


def test_nothing_new_goes_to_a_draining_client_however_heavy_the_others_are() -> None:
    stateless = [f"1_{n}" for n in range(9)]
    clients = {
        "a": {"draining": True},
        "b": running("0_0"),
        "c": {"active": " ".join(stateless)},
        "d": {"standby": "0_0", "lags": {"0_0": 0}},
    }
    tasks = {"0_0": LOG} | dict.fromkeys(stateless, STATELESS)
    found = assign(make_snapshot(tasks, clients, num_standby_replicas=2), NAME)
    assert found.by_process_id["a"].standby == ()
    assert found.by_process_id["c"].standby == ("0_0",)


def test_state_on_disk_is_taken_before_an_empty_client() -> None:
    assert describe(assign(make_snapshot({"0_0": LOG}, {"a": {}, "b": {"0_0": 700}}), NAME)) == {"a": "", "b": "0_0"}


# ------------------------------------------------------------------------------------------------------------- rebalancing


def test_a_difference_equal_to_the_threshold_moves_nothing() -> None:
    tasks = {f"0_{n}": STATELESS for n in range(3)}
    clients = {"a": {"active": "0_0 0_1"}, "b": {"active": "0_2"}}
    assert describe(assign(make_snapshot(tasks, clients), NAME)) == {"a": "0_0 0_1", "b": "0_2"}


def test_above_the_threshold_the_greatest_task_moves_at_once_if_it_needs_no_restoring() -> None:
    tasks = {f"0_{n}": STATELESS for n in range(4)}
    clients = {"a": {"active": "0_0 0_1 0_2"}, "b": {"active": "0_3"}}
    assert describe(assign(make_snapshot(tasks, clients), NAME)) == {"a": "0_0 0_1", "b": "0_2 0_3"}


def test_a_source_goes_on_until_its_target_has_caught_up() -> None:
    tasks = {f"0_{n}": LOG for n in range(4)}
    state = make_snapshot(tasks, {"a": running("0_0 0_1 0_2"), "b": running("0_3")})
    first = assign(state, NAME)
    assert describe(first) == {"a": "0_0 0_1 0_2!", "b": "0_3 |  | 0_2"}
    again = assign(state.model_copy(update={"remembered": first}), NAME)
    assert describe(again) == describe(first), "nothing has been restored yet"
    second = assign(make_restored_snapshot(state, first), NAME)
    assert describe(second) == {"a": "0_0 0_1", "b": "0_2 0_3"}


@pytest.mark.parametrize(("allowed", "expected"), [(1, 1), (2, 2), (5, 2)])
def test_two_moves_at_a_time(allowed: int, expected: int) -> None:
    tasks = {f"0_{n}": LOG for n in range(8)}
    state = make_snapshot(tasks, {"a": running(" ".join(tasks)), "b": {}}, max_warmup_replicas=allowed)
    result = converge(state, NAME)
    assert result.history[0].measures.warmups == expected
    assert max(step.measures.warmups for step in result.history) == expected
    assert result.rebalances == 4 // expected + 1
    assert [len(client.active) for client in result.final.clients] == [4, 4]


def test_moves_that_need_no_restoring_are_not_counted() -> None:
    tasks = {f"0_{n}": STATELESS for n in range(12)}
    found = assign(make_snapshot(tasks, {"a": {"active": " ".join(tasks)}, "b": {}, "c": {}}), NAME)
    assert [len(client.active) for client in found.clients] == [4, 4, 4]
    assert "!" not in "".join(describe(found).values())


def test_a_move_that_depends_on_another_waits_for_it() -> None:
    """Now c and a differ by 0.45 (3 − 2) + 0.55 (1 − 0) = 1 for subtopology 1; without 0_1 on a, by 1.45."""
    tasks = {"0_0": LOG, "0_1": LOG, "0_2": LOG} | dict.fromkeys(("1_0", "2_0", "3_0", "4_0"), STATELESS)
    clients = {
        "a": running("0_0 0_1"),
        "b": {"active": "2_0 3_0"},
        "c": {"active": "0_2 1_0 4_0", "lags": {"0_2": -2}},
    }
    state = make_snapshot(tasks, clients)
    first = assign(state, NAME)
    assert describe(first) == {"a": "0_0 0_1!", "b": "2_0 3_0 |  | 0_1", "c": "0_2 1_0 4_0"}
    second = assign(make_restored_snapshot(state, first), NAME)
    assert describe(second) == {"a": "0_0 1_0", "b": "0_1 2_0 3_0", "c": "0_2 4_0"}


def test_a_copy_does_not_move_to_a_client_that_has_one() -> None:
    """All standbys of a's tasks are on b, which has no other copy: the algorithm does not balance primaries by themselves."""
    tasks = {f"0_{n}": LOG for n in range(3)}
    standby = {"standby": " ".join(tasks), "lags": dict.fromkeys(tasks, 0)}
    found = assign(make_snapshot(tasks, {"a": running(" ".join(tasks)), "b": standby}, num_standby_replicas=1), NAME)
    assert describe(found) == {"a": "0_0 0_1 0_2", "b": " | 0_0 0_1 0_2"}


def test_nothing_is_rebalanced_while_a_copy_is_being_restored() -> None:
    tasks = {f"0_{n}": LOG for n in range(6)}
    state = make_snapshot(tasks, {"a": running("0_0 0_1 0_2 0_3 0_4"), "b": {"active": "0_5", "lags": {"0_5": 500}}})
    first = assign(state, NAME)
    assert describe(first) == {"a": "0_0 0_1 0_2 0_3 0_4!", "b": "0_5"}
    assert describe(assign(make_restored_snapshot(state, first), NAME))["b"] == "0_5 |  | 0_3 0_4"


def test_a_draining_client_gives_all_away_and_receives_nothing() -> None:
    tasks = {f"0_{n}": LOG for n in range(6)} | {"1_0": STATELESS}
    clients = {"a": {**running("0_0 0_1 0_2"), "draining": True}, "b": running("0_3 0_4"), "c": {}}
    state = make_snapshot(tasks, clients, max_warmup_replicas=4)
    first = assign(state, NAME)
    assert first.by_process_id["a"].active == ("0_0", "0_1", "0_2")
    assert sum(len(client.warmup) for client in first.clients) == 2
    assert not first.by_process_id["a"].warmup
    result = converge(state, NAME)
    assert result.stable, str(result)
    assert result.final.by_process_id["a"].active == ()


def test_a_task_in_transit_stays_with_its_new_client() -> None:
    """In the follow-up rebalance (KIP-429) no client owns moving tasks, and their old clients list them."""
    tasks = {f"0_{n}": STATELESS for n in range(6)} | {"1_0": LOG, "1_1": LOG}
    clients = {"a": {**running("1_0 1_1"), "active": " ".join(tasks)}, "b": {"lags": {"1_1": 0}}, "c": {"lags": {"1_0": 0}}}
    state = make_snapshot(tasks, clients)
    first = assign(state, NAME)
    assert all(client.active for client in first.clients)
    second = make_second_pass_snapshot(state, first)
    assert describe(assign(second, NAME)) == describe(first)


# ----------------------------------------------------------------------------------------------------------------- at large


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_settles_and_breaks_no_rule_of_kafka(shape: str, standbys: int) -> None:
    result = converge(generate(shape, 60, 8, standbys, seed=3), NAME)  # type: ignore[arg-type]
    assert result.stable, str(result)
    assert {"format", "R1", "R2", "R4", "R6"}.isdisjoint(result.violations), str(result)
    assert all(step.measures.warmups <= 2 for step in result.history)


@pytest.mark.parametrize("seed", range(20))
def test_moves_lower_the_sum_of_squares(seed: int) -> None:
    """The sum of squares decreases, so the moves end."""
    state = generate("partial", 40, 5, seed % 2, stateless=0.5, tiny=0.3, subtopologies=4, seed=seed)
    last: tuple[float, dict[str, str]] | None = None
    for _ in range(40):
        found = assign(state, NAME)
        now = squares(state, found), {client: text.rstrip("!") for client, text in describe(found).items()}
        if last is not None:
            assert now[0] < last[0] + 1e-6
        last = now
        if all(client.followup_rebalance_ms is None for client in found.clients):
            return
        state = make_restored_snapshot(state, found)
    pytest.fail("40 rebalances and no end")


def squares(state: ApplicationState, found: TaskAssignment) -> float:
    """Return the sum of squared counts of copies, per client and per client and subtopology, weighted as in the algorithm."""
    total = 0.0
    for client in found.clients:
        copies = [state.all_tasks[task].task_id.subtopology_key for task in (*client.active, *client.standby)]
        total += 0.45 * len(copies) ** 2 + 0.55 * sum(copies.count(key) ** 2 for key in set(copies))
    return total


@pytest.mark.parametrize("shape", SHAPES)
def test_it_settles_without_memory_and_with_old_state(shape: str) -> None:
    state = generate(shape, 40, 6, 1, threads=(1, 4), unlogged=0.2, seed=5)  # type: ignore[arg-type]
    assert converge(state, NAME, memory=False).settled
    assert converge(state, NAME, keep_state=True).stable


def test_nothing_to_do() -> None:
    assert describe(assign(make_snapshot({}, {"a": {}, "b": {}}), NAME)) == {"a": "", "b": ""}
    assert describe(assign(make_snapshot({"0_0": LOG, "1_0": STATELESS}, {"a": {}}, num_standby_replicas=1), NAME)) == {
        "a": "0_0 1_0"
    }
    all_clients = {"a": {**running("0_0"), "draining": True}, "b": {"draining": True}}
    assert describe(assign(make_snapshot({"0_0": LOG}, all_clients), NAME)) == {"a": "0_0", "b": ""}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_lists_does_not_matter(shape: str) -> None:
    state = generate(shape, 40, 7, 1, threads=(1, 4), seed=9)  # type: ignore[arg-type]
    written = json.loads(state.model_dump_json())
    for rng in map(random.Random, range(3)):
        for name in ("tasks", "clients"):
            rng.shuffle(written[name])
        again = ApplicationState.model_validate(written)
        assert assign(again, NAME).clients == assign(state, NAME).clients
