"""Tests of each rule by hand on a few tasks: an answer that keeps all rules, and answers that break exactly one."""

from typing import Any

import pytest
from judging import make_answer, make_client_assignment, make_snapshot

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import Violation, validate
from optassign.measuring.placement import previous_assignment

MAX = 2**63 - 1


def broken(state: ApplicationState, given: TaskAssignment) -> list[tuple[str, str | None, str | None]]:
    return [(violation.rule, violation.task, violation.process_id) for violation in validate(state, given)]


def warming_up(**changes: Any) -> ApplicationState:
    """Return a group in which 0_0 runs on a and 0_1 on b, each with lagging state on the other, and c is empty."""
    tasks = {"0_0": 100, "0_1": 100, "1_0": "stateless"}
    clients = {"a": {"0_0": -2, "0_1": 50}, "b": {"0_1": -2, "0_0": 40}, "c": {}}
    return make_snapshot(tasks, clients, **{"num_standby_replicas": 1, "max_warmup_replicas": 1, **changes})


GOOD = {"a": "0_0 1_0 | 0_1 !", "b": "0_1 | 0_0", "c": " | | 0_0"}

BROKEN: dict[str, tuple[dict[str, str], list[tuple[str, str | None, str | None]]]] = {
    "a client left out": ({"c": ""}, [("format", None, "c")]),
    "a client nobody knows": ({"d": ""}, [("format", None, "d")]),
    "a task nobody knows": ({"c": "7_7"}, [("format", "7_7", "c")]),
    "a task on nobody": ({"a": "0_0 | 0_1 !"}, [("R1", "1_0", None)]),
    "a task active twice": ({"c": "1_0 | | 0_0"}, [("R1", "1_0", None)]),
    "active twice on one client": ({"a": "0_0 1_0 1_0 | 0_1 !"}, [("R2", "1_0", "a")]),
    "active and standby on one client": ({"a": "0_0 1_0 | 0_0 0_1 !", "b": "0_1"}, [("R2", "0_0", "a")]),
    "active and warm-up on one client": ({"a": "0_0 1_0 | 0_1 | 0_0 !", "c": ""}, [("R2", "0_0", "a")]),
    "standby and warm-up on one client": ({"b": "0_1 | 0_0 | 0_0", "c": ""}, [("R2", "0_0", "b")]),
    "active where it lags": ({"a": "1_0 | 0_0 0_1 !", "b": "0_0 0_1"}, [("R3", "0_0", "b")]),
    "active where there is nothing": ({"a": "0_0 1_0 | !", "b": " | 0_0 0_1", "c": "0_1"}, [("R3", "0_1", "c")]),
    "no standby": ({"b": "0_1"}, [("R4", "0_0", None)]),
    "a standby too many": ({"c": " | 0_1 | 0_0"}, [("R4", "0_1", None)]),
    "a standby of a stateless task": ({"c": " | 1_0 | 0_0"}, [("R4", "1_0", "c")]),
    "a standby on an empty client": ({"b": "0_1", "c": " | 0_0"}, [("R5", "0_0", "c")]),
    "a better client has only a warm-up": ({"b": "0_1 | | 0_0", "c": " | 0_0"}, [("R5", "0_0", "c")]),
    "a warm-up too many": ({"c": " | | 0_0 0_1"}, [("R6", None, None)]),
    "a warm-up of a stateless task": ({"c": " | | 1_0"}, [("R6", "1_0", "c")]),
    "the wrong client asks for the follow-up": (
        {"a": "0_0 1_0 | 0_1", "b": "0_1 | 0_0 !"},
        [("R8", None, "b")],
    ),
    "two clients ask for the follow-up": ({"c": " | | 0_0 !"}, [("R8", None, "c")]),
}


def test_accepts_an_answer_that_keeps_every_rule() -> None:
    assert validate(warming_up(), make_answer(GOOD)) == []


@pytest.mark.parametrize(("changes", "expected"), BROKEN.values(), ids=BROKEN)
def test_finds_the_one_rule_that_is_broken(changes: dict[str, str], expected: list[tuple[str, str | None, str | None]]) -> None:
    given = GOOD | changes
    if expected == [("format", None, "c")]:
        del given["c"]
    assert broken(warming_up(), make_answer(given)) == expected


