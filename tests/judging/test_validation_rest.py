"""Tests of the previous assignment, of tasks in transit between the two passes of a move (R10), and of rest (R7)."""

from typing import Any

import pytest
from judging import make_answer, make_snapshot

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign.measuring.placement import PreviousAssignment, previous_assignment

SETTLED = {
    "a": {"active": "0_0 1_0", "standby": "0_1", "lags": {"0_0": -2, "0_1": 0}},
    "b": {"active": "0_1 1_1", "standby": "0_0", "lags": {"0_1": -2, "0_0": 0}},
}
UNCHANGED = {"a": "0_0 1_0 | 0_1", "b": "0_1 1_1 | 0_0"}


def settled(changes: dict[str, dict[str, Any]] | None = None, **configs: Any) -> ApplicationState:
    """Return two clients at rest; `changes` replace fields of clients."""
    clients = {process_id: {**fields, **(changes or {}).get(process_id, {})} for process_id, fields in SETTLED.items()}
    tasks = {"0_0": 100, "0_1": 100, "1_0": "stateless", "1_1": "stateless"}
    return make_snapshot(tasks, clients, **{"num_standby_replicas": 1, **configs})


def broken(state: ApplicationState, given: TaskAssignment) -> list[tuple[str, str | None, str | None]]:
    return [(violation.rule, violation.task, violation.process_id) for violation in validate(state, given)]


# ------------------------------------------------------------------------------------------------ assigned before


def known(remembered: TaskAssignment | None = None, **clients: dict[str, Any]) -> PreviousAssignment:
    return previous_assignment(make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, remembered=remembered))


def test_the_only_client_that_lists_a_task_owned_it() -> None:
    before = known(a={"standby": "0_0"}, b={"active": "0_0"}, remembered=make_answer({"a": "0_0", "b": " | 0_0"}))
    assert before.active == {"0_0": "b"}
    assert before.in_transit == set()


def test_memory_then_running_then_the_least_id_decide_between_claimants() -> None:
    a: dict[str, Any] = {"active": "0_0", "lags": {"0_0": 3}}
    b: dict[str, Any] = {"active": "0_0", "lags": {"0_0": 3}}
    running = {"active": "0_0", "lags": {"0_0": -2}}
    assert known(a=a, b=b).active == {"0_0": "a"}
    assert known(a=a, b=running).active == {"0_0": "b"}
    assert known(a=running, b=b, remembered=make_answer({"a": "", "b": "0_0"})).active == {"0_0": "b"}
    assert known(a=a, b=running, c={}, remembered=make_answer({"c": "0_0"})).active == {"0_0": "b"}
    broken = make_answer({"a": "0_0", "c": "0_0"})  # remembers the least id, a, which does not claim the task
    assert known(a={}, b=running, c=b, remembered=broken).active == {"0_0": "b"}


def test_an_unlisted_task_is_in_transit_to_the_remembered_client_if_present() -> None:
    before = known(a={"standby": "0_0"}, b={}, c={}, remembered=make_answer({"b": "0_0", "c": " | 0_0", "gone": " | 0_0"}))
    assert before.active == {"0_0": "b"}
    assert before.standby == {"0_0": ("c",)}
    assert before.in_transit_copies == {"0_0": {"b", "c"}}
    assert before.complete
    gone = known(a={"standby": "0_0"}, b={}, remembered=make_answer({"gone": "0_0"}))
    assert (gone.active, gone.in_transit, gone.complete) == ({}, set(), False)


def test_remembered_standbys_that_run_the_task_now_are_left_out() -> None:
    before = known(
        a={"standby": "0_0"}, b={"active": "0_0"}, c={}, remembered=make_answer({"a": "0_0", "b": " | 0_0", "c": ""})
    )
    assert before.standby == {"0_0": ()}


@pytest.mark.parametrize(("listing", "believed"), [("", False), ("a", True), ("ac", False)])
def test_without_memory_directories_count_only_if_their_number_is_right(listing: str, believed: bool) -> None:
    clients: dict[str, dict[str, Any]] = {p: {"standby": "0_0" if p in listing else ""} for p in "ac"}
    before = known(None, b={"active": "0_0"}, **clients)
    assert before.standby == ({"0_0": ("a",)} if believed else None)
    assert before.complete is believed


def test_a_placement_needs_all_owners_and_standbys() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {}})
    with pytest.raises(ValueError, match=r"found .*; allowed: .*"):
        previous_assignment(state).placement(state)


# ----------------------------------------------------------------------------------------------------- in transit


