"""Tests of limits by hand: the tasks and clients that each selects, its breaches, and its text."""

from __future__ import annotations

from typing import Any

import pytest
from judging import make_answer, make_snapshot

from optassign.formats.configs import Limit
from optassign.formats.state import ApplicationState
from optassign.measuring.limits import describe_limit, find_breaches, list_limits, select_clients, select_tasks
from optassign.measuring.placement import TaskPlacement

TASKS = {"0_0": 100, "0_1": 40, "1_0": "stateless"}
CLIENTS = {
    "a": {"active": "0_0 0_1", "tags": {"zone": "x"}},
    "b": {"active": "1_0", "tags": {"zone": "x", "disk": "big"}, "host": "h1"},
    "c": {"tags": {"zone": "y"}},
}
ANSWER = make_answer({"a": "0_0 | | 0_1", "b": "0_1 | 0_0 |", "c": "1_0"})


def limited(*limits: dict[str, Any]) -> tuple[ApplicationState, tuple[Limit, ...]]:
    state = make_snapshot(TASKS, CLIENTS, options={"limits": list(limits)}, num_standby_replicas=1)
    return state, tuple(list_limits(state).values())


def test_limits_select_by_name_host_and_all_of_their_tags() -> None:
    state, limits = limited(
        {"kind": "pin", "subtopologies": ["0"], "tasks": ["1_0"], "clients": ["h1", "c"]},
        {"kind": "forbid", "tags": {"zone": "x", "disk": "big"}},
        {"kind": "forbid", "clients": ["a", "b"], "tags": {"disk": "big"}},
    )
    assert [select_clients(state, limit) for limit in limits] == [("b", "c"), ("b",), ("b",)]
    assert [select_tasks(state, limit) for limit in limits] == [("0_0", "0_1", "1_0")] * 3


@pytest.mark.parametrize(
    ("limit", "of_answer", "of_target"),
    [
        ({"kind": "most_active_moves", "most": 1}, [None], []),
        ({"kind": "most_active_moves", "most": 2}, [], []),
        ({"kind": "pin", "subtopologies": ["0"], "clients": ["a"]}, ["b"], ["b"]),
        ({"kind": "forbid", "tasks": ["0_0"], "tags": {"zone": "x"}}, ["a", "b"], ["a", "b"]),
        ({"kind": "most_copies", "most": 1}, ["b"], ["b"]),
        ({"kind": "most_copies", "most": 1, "clients": ["a"]}, [], []),
        ({"kind": "most_state", "most": 139}, ["a", "b"], ["b"]),  # the warm-up on a counts as well
        ({"kind": "most_state", "most": 140}, [], []),
    ],
)
def test_a_breach_names_its_client(limit: dict[str, Any], of_answer: list[str | None], of_target: list[str | None]) -> None:
    state, (read,) = limited(limit)
    placed = TaskPlacement.of(state, ANSWER)
    assert [client for _, client in find_breaches(state, read, placed, is_plan=False)] == of_answer
    assert [client for _, client in find_breaches(state, read, placed, is_plan=True)] == of_target


def test_a_breach_says_what_was_found_and_is_allowed() -> None:
    state, (moves, pin) = limited({"kind": "most_active_moves", "most": 1}, {"kind": "pin", "tasks": ["0_1"], "clients": ["a"]})
    placed = TaskPlacement.of(state, ANSWER)
    assert list(find_breaches(state, moves, placed, is_plan=False)) == [("found 2 active moves; allowed: 1", None)]
    (message,) = (text for text, _ in find_breaches(state, pin, placed, is_plan=True))
    assert message == "found task 0_1 active on b; allowed: one of those that it is pinned to"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"kind": "most_copies", "most": 3, "tags": {"zone": "a"}}, "big (at most 3 copies on zone=a)"),
        ({"kind": "most_state", "most": 9}, "big (at most 9 offsets of state on every client)"),
        (
            {"kind": "pin", "subtopologies": ["1"], "clients": list("abcde")},
            "big (subtopology 1 active on a, b, c and 2 more only)",
        ),
        ({"kind": "forbid", "clients": ["a"]}, "big (all tasks not on a)"),
    ],
)
def test_a_limit_in_words(limit: dict[str, Any], words: str) -> None:
    assert describe_limit("big", Limit.model_validate(limit)) == words