def test_finds_a_client_listed_twice() -> None:
    twice = TaskAssignment.model_construct(
        format=1,
        assignor="test",
        clients=(*(make_client_assignment(p, text) for p, text in GOOD.items()), make_client_assignment("c", "")),
        plan=None,
    )
    assert broken(warming_up(), twice) == [("format", None, "c")]


def test_says_what_was_found_and_what_is_allowed() -> None:
    [violation] = validate(warming_up(), make_answer(GOOD | {"a": "1_0 | 0_0 0_1 !", "b": "0_0 0_1"}))
    assert violation == Violation("R3", "0_0", "b", violation.message)
    name = "R3 (active on the most caught-up)"
    assert str(violation) == f"{name}: found task 0_0 active on b of rank 40; allowed: the least rank, 0"


def test_names_five_clients_at_most() -> None:
    state = make_snapshot({"1_0": "stateless"}, {f"c{i}": {} for i in range(8)})
    [violation] = validate(state, make_answer({f"c{i}": "1_0" for i in range(8)}))
    assert violation.message == ("found task 1_0 active on 8 clients: c0, c1, c2, c3, c4 and 3 more; allowed: exactly one")


def test_reports_every_broken_rule_in_their_order() -> None:
    given = make_answer({"a": "0_1 | 0_1 1_0", "b": " | | 0_0 0_1 !", "d": ""})
    rules = [rule for rule, _, _ in broken(warming_up(), given)]
    assert rules == sorted(rules, key=["format", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"].index)
    assert {"format", "R1", "R2", "R3", "R4", "R6", "R8"} <= set(rules)


def test_least_rank_counts_even_if_no_client_is_caught_up() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"0_0": 60}, "b": {"0_0": 40}, "c": {}})
    assert broken(state, make_answer({"a": "0_0", "b": "", "c": ""})) == [("R3", "0_0", "a")]
    assert broken(state, make_answer({"a": "", "b": "0_0", "c": ""})) == []


@pytest.mark.parametrize("client", ["a", "b", "c"])
def test_all_clients_are_equal_for_tiny_changelogs_unlogged_tasks_and_without_limit(client: str) -> None:
    others = dict.fromkeys("abc", "")
    clients = {"a": {"0_0": -2}, "b": {"0_0": 9}, "c": {}}
    assert broken(make_snapshot({"0_0": 10}, clients), make_answer(others | {client: "0_0"})) == []
    assert broken(make_snapshot({"0_0": "unlogged"}, {"a": {}, "b": {}, "c": {}}), make_answer(others | {client: "0_0"})) == []
    far = {"a": {"0_0": MAX}, "b": {"0_0": -3}, "c": {}}
    for end in (100, None):
        state = make_snapshot({"0_0": {"changelog_end_offset": end}}, far, acceptable_recovery_lag=MAX)
        assert broken(state, make_answer(others | {client: "0_0"})) == []


def test_standby_of_equal_rank_may_be_on_either_client() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"0_0": -2}, "b": {"0_0": 40}, "c": {"0_0": 40}}, num_standby_replicas=1)
    for b, c in ((" | 0_0", ""), ("", " | 0_0")):
        assert broken(state, make_answer({"a": "0_0", "b": b, "c": c})) == []


def test_active_need_not_be_better_than_its_standbys() -> None:
    """R5 compares standbys only with clients without a copy: a standby may lag less than the active, if both are caught up."""
    state = make_snapshot({"0_0": 100}, {"a": {"0_0": 5}, "b": {"0_0": -2}}, num_standby_replicas=1)
    assert broken(state, make_answer({"a": "0_0", "b": " | 0_0"})) == []


