"""Tests of shares, imbalance and spread: KIP-441's example, and cases by hand with clients of all sizes, some draining."""

from fractions import Fraction
from typing import Any

import pytest
from judging import make_answer, make_snapshot

from optassign.formats.state import ApplicationState
from optassign.measuring.balance import (
    Share,
    compute_exact_shares,
    compute_shares,
    is_balanced,
    measure_imbalance,
    measure_spread,
    measure_subtopology_balance,
)
from optassign.measuring.placement import planned_placement


def clients(*threads: int, **more: Any) -> dict[str, Any]:
    return {"abcdefgh"[i]: {"threads": number, **more.get("abcdefgh"[i], {})} for i, number in enumerate(threads)}


def logged(tasks: int, **state: Any) -> ApplicationState:
    return make_snapshot({f"0_{i}": 100 for i in range(tasks)}, state.pop("clients"), **state)


# ------------------------------------------------------------------------------------------- KIP-441's own example

XY = {"0_0": "stateless", "0_1": "stateless", "0_2": "stateless", "1_0": 100, "1_1": 100, "1_2": 100}


def test_kip_441_spreads_each_subtopology() -> None:
    """KIP-441's example has subtopologies X = 0 and Y = 1 of three partitions on three nodes, well and badly placed."""
    state = make_snapshot(XY, clients(1, 1, 1))
    preferred = make_answer({"a": "0_0 1_0", "b": "0_1 1_1", "c": "0_2 1_2"})
    other = make_answer({"a": "0_0 0_1", "b": "0_2 1_0", "c": "1_1 1_2"})
    assert is_balanced(state, preferred)
    assert not is_balanced(state, other)
    assert measure_imbalance(state, other) == {
        "active": 0,
        "stateful_active": 2,  # the counts are 0, 1 and 2 where each share is 1
        "copies": 2,
        "subtopology_active": 4,
        "subtopology_copies": 2,
    }
    assert set(measure_spread(state, preferred).values()) == {0.0}
    assert measure_spread(state, other) == {
        "active": 0.0,
        "stateful_active": 2.0,
        "copies": 2.0,
        "subtopology_active": 2.0,
        "subtopology_copies": 2.0,
    }
    # The KIP's literal definition does not tell the two apart: as many clients execute X as execute Y.
    assert measure_subtopology_balance(state, preferred) == measure_subtopology_balance(state, other) == 0
    assert measure_subtopology_balance(state, make_answer({"a": "0_0 0_1 0_2 1_0", "b": "1_1", "c": "1_2"})) == 2


def test_kip_441_instance_balance_is_a_difference_of_at_most_one() -> None:
    state = make_snapshot({f"{i}_0": "stateless" for i in range(4)}, clients(1, 1, 1))
    assert is_balanced(state, make_answer({"a": "0_0 1_0", "b": "2_0", "c": "3_0"}))
    assert not is_balanced(state, make_answer({"a": "0_0 1_0", "b": "2_0 3_0", "c": ""}))


def test_imbalance_prefers_two_smaller_excesses() -> None:
    state = make_snapshot({f"{i}_0": "stateless" for i in range(10)}, clients(1, 1, 1, 1, 1))
    tasks = [f"{i}_0" for i in range(10)]
    far = make_answer({"a": " ".join(tasks[:8]), "b": " ".join(tasks[8:])})
    near = make_answer({"a": " ".join(tasks[:5]), "b": " ".join(tasks[5:])})
    assert measure_imbalance(state, far)["active"] == 6 * 7 // 2 + 3 * 3
    assert measure_imbalance(state, near)["active"] == 2 * 6 + 3 * 3


@pytest.mark.parametrize(("count", "expected"), [(0, 3), (1, 1), (2, 0), (3, 0), (4, 1), (5, 3), (6, 6)])
def test_imbalance_of_one_share(count: int, expected: int) -> None:
    assert Share(2, 3).imbalance(count) == expected


# --------------------------------------------------------------------------------------------------------- shares


