"""Tests of `optassign.judging.comparison`: the columns of answers that no assignor is asked for."""

from __future__ import annotations

from judging import make_answer, make_snapshot

from optassign.formats.assignment import TaskAssignment
from optassign.judging.comparison import PREVIOUS, RECORDED, compare


def never_ask(name: str) -> tuple[TaskAssignment, float]:
    raise AssertionError(name)


def test_the_previous_standbys_are_the_remembered_ones_not_all_directories_on_disk() -> None:
    """The directory of 0_0 is still on the disk of c, and b had the standby."""
    remembered = make_answer({"a": "0_0", "b": "|0_0", "c": ""})
    clients = {"a": {"active": "0_0"}, "b": {"standby": "0_0"}, "c": {"standby": "0_0"}}
    state = make_snapshot({"0_0": 500}, clients, remembered=remembered, num_standby_replicas=1)
    (previous,) = compare(state, (), never_ask).columns
    assert previous.name == PREVIOUS
    assert {client.process_id: client.standby for client in previous.answer.clients} == {"a": (), "b": ("0_0",), "c": ()}


def test_a_follow_up_of_one_client_is_a_follow_up_of_the_answer() -> None:
    state = make_snapshot({"0_0": 500, "0_1": 500}, {"a": {"active": "0_0"}, "b": {"active": "0_1"}})
    asks, rests = make_answer({"a": "0_0!", "b": "0_1"}), make_answer({"a": "0_0", "b": "0_1"})
    for recorded, followup in ((asks, True), (rests, False)):
        columns = {column.name: column for column in compare(state, (), never_ask, recorded=recorded).columns}
        assert columns[RECORDED].followup is followup


def test_a_follow_up_at_rest_is_no_follow_up_towards_a_target() -> None:
    options = {"idle_followup_ms": 600_000}
    state = make_snapshot({"0_0": 500, "0_1": 500}, {"a": {"active": "0_0"}, "b": {"active": "0_1"}}, options=options)
    recorded = make_answer({"a": "0_0!", "b": "0_1"})
    columns = {column.name: column for column in compare(state, (), never_ask, recorded=recorded).columns}
    assert not columns[RECORDED].followup


def test_without_a_target_the_work_until_it_is_unknown() -> None:
    state = make_snapshot({"0_0": 500, "0_1": 500}, {"a": {"active": "0_0 0_1"}, "b": {}})
    recorded = make_answer({"a": "0_0 0_1", "b": "||0_1!"})
    columns = {column.name: column for column in compare(state, (), never_ask, recorded=recorded).columns}
    assert columns[RECORDED].planned_work is None