def in_transit(b_lag: int, *, listed: str = "", memory: bool = True, **configs: Any) -> ApplicationState:
    """Return a group in which 0_0 has left a (lag 0 there) for b, as the first pass decided."""
    clients = {"a": {"standby": "0_0", "lags": {"0_0": 0}}, "b": {"active": listed, "lags": {"0_0": b_lag}}, "c": {}}
    remembered = make_answer({"a": "", "b": "0_0", "c": ""}) if memory else None
    return make_snapshot({"0_0": 100}, clients, remembered=remembered, **configs)


def test_a_task_in_transit_may_go_to_the_client_of_the_first_pass() -> None:
    confirmed, back = make_answer({"a": "", "b": "0_0", "c": ""}), make_answer({"a": "0_0", "b": "", "c": ""})
    assert broken(in_transit(10), confirmed) == []
    assert broken(in_transit(15, acceptable_recovery_lag=14), confirmed) == [("R3", "0_0", "b")]
    assert broken(in_transit(11, memory=False), confirmed) == [("R3", "0_0", "b")]
    assert [rule for rule, _, _ in broken(in_transit(10), back)] == ["R7"]


def test_the_exemption_compares_lags_not_ranks() -> None:
    """No lag is acceptable: 12 on a and 20 on b; their difference is within the limit."""
    clients = {"a": {"standby": "0_0", "lags": {"0_0": 12}}, "b": {"lags": {"0_0": 20}}, "c": {"lags": {"0_0": 23}}}
    for to, expected in (("b", []), ("c", [("R3", "0_0", "c")])):
        remembered = make_answer({p: "0_0" if p == to else "" for p in "abc"})
        state = make_snapshot({"0_0": 100}, clients, remembered=remembered)
        assert broken(state, remembered) == expected


def test_the_exemption_is_for_the_remembered_client_and_unowned_tasks_only() -> None:
    clients: dict[str, Any] = {"a": {"lags": {"0_0": 12}}, "b": {"lags": {"0_0": 20}}, "c": {"lags": {"0_0": 20}}}
    remembered = make_answer({"a": "", "b": "0_0", "c": ""})
    state = make_snapshot({"0_0": 100}, clients, remembered=remembered)
    assert ("R3", "0_0", "c") in broken(state, make_answer({"a": "", "b": "", "c": "0_0"}))
    clients["a"]["active"] = "0_0"
    state = make_snapshot({"0_0": 100}, clients, remembered=remembered)
    assert ("R3", "0_0", "b") in broken(state, remembered)


@pytest.mark.parametrize(
    ("lag", "held", "allowed"), [(-3, True, True), (-3, False, False), (None, True, False), (20, True, True)]
)
def test_the_exemption_ignores_unknown_lags_of_holders(lag: int | None, held: bool, allowed: bool) -> None:
    b = {"standby": "0_0" if held else "", "lags": {} if lag is None else {"0_0": lag}}
    remembered = make_answer({"a": "", "b": "0_0"})
    state = make_snapshot({"0_0": 100}, {"a": {"lags": {"0_0": 11}}, "b": b}, remembered=remembered)
    # Rank 1, of a holder with an unknown lag, is below 11; for rank 2 or a lag of 100 R3 decides.
    expected = [] if allowed or lag == -3 else [("R3", "0_0", "b")]
    assert broken(state, remembered) == expected


def test_standbys_of_a_task_in_transit_may_stay() -> None:
    clients = {"a": {"0_0": 0}, "b": {"0_0": 30}, "c": {"0_0": 25}, "d": {"0_0": 19}}
    first = make_answer({"a": "0_0", "b": " | 0_0", "c": "", "d": ""})
    state = make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, remembered=first)
    assert broken(state, first) == [("R5", "0_0", "b")]  # for d, 19 + 10 < 30
    clients["d"] = {"0_0": 20}
    state = make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, remembered=first)
    assert "R5" not in [rule for rule, _, _ in broken(state, first)]
    assert ("R5", "0_0", "c") in broken(state, make_answer({"a": "0_0", "b": "", "c": " | 0_0", "d": ""}))


def test_a_standby_may_be_on_the_remembered_active_client() -> None:
    clients = {"a": {"0_0": 0}, "b": {"0_0": 30}, "c": {"0_0": 20}}
    remembered = make_answer({"b": "0_0", "a": "", "c": " | 0_0"})
    state = make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, remembered=remembered)
    assert broken(state, make_answer({"a": "0_0", "b": " | 0_0", "c": ""})) == []


# ----------------------------------------------------------------------------------------------------------- rest


