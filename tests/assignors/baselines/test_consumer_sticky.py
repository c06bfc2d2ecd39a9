"""Tests that actives are dealt as by the consumer's StickyAssignor, and standbys as the module documents."""

from __future__ import annotations

import pytest
from answers_as_text import describe
from judging import make_answer, make_snapshot

from optassign.assignor import assign
from optassign.formats.state import ApplicationState


def ask(state: ApplicationState) -> dict[str, str]:
    return describe(assign(state, "consumer-sticky"))


def parse_clients(text: str) -> dict[str, str]:
    """Parse `a=0_0 0_1, b=` into a dictionary."""
    return {name: tasks for name, _, tasks in (part.strip().partition("=") for part in text.split(","))}


def make_topics(*sizes: int) -> dict[str, str]:
    return {f"{topic}_{partition}": "stateless" for topic, size in enumerate(sizes) for partition in range(size)}


RECORDED = [
    # Partitions per topic, what each member owns, what it gets.
    ((4, 3), "a=, b=, c=", "a=0_0 0_3 1_2, b=0_1 1_0, c=0_2 1_1"),
    # A member keeps its smallest partitions; members below the minimum quota are filled in turn.
    ((7,), "a=0_0 0_1 0_2 0_3 0_4 0_5 0_6, b=, c=", "a=0_0 0_1 0_2, b=0_3 0_5, c=0_4 0_6"),
    # Partition numbers come before topics.
    ((2, 2, 2), "a=0_0 0_1 1_0 1_1 2_0 2_1, b=", "a=0_0 1_0 2_0, b=0_1 1_1 2_1"),
    # Only one member may have a third partition: the first member that owns three.
    ((7,), "a=0_0 0_1 0_2, b=0_3 0_4 0_5, c=0_6", "a=0_0 0_1 0_2, b=0_3 0_4, c=0_5 0_6"),
    # A third partition goes to members that owned two, before the member that was filled up to two.
    ((7,), "a=0_0, b=0_1 0_2, c=0_3 0_4", "a=0_0 0_5, b=0_1 0_2 0_6, c=0_3 0_4"),
    ((8,), "a=0_0 0_1, b=0_2 0_3, c=0_4", "a=0_0 0_1 0_6, b=0_2 0_3 0_7, c=0_4 0_5"),
    # Two members claim 0_1: neither keeps it.
    ((4,), "a=0_0 0_1, b=0_1 0_2, c=0_3", "a=0_0 0_1, b=0_2, c=0_3"),
    # More members than partitions: the minimum quota is 0.
    ((2, 1), "a=0_1, b=, c=, d=1_0, e=", "a=0_1, b=0_0, c=, d=1_0, e="),
    ((3, 3), "a=0_2 1_2, b=0_1 1_1", "a=0_0 0_2 1_2, b=0_1 1_0 1_1"),
    # A joining member takes the greatest partitions of members above the quota.
    (
        (10,),
        "a=0_0 0_1 0_2 0_9, b=0_3 0_4 0_5 0_8, c=0_6 0_7, d=",
        "a=0_0 0_1 0_2, b=0_3 0_4 0_5, c=0_6 0_7, d=0_8 0_9",
    ),
]
"""Answers of kafka-clients 4.3.1's AbstractStickyAssignor without racks, in one generation; members subscribe to all topics."""


@pytest.mark.parametrize("listed", [False, True], ids=["threads", "consumers"])
@pytest.mark.parametrize(("sizes", "owned", "expected"), RECORDED)
def test_kafkas_own_answers(sizes: tuple[int, ...], owned: str, expected: str, listed: bool) -> None:
    clients = {
        name: {"active": tasks, **({"consumers": {"c": tasks.split()}} if listed else {})}
        for name, tasks in parse_clients(owned).items()
    }
    assert ask(make_snapshot(make_topics(*sizes), clients)) == parse_clients(expected)


def test_each_thread_is_a_member_and_previous_actives_are_dealt_to_them_in_turn() -> None:
    """The quota is two for each of three members: a's first thread has 0_0 0_2 0_4, its second 0_1 0_3, and 0_4 moves."""
    state = make_snapshot(make_topics(6), {"a": {"threads": 2, "active": "0_0 0_1 0_2 0_3 0_4"}, "b": {}})
    assert ask(state) == {"a": "0_0 0_1 0_2 0_3", "b": "0_4 0_5"}


def test_listed_consumers_are_the_members() -> None:
    """Consumer c-1 owns four of five tasks: it gives two away, and c-2 is the first below its quota of two."""
    consumers = {"c-2": ["0_0"], "c-1": ["0_1", "0_2", "0_3", "0_4"]}
    client = {"threads": 7, "active": "0_0 0_1 0_2 0_3 0_4", "consumers": consumers}
    assert ask(make_snapshot(make_topics(6), {"a": client, "b": {}})) == {"a": "0_0 0_1 0_2 0_3", "b": "0_4 0_5"}
    # Of seven tasks only one of three members may have three: c-1, the first member that owns as many.
    assert ask(make_snapshot(make_topics(7), {"a": client, "b": {}})) == {"a": "0_0 0_1 0_2 0_3 0_4", "b": "0_5 0_6"}


