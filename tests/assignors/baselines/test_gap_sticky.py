"""Tests of KIP-429, part II, "StreamsPartitionAssignor Logic Update": each step, and completions where the text breaks off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from answers_as_text import describe
from judging import make_answer, make_snapshot

from optassign.assignor import assign, create, list_variants
from optassign.assignors.baselines.gap_sticky import GapStickyAssignor
from optassign.formats.state import ApplicationState

STATELESS = "stateless"


def ask(state: ApplicationState, variant: str = "gap") -> dict[str, str]:
    return describe(assign(state, f"gap-sticky:{variant}"))


def test_the_new_text_is_the_default() -> None:
    assert list_variants("gap-sticky") == ("gap", "previous-tasks")
    state = make_snapshot({"0_0": 100}, {"a": {"active": ""}, "b": {"lags": {"0_0": 7}}})
    assert assign(state, "gap-sticky").clients == assign(state, "gap-sticky:gap").clients
    with pytest.raises(ValueError, match="found variant 'best' of 'gap-sticky'; allowed: gap, previous-tasks"):
        GapStickyAssignor(variant="best")
    with pytest.raises(ValueError, match="found variant 'best' of 'gap-sticky'; allowed: gap, previous-tasks"):
        create("gap-sticky:best")


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_no_tasks(variant: str) -> None:
    assert ask(make_snapshot({}, {"a": {}, "b": {}}), variant) == {"a": "", "b": ""}


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_one_client_has_it_all_and_no_standbys(variant: str) -> None:
    state = make_snapshot({"0_0": 100, "1_0": STATELESS, "2_0": "unlogged"}, {"a": {"threads": 3}}, num_standby_replicas=2)
    assert ask(state, variant) == {"a": "0_0 1_0 2_0"}


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_each_logged_task_has_a_standby_wherever_it_is_not_active_if_more_are_wanted_than_fit(variant: str) -> None:
    state = make_snapshot({"0_0": 100, "0_1": 100, "1_0": STATELESS}, {"a": {}, "b": {}, "c": {}}, num_standby_replicas=7)
    found = ask(state, variant)
    for task in ("0_0", "0_1"):
        roles = sorted(task in role for client in found.values() for role in f"{client} | ".split("|")[:2])
        assert roles == [False, False, False, True, True, True], found
    assert sum("1_0" in client for client in found.values()) == 1


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_shares_are_exact_however_many_threads_there_are(variant: str) -> None:
    """The capacities differ by one thread in 2³¹; no two of these numbers have a common divisor."""
    most = 2**31 - 1
    clients = {"a": {"threads": most - 2}, "b": {"threads": most}, "c": {"threads": most - 1}}
    found = ask(make_snapshot({"0_0": 100, "1_0": STATELESS}, clients, num_standby_replicas=1), variant)
    # Client b has the most remaining capacity, then c; no client has tasks at first.
    expected = {"a": "", "b": "0_0 1_0", "c": " | 0_0"} if variant == "gap" else {"a": "0_0", "b": "1_0 | 0_0", "c": ""}
    assert found == expected


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_it_ignores_memory(variant: str) -> None:
    tasks = {"0_0": 100, "0_1": 100, "1_0": STATELESS}
    clients = {"a": {"active": "0_0 1_0", "lags": {"0_0": -2}}, "b": {"active": "0_1", "lags": {"0_1": -2}}}
    remembered = make_answer({"a": "0_1 | 0_0", "b": "0_0 1_0 | 0_1"})
    with_memory = make_snapshot(tasks, clients, num_standby_replicas=1, remembered=remembered)
    assert ask(with_memory, variant) == ask(make_snapshot(tasks, clients, num_standby_replicas=1), variant)


@pytest.mark.parametrize("variant", ["gap", "previous-tasks"])
def test_a_note_lists_ignored_inputs(variant: str) -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"standby": "0_0", "lags": {"0_0": -3}}, "b": {"draining": True}})
    notes = assign(state, f"gap-sticky:{variant}").report.notes
    assert "clients that drain are dealt tasks like any other" in notes
    assert ("lags not known, taken for the whole changelog: 1" in notes) == (variant == "gap")


# ------------------------------------------------------------------------------------------------ gap, 1: stateless tasks


def test_a_stateless_task_stays_with_its_owner_up_to_the_average() -> None:
    """Steps 1.2 and 1.3: the average is 2 tasks per client."""
    tasks = dict.fromkeys(["1_0", "1_1", "1_2", "1_3"], STATELESS)
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"active": "1_1 1_3"}})) == {"a": "1_0 1_2", "b": "1_1 1_3"}
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"active": "1_0 1_1 1_3"}})) == {"a": "1_2 1_3", "b": "1_0 1_1"}


def test_an_owner_keeps_tasks_up_to_the_average_rounded_up() -> None:
    """Both clients have an average of 2.5 tasks: b keeps 3 owned tasks, but not 4."""
    tasks = dict.fromkeys(["1_0", "1_1", "1_2", "1_3", "1_4"], STATELESS)
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"active": "1_0 1_1 1_2"}}))["b"] == "1_0 1_1 1_2"
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"active": "1_0 1_1 1_2 1_3"}}))["b"] == "1_0 1_1 1_2"


def test_the_average_is_per_thread() -> None:
    """Step 1.1 gives capacities of 1 and 3. By step 1.3 tasks go to b (3 left), b (2 left), a (1 left, like b), then b."""
    tasks = dict.fromkeys(["1_0", "1_1", "1_2", "1_3"], STATELESS)
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"threads": 3}})) == {"a": "1_2", "b": "1_0 1_1 1_3"}


def test_remaining_capacity_is_a_difference_and_not_a_load() -> None:
    """Capacities are 4/3 and 8/3: b has 2 tasks and 2/3 left, a 1/3; both have 1 task per thread."""
    tasks = dict.fromkeys(["1_0", "1_1", "1_2", "1_3"], STATELESS)
    clients = {"a": {"active": "1_0"}, "b": {"threads": 2, "active": "1_1 1_2"}}
    assert ask(make_snapshot(tasks, clients)) == {"a": "1_0", "b": "1_1 1_2 1_3"}
    assert ask(make_snapshot(tasks, clients), "previous-tasks") == {"a": "1_0 1_3", "b": "1_1 1_2"}


def test_only_the_host_of_the_active_has_the_sentinel() -> None:
    state = make_snapshot({"1_0": STATELESS, "1_1": STATELESS}, {"a": {}, "b": {"standby": "1_0"}})
    assert ask(state) == {"a": "1_0", "b": "1_1"}


def test_stateless_and_stateful_tasks_have_averages_of_their_own() -> None:
    """Client a has 2 of 3 stateless tasks, and still as much capacity for the stateful task as b."""
    tasks = {"0_0": 100, "1_0": STATELESS, "1_1": STATELESS, "1_2": STATELESS}
    state = make_snapshot(tasks, {"a": {"active": "1_0 1_1"}, "b": {"active": "1_2"}})
    assert ask(state) == {"a": "0_0 1_0 1_1", "b": "1_2"}
    # Items 3 to 5 have one capacity for all tasks.
    assert ask(state, "previous-tasks") == {"a": "1_0 1_1", "b": "0_0 1_2"}


# ------------------------------------------------------------------------------------------------- gap, 2: stateful tasks


@pytest.mark.parametrize(
    ("lags", "host"),
    [
        ({"a": 50, "b": 20}, "b"),
        ({"a": 8, "b": 3}, "b"),  # the KIP has no acceptable lag: the smaller gap wins
        ({"a": 0, "b": -2}, "a"),  # both gaps are 0: the smaller id wins
        ({"a": 100, "b": 99}, "b"),  # a would replay the whole changelog, so it has no state
        ({"a": -3, "b": 99}, "b"),
        ({"b": 0}, "b"),
    ],
)
def test_the_smallest_gap_has_the_active(lags: Mapping[str, int], host: str) -> None:
    """Step 2.2.1 of the KIP."""
    clients = {name: {"lags": {"0_0": lags[name]} if name in lags else {}} for name in "ab"}
    assert ask(make_snapshot({"0_0": 100}, clients))[host] == "0_0"


def test_an_active_has_no_gap_and_comes_before_a_standby_without() -> None:
    tasks = {"0_0": 100, "0_1": 100}
    standby = {"standby": "0_0 0_1", "lags": {"0_0": 0, "0_1": 0}}
    owner = {"active": "0_0", "lags": {"0_0": 40}}
    assert ask(make_snapshot(tasks, {"a": standby, "b": owner})) == {"a": "0_1", "b": "0_0"}


def test_the_larger_remaining_capacity_decides_between_equal_gaps() -> None:
    tasks = {"0_0": 100, "0_1": 100, "0_2": 100}
    same = {"0_1": 5}
    state = make_snapshot(tasks, {"a": {"active": "0_0", "lags": {"0_0": -2, **same}}, "b": same, "c": same})
    assert ask(state)["b"] == "0_1"
    state = make_snapshot(tasks, {"a": same, "b": same, "c": {"threads": 3, "lags": same}})
    assert ask(state)["c"] == "0_0 0_1", "1.8 tasks, less one, are more than 0.6"


def test_a_task_that_nobody_had_goes_to_the_largest_remaining_capacity() -> None:
    """Step 2.2.2: of 3 tasks a has capacity for 1 and keeps 0_0; b has capacity for 2."""
    tasks = {"0_0": 100, "0_1": 100, "0_2": 100}
    state = make_snapshot(tasks, {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {"threads": 2}})
    assert ask(state) == {"a": "0_0", "b": "0_1 0_2"}


def test_the_next_smallest_gap_has_the_active_if_the_smallest_is_full() -> None:
    """Step 2.2.3, completed: c and d had 0_1, and d replays less; b is as empty, but never had it."""
    tasks = dict.fromkeys(["0_0", "0_1", "0_2", "0_3"], 100)
    had = {"lags": {"0_0": -2, "0_1": 1}, "active": "0_0"}
    state = make_snapshot(tasks, {"a": had, "b": {}, "c": {"0_1": 60}, "d": {"0_1": 30}})
    assert ask(state) == {"a": "0_0", "b": "0_2", "c": "0_3", "d": "0_1"}


def test_the_largest_remaining_capacity_has_it_if_all_holders_are_full() -> None:
    """Step 2.2.3, completed: a and b are full with their own tasks; c never had 0_2."""
    tasks = dict.fromkeys(["0_0", "0_1", "0_2"], 100)
    clients = {
        "a": {"active": "0_0", "lags": {"0_0": -2, "0_2": 1}},
        "b": {"active": "0_1", "lags": {"0_1": -2, "0_2": 2}},
        "c": {},
    }
    assert ask(make_snapshot(tasks, clients)) == {"a": "0_0", "b": "0_1", "c": "0_2"}


def test_a_task_is_placed_at_once_though_a_later_one_has_more_right_to_the_capacity() -> None:
    """The text has one loop: 0_0 takes capacity of b, so b is full when its own task 0_3 is placed."""
    tasks = dict.fromkeys(["0_0", "0_1", "0_2", "0_3"], 100)
    clients = {
        "a": {},
        "b": {"active": "0_2 0_3", "lags": {"0_2": -2, "0_3": -2, "0_0": 70}},
    }
    assert ask(make_snapshot(tasks, clients)) == {"a": "0_1 0_3", "b": "0_0 0_2"}


def test_an_unknown_gap_comes_after_all_known_ones_and_before_those_who_never_had_it() -> None:
    unknown = {"standby": "0_0", "lags": {"0_0": -3}}
    assert ask(make_snapshot({"0_0": 100}, {"a": unknown, "b": {"0_0": 99}}))["b"] == "0_0"
    assert ask(make_snapshot({"0_0": 100}, {"a": {"threads": 9}, "b": unknown}))["b"] == "0_0"
    # The lag is unknown and the task not listed: the client does not have it.
    assert ask(make_snapshot({"0_0": 100}, {"a": {}, "b": {"0_0": -3}}))["a"] == "0_0"


def test_a_stateful_task_without_changelog_is_only_its_owners() -> None:
    tasks = dict.fromkeys(["2_0", "2_1"], "unlogged")
    state = make_snapshot(tasks, {"a": {"standby": "2_1"}, "b": {"active": "2_0"}, "c": {}}, num_standby_replicas=1)
    assert ask(state) == {"a": "2_1", "b": "2_0", "c": ""}
    state = make_snapshot(tasks, {"a": {}, "b": {"standby": "2_0"}}, num_standby_replicas=1)
    assert ask(state) == {"a": "2_0", "b": "2_1"}


# --------------------------------------------------------------------------------------------------------- gap, standbys


def test_a_standby_is_where_the_smallest_gap_to_the_active_is() -> None:
    state = make_snapshot(
        dict.fromkeys(["0_0", "0_1", "0_2"], 100),
        {
            "a": {"active": "0_0", "lags": {"0_0": -2, "0_1": 40}},
            "b": {"active": "0_1", "lags": {"0_1": -2, "0_2": 10}},
            "c": {"active": "0_2", "lags": {"0_2": -2, "0_0": 30, "0_1": 90}},
        },
        num_standby_replicas=1,
    )
    assert ask(state) == {"a": "0_0 | 0_1", "b": "0_1 | 0_2", "c": "0_2 | 0_0"}


def test_a_standby_needs_capacity_by_the_average_of_copies() -> None:
    """Four clients have four copies: a and b are full with their actives, though a has the smaller gap of 0_1 and b of 0_0."""
    tasks = {"0_0": 100, "0_1": 100}
    clients: dict[str, Any] = {
        "a": {"active": "0_0", "lags": {"0_0": -2, "0_1": 5}},
        "b": {"active": "0_1", "lags": {"0_0": 5, "0_1": -2}},
        "c": {},
        "d": {"0_0": 9},
    }
    assert ask(make_snapshot(tasks, clients, num_standby_replicas=1)) == {
        "a": "0_0",
        "b": "0_1",
        "c": " | 0_1",
        "d": " | 0_0",
    }
    # With three threads a has capacity for two copies.
    state = make_snapshot(tasks, {**clients, "a": {**clients["a"], "threads": 3}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0 | 0_1", "b": "0_1", "c": "", "d": " | 0_0"}


def test_the_least_overdrawn_client_gets_the_standby_if_no_capacity_is_left() -> None:
    """Client c has nearly all capacity (nine threads), but a copy of each task. Of a and b, with one copy each, a gets 0_2."""
    state = make_snapshot(
        dict.fromkeys(["0_0", "0_1", "0_2"], 100), {"a": {}, "b": {}, "c": {"threads": 9}}, num_standby_replicas=1
    )
    assert ask(state) == {"a": " | 0_0 0_2", "b": " | 0_1", "c": "0_0 0_1 0_2"}


# ---------------------------------------------------------------------------------------------------- previous-tasks, 3–5


def ask_old(tasks: list[str], clients: Mapping[str, Any], standbys: int = 0) -> dict[str, str]:
    return ask(make_snapshot(dict.fromkeys(tasks, 100), clients, num_standby_replicas=standbys), "previous-tasks")


def test_a_task_stays_with_its_owner_while_that_does_not_exceed_its_capacity() -> None:
    """Steps 3 and 4.1: the capacities are 2 and 4, and lags do not matter."""
    tasks = ["0_0", "0_1", "0_2", "0_3", "0_4", "0_5"]
    found = ask_old(tasks, {"a": {"active": "0_3 0_4 0_5", "lags": {"0_3": 50}}, "b": {"threads": 2, "lags": {"0_3": 1}}})
    assert found == {"a": "0_3 0_4", "b": "0_0 0_1 0_2 0_5"}


def test_an_owner_with_capacity_comes_before_a_standby_with_more() -> None:
    clients = {"a": {"active": "0_3"}, "b": {"threads": 3, "standby": "0_3"}}
    assert ask_old(["0_0", "0_1", "0_2", "0_3"], clients)["a"] == "0_3"


def test_a_standby_has_it_if_the_owner_is_full() -> None:
    """Step 4.2: b is full with its own tasks, so 0_1 goes to c, which lists it. Client d is as empty and reports less lag."""
    tasks = ["0_0", "0_1", "0_2", "0_3"]
    clients = {
        "a": {},
        "b": {"active": "0_0 0_1"},
        "c": {"standby": "0_1", "lags": {"0_1": 90}},
        "d": {"lags": {"0_1": 1}},
    }
    assert ask_old(tasks, clients) == {"a": "0_2", "b": "0_0", "c": "0_1", "d": "0_3"}


def test_the_standby_with_the_largest_remaining_capacity_has_it() -> None:
    tasks = ["0_0", "0_1", "0_2", "0_3"]
    clients = {"a": {"standby": "0_2"}, "b": {"standby": "0_2", "threads": 2}, "c": {"standby": "0_2"}}
    assert "0_2" in ask_old(tasks, clients)["b"]


@pytest.mark.parametrize("kind", [STATELESS, "unlogged"])
def test_only_tasks_with_changelog_have_standbys_to_go_to(kind: str) -> None:
    """Other state on a disk is no standby: 1_0 goes to the least loaded client."""
    state = make_snapshot({"1_0": kind}, {"a": {}, "b": {"standby": "1_0"}}, num_standby_replicas=1)
    assert ask(state, "previous-tasks") == {"a": "1_0", "b": ""}


def test_a_standby_without_capacity_is_passed_over() -> None:
    assert ask_old(["0_0", "0_1"], {"a": {}, "b": {"active": "0_0", "standby": "0_1"}}) == {
        "a": "0_1",
        "b": "0_0",
    }


def test_remaining_tasks_are_dealt_after_all_owned_ones() -> None:
    """Client a keeps one task of four (5/3 on average), and b owns 0_4, so c, with none, is the least loaded for 0_1."""
    tasks = ["0_0", "0_1", "0_2", "0_3", "0_4"]
    clients = {"a": {"active": "0_0 0_1 0_2 0_3"}, "b": {"active": "0_4"}, "c": {}}
    assert ask_old(tasks, clients) == {"a": "0_0 0_2", "b": "0_3 0_4", "c": "0_1"}


def test_the_least_loaded_is_the_one_with_the_fewest_tasks_per_thread() -> None:
    """Step 5.1: capacities are 5/3 and 10/3; a keeps 0_0 (1 per thread), b has 3 (1.5 per thread), and 0_4 is left."""
    tasks = ["0_0", "0_1", "0_2", "0_3", "0_4"]
    clients = {"a": {"active": "0_0"}, "b": {"threads": 2, "active": "0_1 0_2 0_3"}}
    assert ask_old(tasks, clients) == {"a": "0_0 0_4", "b": "0_1 0_2 0_3"}


@pytest.mark.parametrize(
    ("a", "b", "c", "host"),
    [
        ({}, {"standby": "0_3"}, {"active": "0_3"}, "c"),  # its owner, before its standby
        ({}, {"standby": "0_3"}, {}, "b"),  # its standby, before a client without its state
        ({}, {}, {}, "a"),  # the smallest id
    ],
)
def test_among_the_least_loaded(a: dict[str, str], b: dict[str, str], c: dict[str, str], host: str) -> None:
    """Step 5.1: each client keeps its task (4/3 on average); 0_3 is left, and all clients are equally loaded."""
    clients = {
        name: {"active": f"{own} {more.get('active', '')}", "standby": more.get("standby", "")}
        for name, own, more in (("a", "0_0", a), ("b", "0_1", b), ("c", "0_2", c))
    }
    assert "0_3" in ask_old(["0_0", "0_1", "0_2", "0_3"], clients)[host]


def test_remaining_tasks_are_dealt_by_subtopology() -> None:
    """Step 5: all tasks of subtopology 0 come before those of 1, so that both clients have a task of each."""
    assert ask_old(["1_0", "0_0", "1_1", "0_1"], {"a": {}, "b": {}}) == {"a": "0_0 1_0", "b": "0_1 1_1"}


def test_standbys_go_by_the_same_steps() -> None:
    """Completion: 6 copies give 1.5 per client. Client d, the standby of 0_1, has capacity; a and b have none, with an active
    each. All clients are then equally loaded, and a and b had the other two tasks."""
    clients = {
        "a": {"active": "0_2", "standby": "0_0"},
        "b": {"active": "0_0", "standby": "0_2"},
        "c": {"active": "0_1"},
        "d": {"standby": "0_1", "lags": {"0_1": 90}},
    }
    found = ask_old(["0_0", "0_1", "0_2"], clients, standbys=1)
    assert found == {"a": "0_2 | 0_0", "b": "0_0 | 0_2", "c": "0_1", "d": " | 0_1"}


def test_an_owner_that_loses_the_active_keeps_the_task_as_a_standby_before_others() -> None:
    """Client a has capacity for one active and two copies, and keeps 0_0. Of b and c, both less loaded, b gets 0_1."""
    clients = {"a": {"threads": 2, "active": "0_0 0_1"}, "b": {"standby": "0_1"}, "c": {"standby": "0_1"}}
    assert ask_old(["0_0", "0_1"], clients, standbys=1) == {"a": "0_0 | 0_1", "b": "0_1", "c": " | 0_0"}