def test_a_group_at_rest_is_not_altered() -> None:
    assert validate(settled(), make_answer(UNCHANGED)) == []
    assert validate(settled(remembered=make_answer(UNCHANGED)), make_answer(UNCHANGED)) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": "0_0 1_1 | 0_1", "b": "0_1 1_0 | 0_0"}, [("R7", "1_0", "a"), ("R7", "1_1", "a")]),
        (
            {"a": "0_1 1_0 | 0_0", "b": "0_0 1_1 | 0_1"},
            [("R7", "0_0", "a"), ("R7", "0_1", "a"), ("R7", "0_0", "a"), ("R7", "0_1", "a")],
        ),
        ({"a": "0_0 1_0 | 0_1 !", "b": "0_1 1_1 | 0_0"}, [("R7", None, "a")]),
    ],
    ids=["stateless tasks swapped", "roles swapped", "a follow-up"],
)
def test_altering_a_group_at_rest_breaks_r7(given: dict[str, str], expected: list[tuple[str, str | None, str | None]]) -> None:
    assert broken(settled(), make_answer(given)) == expected


def test_a_fallback_at_rest_may_request_a_follow_up_for_the_service() -> None:
    asking = make_answer({"a": "0_0 1_0 | 0_1 !", "b": "0_1 1_1 | 0_0"})
    assert broken(settled(), asking.model_copy(update={"assignor": "fallback"})) == []
    assert broken(settled(), asking.model_copy(update={"assignor": "planner"})) == [("R7", None, "a")]


def test_a_group_at_rest_needs_no_warmup() -> None:
    clients = {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {"active": "0_1", "lags": {"0_1": -2}}}
    state = make_snapshot({"0_0": 100, "0_1": 100}, clients)
    assert broken(state, make_answer({"a": "0_0 | | 0_1", "b": "0_1"})) == [("R7", "0_1", "a")]


MOVED = {"a": "0_0 1_1 | 0_1", "b": "0_1 1_0 | 0_0"}


@pytest.mark.parametrize(
    "state",
    [
        settled({"b": {"active": "0_1", "standby": "0_0"}}),
        settled({"a": {"active": "0_0 1_0 1_1"}, "b": {"active": "0_1", "standby": "0_0"}}),
        settled({"a": {"lags": {"0_0": -2, "0_1": -3}}}),
        settled({"b": {"draining": True}}),
        settled({"b": {"threads": 3}}),
        settled({"a": {"standby": ""}}),
        settled(rack_aware_assignment_tags=["zone"]),
        settled({"a": {"rack": "r1"}}, rack_aware_assignment_strategy="min_traffic"),
        settled(remembered=make_answer({"a": "0_0 1_0", "b": "0_1 1_1 | 0_0"})),
    ],
    ids=[
        "a task without owner",
        "not balanced",
        "an unknown lag",
        "a client with tasks drains",
        "another client is larger",
        "a standby is missing",
        "tags",
        "racks",
        "memory lacks a standby",
    ],
)
def test_a_group_that_is_not_at_rest_may_be_altered(state: ApplicationState) -> None:
    assert "R7" not in [rule for rule, _, _ in broken(state, make_answer(MOVED))]


def test_unequal_weights_may_be_balanced() -> None:
    # Two heavy tasks on one client could be apart; with equal weights counts are balanced.
    clients = {"a": {"active": "1_0 1_1"}, "b": {"active": "1_2 1_3"}}
    swapped = make_answer({"a": "1_0 1_2", "b": "1_1 1_3"})
    for weight, expected in ((1.0, ["R7", "R7"]), (2.0, [])):
        heavy = {"stateful": False, "weight": weight}
        tasks = {"1_0": heavy, "1_1": heavy, "1_2": "stateless", "1_3": "stateless"}
        assert [rule for rule, _, _ in broken(make_snapshot(tasks, clients), swapped)] == expected


def test_an_idle_draining_client_does_not_disturb_rest() -> None:
    clients = {"a": {"active": "1_0"}, "b": {"draining": True, "threads": 1}}
    state = make_snapshot({"1_0": "stateless"}, clients)
    assert broken(state, make_answer({"a": "", "b": "1_0"})) == [("R7", "1_0", "a")]


def test_an_assignment_that_breaks_a_rule_does_not_rest() -> None:
    """The active copy lags more than the copy of another client."""
    clients = {"a": {"active": "0_0", "lags": {"0_0": 50}}, "b": {"lags": {"0_0": 3}}}
    assert broken(make_snapshot({"0_0": 100}, clients), make_answer({"a": "", "b": "0_0"})) == []