@pytest.mark.parametrize(
    ("state", "tasks", "copies_per_task", "expected"),
    [
        (clients(1, 1, 1), 4, 1, ["4/3", "4/3", "4/3"]),
        (clients(1, 2, 5), 4, 1, ["1/2", "1", "5/2"]),
        # 8 copies of 4 tasks: 1 : 2 : 5 would be 1, 2, 5. Client c is limited to 4, and its 1 is shared 1 : 2.
        (clients(1, 2, 5), 4, 2, ["4/3", "8/3", "4"]),
        # 12 copies of 4 tasks on three clients: each client has every task.
        (clients(1, 2, 5), 4, 3, ["4", "4", "4"]),
        # 15 copies of 5 tasks: 1 : 1 : 6 : 8 gives a and b 15/16, c and d more than 5; then a and b have 5/2 each.
        (clients(1, 1, 6, 8), 5, 3, ["5/2", "5/2", "5", "5"]),
        # 8 copies of 4 tasks: 1 : 1 : 3 : 3 is 1, 1, 3, 3; no client is limited.
        (clients(1, 1, 3, 3), 4, 2, ["1", "1", "3", "3"]),
        # Two rounds: 12 copies of 6 tasks, 1 : 3 : 8 is 1, 3, 8; the other 6 are shared 1 : 3, which is 3/2, 9/2.
        (clients(1, 3, 8), 6, 2, ["3/2", "9/2", "6"]),
        # 12 copies of 4 tasks, 1 : 1 : 4 : 10: d has 4; of 8, shared 4/3, 4/3, 16/3, c has 4; the last 4 are shared 2, 2.
        (clients(1, 1, 4, 10), 4, 3, ["2", "2", "4", "4"]),
        (clients(1, 1), 0, 2, ["0", "0"]),
    ],
)
def test_shares_by_water_filling(state: dict[str, Any], tasks: int, copies_per_task: int, expected: list[str]) -> None:
    found = compute_exact_shares(make_snapshot({}, state), tasks, copies_per_task)
    assert list(found.values()) == [Fraction(share) for share in expected]
    assert sum(found.values()) == tasks * copies_per_task


def test_odd_capacities_are_exact_in_millionths() -> None:
    state = make_snapshot({}, clients(1, 3, a={"capacity": 0.1}, b={"capacity": 1.3333335}))
    assert compute_exact_shares(state, 41) == {"a": Fraction(41 * 100_000, 4_100_002), "b": Fraction(41 * 4_000_002, 4_100_002)}


def test_sizes_beyond_int64_are_exact() -> None:
    huge = {"a": {"capacity": 1e6}, "b": {"capacity": 1e-6}}
    state = make_snapshot({}, clients(8_999_999, 1, **huge))
    assert compute_exact_shares(state, 10**5)["b"] == Fraction(10**5, 8_999_999 * 10**12 + 1)


# -------------------------------------------------------------------------------------------------------- draining


def test_a_draining_client_has_no_share_of_actives() -> None:
    state = make_snapshot({}, clients(1, 1, 2, c={"draining": True}))
    assert list(compute_exact_shares(state, 5).values()) == [Fraction(5, 2), Fraction(5, 2), 0]


def test_a_draining_client_takes_only_copies_that_others_cannot_hold() -> None:
    # 12 copies of 4 tasks: a and b hold 4 each. The other 4 are shared 1 : 1 : 6, within the limit of e.
    drain = {name: {"draining": True} for name in "cde"}
    state = make_snapshot({}, clients(1, 5, 1, 1, 6, **drain))
    assert list(compute_exact_shares(state, 4, 3).values()) == [4, 4, Fraction(1, 2), Fraction(1, 2), 3]
    assert list(compute_exact_shares(state, 4, 2).values()) == [4, 4, 0, 0, 0]
    # 20 copies: c, d and e share 12, at most 4 each.
    assert list(compute_exact_shares(state, 4, 5).values()) == [4, 4, 4, 4, 4]


def test_shares_do_not_change_if_all_clients_drain() -> None:
    state = make_snapshot({}, clients(1, 3, a={"draining": True}, b={"draining": True}))
    assert list(compute_exact_shares(state, 6, 1).values()) == [Fraction(3, 2), Fraction(9, 2)]


def test_a_draining_client_with_tasks_is_out_of_balance_but_not_uneven() -> None:
    state = make_snapshot({"0_0": "stateless", "0_1": "stateless"}, clients(1, 1, 1, c={"draining": True}))
    assert is_balanced(state, make_answer({"a": "0_0", "b": "0_1", "c": ""}))
    half_way = make_answer({"a": "0_0", "b": "", "c": "0_1"})
    assert measure_imbalance(state, half_way)["active"] == 2
    assert measure_spread(state, half_way)["active"] == 1.0


