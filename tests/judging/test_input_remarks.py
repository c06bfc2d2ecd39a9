"""Tests of remarks on valid but odd snapshots, with their places."""

from judging import make_snapshot

from optassign.formats.state import LeftOut
from optassign.judging.explanation_text import remark_on_input

RUNNING = {"0_0": -2}


def test_an_ordinary_snapshot_has_no_remarks() -> None:
    state = make_snapshot({"0_0": 5}, {"a": {"active": "0_0", "lags": RUNNING}, "b": {"standby": "0_0"}})
    assert list(remark_on_input(state)) == []
    assert state.left_out == ()


def test_unknown_tasks_are_named_with_their_places() -> None:
    clients = {
        "a": {"active": "0_0 7_1", "standby": "7_2", "lags": {**RUNNING, "7_1": 5}, "client_id": "orders-1"},
        "b": {"consumers": {"c-1": ["7_3"]}},
    }
    state = make_snapshot({"0_0": 5}, clients)
    assert [(e.process_id, e.field, e.task) for e in state.left_out] == [
        ("a", "lags", "7_1"),
        ("a", "previous_active", "7_1"),
        ("a", "previous_standby", "7_2"),
        ("b", 'consumers["c-1"]', "7_3"),
    ]
    lines = list(remark_on_input(state))
    assert lines[0] == "entries left out, about unknown tasks or tasks without a changelog: 3 (previous), 1 (lags)"
    assert "  unknown task 7_1 in previous_active of a (orders-1)" in lines
    assert "  unknown task 7_2 in previous_standby of a (orders-1)" in lines
    assert len(lines) == 1 + 3, "the first few"


def test_ten_thousand_unknown_tasks_are_counted_and_a_few_named() -> None:
    state = make_snapshot({"0_0": 5}, {"a": {"standby": [f"9_{i}" for i in range(10_000)]}})
    assert state.left_out[0] == LeftOut("a", "previous_standby", "9_0")
    assert len(state.left_out) <= 5
    assert next(remark_on_input(state)).endswith("10,000 (previous)")


def test_two_owners_of_a_task_are_named_with_the_believed_one() -> None:
    """The client that runs the task is believed; if both run it, the least id."""
    clients = {"a": {"active": "0_0", "lags": {"0_0": 3}}, "b": {"active": "0_0", "lags": RUNNING, "host": "box:80"}}
    assert list(remark_on_input(make_snapshot({"0_0": 5}, clients))) == [
        "2 clients claim task 0_0 as active: a, b (box:80); b (box:80) is believed"
    ]


def test_a_few_of_many_such_tasks_are_named() -> None:
    tasks = {f"0_{i}": 5 for i in range(8)}
    both = {"active": " ".join(tasks), "lags": dict.fromkeys(tasks, -2)}
    lines = list(remark_on_input(make_snapshot(tasks, {"a": both, "b": both})))
    assert lines[0] == "2 clients claim task 0_0 as active: a, b; a is believed"
    assert lines[-1] == "  and 5 tasks more that several clients claim as active"
    assert len(lines) == 4