@pytest.mark.parametrize(("replicas", "clients", "standbys"), [(1, 1, 0), (2, 2, 1), (3, 3, 2), (1, 3, 1)])
def test_as_many_standbys_as_there_are_other_clients(replicas: int, clients: int, standbys: int) -> None:
    names = "abc"[:clients]
    state = make_snapshot({"0_0": 5}, {name: {} for name in names}, num_standby_replicas=replicas)
    for given in range(clients):
        held = {name: " | 0_0" if 0 < i <= given else "" for i, name in enumerate(names)}
        expected = [] if given == standbys else [("R4", "0_0", None)]
        assert broken(state, make_answer(held | {"a": "0_0"})) == expected


def test_unknown_lags_rank_holders_before_others_and_behind_the_caught_up() -> None:
    clients = {"a": {"standby": "0_0", "lags": {"0_0": -3}}, "b": {"0_0": -3}, "c": {"0_0": 11}}
    state = make_snapshot({"0_0": 100}, clients)
    assert [broken(state, make_answer(dict.fromkeys("abc", "") | {p: "0_0"})) for p in "abc"] == [
        [],
        [("R3", "0_0", "b")],
        [("R3", "0_0", "c")],
    ]


@pytest.mark.parametrize(
    ("draining", "asks", "expected"),
    [
        ("", "a", []),
        ("a", "b", []),
        ("a", "a", [("R8", None, "a")]),
        ("ab", "a", []),
        ("ab", "b", [("R8", None, "b")]),
        ("a", "ab", [("R8", None, "a")]),
    ],
)
def test_the_least_staying_client_requests_the_followup(
    draining: str, asks: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    state = make_snapshot({"0_0": 5}, {name: {"draining": name in draining} for name in "ab"})
    assert broken(state, make_answer({name: "0_0" * (name == "b") + "!" * (name in asks) for name in "ab"})) == expected


def test_kip_441_scaling_out() -> None:
    first = {"I1": "0_1 0_3 | 0_2 !", "I2": "0_2 | 0_1 0_3", "I3": " | | 0_1 0_3"}
    lags = {"I1": {"0_1": -2, "0_3": -2, "0_2": 0}, "I2": {"0_2": -2, "0_1": 0, "0_3": 0}, "I3": {}}
    tasks = dict.fromkeys(("0_1", "0_2", "0_3"), 100)
    assert validate(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(first)) == []
    second = {"I1": "0_1 | 0_2", "I2": "0_2 | 0_3", "I3": "0_3 | 0_1"}
    early = broken(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(second))
    assert early == [("R3", "0_3", "I3"), ("R5", "0_1", "I3")]
    lags["I3"] = {"0_1": 0, "0_3": 0}
    assert validate(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(second)) == []


def test_kip_441_scaling_in_while_standbys_lag() -> None:
    tasks = dict.fromkeys(("0_1", "0_2", "0_3", "0_4"), 100)
    lags = {"I2": {"0_2": -2, "0_1": 50, "0_4": 50}, "I3": {"0_3": -2, "0_2": 50}}
    first = {"I2": "0_1 0_2 0_4 | 0_3 !", "I3": "0_3 | 0_1 0_2 0_4"}
    assert validate(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(first)) == []
    second = {"I2": "0_1 0_2 | 0_3 0_4", "I3": "0_3 0_4 | 0_1 0_2"}
    assert broken(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(second)) == [("R3", "0_4", "I3")]
    lags["I3"]["0_4"] = 10
    assert validate(make_snapshot(tasks, lags, num_standby_replicas=1), make_answer(second)) == []


def test_a_snapshot_without_tasks_is_answered_by_empty_clients() -> None:
    state = make_snapshot({}, {"a": {}, "b": {}})
    assert validate(state, make_answer({"a": "", "b": ""})) == []
    assert previous_assignment(state).complete


def test_a_name_cannot_end_the_line_of_a_violation() -> None:
    """Found by `make fuzz --kind answers`: the validator's lines go to logs and terminals."""
    clients = make_answer(GOOD).clients
    renamed = clients[0].model_copy(update={"process_id": "a\u2028b\x85c\u202ed"})
    found = validate(warming_up(), make_answer(GOOD).model_copy(update={"clients": (renamed, *clients[1:])}))
    assert all(violation.message.isprintable() for violation in found)
    assert "found client a\\u2028b\\x85c\\u202ed; allowed: clients of the snapshot" in [each.message for each in found]