# --------------------------------------------------------------------------------------------------------- shares


def test_shares_are_floor_and_ceiling_of_the_share() -> None:
    tasks = {"0_0": 5, "0_1": 5, "0_2": 5, "1_0": "unlogged", "1_1": "unlogged", "2_0": "stateless"}
    found = compute_shares(make_snapshot(tasks, clients(1, 3), num_standby_replicas=5))
    assert dict(found.active) == {"a": (1, 2), "b": (4, 5)}
    assert dict(found.stateful_active) == {"a": (1, 2), "b": (3, 4)}
    assert dict(found.copies) == {"a": (3, 3), "b": (3, 3)}
    assert found.subtopology_active == {
        ("", 0): {"a": (0, 1), "b": (2, 3)},
        ("", 1): {"a": (0, 1), "b": (1, 2)},
        ("", 2): {"a": (0, 1), "b": (0, 1)},
    }
    assert found.subtopology_copies == {("", 0): {"a": (3, 3), "b": (3, 3)}}


def test_subtopologies_are_told_apart_by_name_too() -> None:
    tasks = {"0_0": "stateless", "x__0_0": "stateless", "y__0_0": "stateless", "0_1": "stateless"}
    assert list(compute_shares(make_snapshot(tasks, clients(1))).subtopology_active) == [("", 0), ("x", 0), ("y", 0)]


@pytest.mark.parametrize(
    ("factor", "three", "half"),
    [(1, (3, 3), (0, 1)), (2, (3, 4), (0, 2)), (3, (2, 4), (0, 2)), (4, (2, 5), (0, 3)), (9, (0, 7), (0, 5))],
)
def test_balance_factor_widens_per_client_only(factor: int, three: Share, half: Share) -> None:
    """By KIP-441's first draft: each client has 3 tasks, and half a stateful task."""
    tasks = {f"0_{i}": "stateless" for i in range(5)} | {"1_0": 100}
    found = compute_shares(make_snapshot(tasks, clients(1, 1), options={"balance_factor": factor}))
    assert found.active["a"] == three
    assert found.stateful_active["a"] == found.copies["a"] == half
    assert found.subtopology_active["", 0]["a"] == (2, 3)
    assert found.subtopology_copies["", 1]["a"] == (0, 1)


# ------------------------------------------------------------------------------------------------- counts, spread


def test_warmups_count_nowhere() -> None:
    state = logged(2, clients=clients(1, 1), num_standby_replicas=0)
    assert is_balanced(state, make_answer({"a": "0_0 | | 0_1", "b": "0_1"}))


def test_standbys_count_as_copies_only() -> None:
    state = logged(3, clients=clients(1, 1, 1), num_standby_replicas=1)
    assert is_balanced(state, make_answer({"a": "0_0 | 0_1", "b": "0_1 | 0_2", "c": "0_2 | 0_0"}))
    uneven = make_answer({"a": "0_0 | 0_1 0_2", "b": "0_1 | 0_0", "c": "0_2"})
    assert measure_imbalance(state, uneven) == {
        "active": 0,
        "stateful_active": 0,
        "copies": 2,
        "subtopology_active": 0,
        "subtopology_copies": 2,
    }


def test_spread_is_per_thread_and_capacity() -> None:
    state = make_snapshot({f"0_{i}": "stateless" for i in range(6)}, clients(1, 2, b={"capacity": 2.5}))
    assert measure_spread(state, make_answer({"a": "0_0", "b": "0_1 0_2 0_3 0_4 0_5"}))["active"] == 0.0
    assert measure_spread(state, make_answer({"a": "0_0 0_1", "b": "0_2 0_3 0_4 0_5"}))["active"] == pytest.approx(2 - 4 / 5)
    assert measure_spread(state, make_answer({"a": "0_0 0_1", "b": ""}))["subtopology_active"] == 2.0


def test_a_plan_is_counted_like_an_answer() -> None:
    state = logged(2, clients=clients(1, 1))
    given = make_answer({"a": "0_0 0_1", "b": ""}, plan={"a": "0_0", "b": "0_1"})
    assert not is_balanced(state, given)
    assert is_balanced(state, planned_placement(state, given))


def test_nothing_to_balance_is_balanced() -> None:
    state = make_snapshot({}, clients(1, 2))
    assert is_balanced(state, make_answer({"a": "", "b": ""}))
    assert measure_subtopology_balance(state, make_answer({})) == 0