def test_consumers_of_a_client_come_in_the_order_of_their_names() -> None:
    """Only one of three members may have a third task; c-1 and c-2 own three, and the second, c-2, gives its greatest away."""
    consumers = {"c-2": ["0_0", "0_1", "0_2"], "c-1": ["0_3", "0_4", "0_5"]}
    state = make_snapshot(make_topics(7), {"a": {"consumers": consumers}, "b": {"active": "0_6"}})
    assert ask(state) == {"a": "0_0 0_1 0_3 0_4 0_5", "b": "0_2 0_6"}


def test_partition_numbers_are_numbers() -> None:
    """Client a owns partitions 2 to 10 and keeps the smallest, 2 to 6; compared as text, 10 would be smaller."""
    owned = " ".join(f"0_{partition}" for partition in range(2, 11))
    found = ask(make_snapshot(make_topics(11), {"a": {"active": owned}, "b": {}}))
    assert found["a"] == "0_2 0_3 0_4 0_5 0_6 0_7"


def test_a_task_claimed_by_two_clients_has_no_owner() -> None:
    state = make_snapshot(make_topics(2), {"a": {}, "b": {"active": "0_0"}, "c": {"active": "0_0 0_1"}})
    assert ask(state) == {"a": "0_0", "b": "", "c": "0_1"}


def test_it_ignores_state() -> None:
    """Client a is caught up on 0_2 and 0_3, and the last answer assigned them to it; neither changes the answer."""
    clients = {"a": {"active": "0_0"}, "b": {"active": "0_1 0_2 0_3"}, "c": {}}
    lags = {"lags": {"0_2": 0, "0_3": 0}, "standby": "0_2 0_3"}
    tasks = dict.fromkeys(["0_0", "0_1", "0_2", "0_3"], 100)
    ready = make_snapshot(
        tasks, {**clients, "a": {**clients["a"], **lags}}, remembered=make_answer({"a": "0_1 0_2 0_3", "b": "0_0"})
    )
    assert ask(ready) == ask(make_snapshot(tasks, clients)) == {"a": "0_0", "b": "0_1 0_2", "c": "0_3"}


@pytest.mark.parametrize("threads", [5, 2**31 - 1])
def test_more_threads_than_tasks_however_many(threads: int) -> None:
    state = make_snapshot(make_topics(3), {"a": {"active": "0_2"}, "b": {"threads": threads}, "c": {"threads": threads}})
    assert ask(state) == {"a": "0_2", "b": "0_0 0_1", "c": ""}


def test_no_tasks() -> None:
    assert ask(make_snapshot({}, {"a": {}, "b": {"threads": 3}}, num_standby_replicas=1)) == {"a": "", "b": ""}


def test_one_client_has_it_all_and_no_standbys() -> None:
    state = make_snapshot({"0_0": 100, "1_0": "stateless"}, {"a": {"threads": 2}}, num_standby_replicas=2)
    assert ask(state) == {"a": "0_0 1_0"}


# Standbys: beyond Kafka's algorithm


def test_standbys_of_logged_tasks_go_to_the_least_loaded() -> None:
    """With its actives a has two tasks, b and c one each, so b (the smaller id) and c get standbys first. The third then goes
    to a; 1_0 is stateless and has none."""
    tasks = {"0_0": 100, "0_1": 100, "0_2": 100, "1_0": "stateless"}
    state = make_snapshot(tasks, {"a": {}, "b": {}, "c": {}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0 1_0 | 0_2", "b": "0_1 | 0_0", "c": "0_2 | 0_1"}


def test_load_is_per_member() -> None:
    """After two standbys a has three tasks on its one member, b four tasks on three members: b gets the standby of 0_4."""
    tasks = dict.fromkeys(["0_0", "0_1", "0_2", "0_3", "0_4"], 100)
    state = make_snapshot(tasks, {"a": {}, "b": {"threads": 3}, "c": {}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0 | 0_1 0_3", "b": "0_1 0_2 0_3 | 0_0 0_4", "c": "0_4 | 0_2"}


def test_listed_consumers_count_and_not_threads() -> None:
    """Each client has one member and one task; b gets the standby of 0_0, a that of 0_1, and at equal load a that of 0_2."""
    state = make_snapshot(
        dict.fromkeys(["0_0", "0_1", "0_2"], 100),
        {"a": {}, "b": {"threads": 9, "consumers": {"c": []}}, "c": {}},
        num_standby_replicas=1,
    )
    assert ask(state) == {"a": "0_0 | 0_1 0_2", "b": "0_1 | 0_0", "c": "0_2"}


def test_more_standbys_than_clients_are_on_all_the_others() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {}, "b": {}, "c": {"active": "0_0"}}, num_standby_replicas=9)
    assert ask(state) == {"a": " | 0_0", "b": " | 0_0", "c": "0_0"}


def test_clients_that_drain_are_not_spared_and_the_answer_says_so() -> None:
    state = make_snapshot(make_topics(2), {"a": {}, "b": {"draining": True}})
    assert ask(state) == {"a": "0_0", "b": "0_1"}
    assert assign(state, "consumer-sticky").report.notes == (
        "clients that drain are dealt tasks like any other",
        "client b drains: it has 1 active and 0 standby copies, and keeps some in the plan, too",
    )
