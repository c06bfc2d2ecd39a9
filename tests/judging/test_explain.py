"""Tests of explanations: their reasons are true, and the lines of text agree with them."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pytest
from judging import draw_case, make_answer, make_snapshot

from optassign.assignor import assign
from optassign.formats.assignment import Report, TaskAssignment, Waiting
from optassign.formats.state import ApplicationState
from optassign.judging.explain import explain_answer, explain_client, explain_task
from optassign.judging.explanation import Why
from optassign.judging.explanation_text import answer_to_lines, client_to_lines, task_to_lines, waiting_to_lines
from optassign.judging.metrics import measure
from optassign.measuring.client_names import ClientNames
from optassign.measuring.placement import TaskPlacement
from optassign.utilities import identity_assignment
from optassign_benchmarks.grid import GRID

TWO_THREADS = make_snapshot(
    {"0_0": 500, "0_1": 600, "0_2": 700, "0_3": 800, "1_0": "stateless", "1_1": "stateless"},
    {
        "a": {"active": "0_0 0_1 0_2 0_3 1_0", "lags": {"0_0": -2, "0_1": -2, "0_2": -2, "0_3": -2}, "threads": 2},
        "b": {"active": "1_1", "standby": "0_1 0_2", "lags": {"0_1": 3, "0_2": 300}},
    },
)


def join_lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def test_an_active_that_moves_from_a_client_above_its_share() -> None:
    e = explain_task(TWO_THREADS, make_answer({"a": "0_0 0_2 0_3 1_0", "b": "0_1 1_1"}), "0_1")
    assert e.why_moved == "above its share"
    a, b = e.candidates
    assert (a.process_id, a.before, a.now, a.rank, a.lag, a.may_be_active) == ("a", "active", None, 0, 0, True)
    assert (b.process_id, b.before, b.now, b.rank, b.lag, b.may_be_active) == ("b", "standby", "active", 0, 3, True)
    # With 0_1, a would have 5 active tasks (share 4), 4 of them logged (share 2 to 3); b would be below its share.
    assert {(c.process_id, c.share) for c in a.binds} >= {("a", "active"), ("a", "stateful_active"), ("b", "active")}
    assert b.binds == ()
    text = join_lines(task_to_lines(e))
    assert "moving 0_1 here would leave b with 1 active task (lower bound 2)" in text
    assert "more bounds would be broken" in text
    assert "active: moves from a to b" in text
    assert "why: its client was above its share: 5 active tasks, share 4\n" in text
    assert "R3 (active on the most caught-up) allows 2 clients" in text


def test_the_share_of_a_subtopology_is_named() -> None:
    """Both clients have two active tasks, as their share: only the share of the subtopology explains the move."""
    state = make_snapshot(
        {"1_0": "stateless", "1_1": "stateless", "2_0": "stateless", "2_1": "stateless"},
        {"a": {"active": "1_0 1_1"}, "b": {"active": "2_0 2_1"}},
    )
    given = make_answer({"a": "1_0 2_0", "b": "1_1 2_1"})
    e = explain_task(state, given, "1_1")
    assert e.share is not None
    assert (e.share.process_id, e.share.subtopology, e.share.before) == ("a", "1", 2)
    message = "why: its client was above its share: 2 active tasks of subtopology 1, share 1"
    assert message in [line.strip() for line in task_to_lines(e)]
    assert [move.share for move in explain_answer(state, given).moves if move.task == "1_1"] == [e.share]


def test_clients_forbidden_by_r3_and_costs_of_moves_are_explained() -> None:
    e = explain_task(TWO_THREADS, make_answer({"a": "0_0 0_1 0_2 0_3 1_0", "b": "1_1"}), "0_2")
    b = e.candidates[1]
    assert (b.process_id, b.may_be_active, b.rank, b.cost) == ("b", False, 300, 300)
    assert e.why_moved is None
    text = join_lines(task_to_lines(e))
    assert "R3 (active on the most caught-up) allows this client only" in text
    assert "300 offsets to restore, so R3 (active on the most caught-up) excludes it" in text


def test_a_plan_and_what_it_waits_for() -> None:
    given = make_answer(
        {"a": "0_0 0_2 0_3 1_0", "b": "0_1 1_1 || 0_2!"}, plan={"a": "0_0 0_3 1_0 0_1", "b": "0_2 1_1"}
    ).model_copy(update={"report": Report(waiting=(Waiting(task="0_2", process_id="b", role="active", lag=300, slot=True),))})
    e = explain_task(TWO_THREADS, given, "0_2")
    text = join_lines(task_to_lines(e))
    assert "target: moves to b once that has caught up: 300 offsets to restore" in text
    assert "0_2 active on b: 300 offsets to go, being restored" in text
    assert "target: active" in text
    all_ = explain_answer(TWO_THREADS, given)
    assert (all_.followup_by, all_.followup_ms) == ("b", 60_000)
    assert [(c.task, c.process_id, c.role, c.offsets) for c in all_.restores] == [("0_2", "b", "warmup", 300)]
    assert all_.planned_work == 300
    assert "follow-up after 60 s, requested by b" in join_lines(answer_to_lines(all_))


def one_mover(**b: object) -> ApplicationState:
    return make_snapshot(
        {"0_0": 500},
        {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {"standby": "0_0", "lags": {"0_0": 3}, **b}},
    )


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (
            make_snapshot(
                {"0_0": 500},
                {"a": {"active": "0_0", "lags": {"0_0": -2}, "draining": True}, "b": {"0_0": 3}},
            ),
            "draining",
        ),
        (make_snapshot({"0_0": 500}, {"a": {"active": "0_0", "lags": {"0_0": 400}}, "b": {"0_0": 3}}), "lags"),
        (
            make_snapshot(
                {"1_0": "stateless", "1_1": "stateless", "1_2": "stateless", "1_3": "stateless"},
                {"a": {"active": "1_0 1_1"}, "b": {}, "c": {"active": "1_2 1_3"}},
            ),
            "to one below its share",
        ),
        (one_mover(), "goals"),
    ],
    ids=["draining", "lags", "below", "goals"],
)
def test_reasons_for_a_move(state: ApplicationState, why: Why) -> None:
    task = state.tasks[0].id
    others = {c.process_id: " ".join(t for t in c.previous_active if t != task) for c in state.clients}
    others["b"] += f" {task}"
    whole = explain_answer(state, make_answer(others))
    assert [(move.task, move.from_client, move.to_client, move.why) for move in whole.moves] == [(task, "a", "b", why)]
    e = explain_task(state, make_answer(others), task)
    assert e.why_moved == why
    assert (e.share is None) == (why != "to one below its share")


def moved_as_planned() -> ApplicationState:
    """Return the snapshot after an answer that left 0_0 on a, above its share, and warmed it up on its target b."""
    tasks = {f"0_{i}": 500 for i in range(4)}
    a = {"active": " ".join(tasks), "lags": dict.fromkeys(tasks, -2)}
    remembered = make_answer({"a": " ".join(tasks), "b": " || 0_0"}, plan={"a": "0_1 0_2 0_3", "b": "0_0"})
    return make_snapshot(tasks, {"a": a, "b": {"standby": "0_0", "lags": {"0_0": 4}}}, remembered=remembered)


def test_a_planned_move_is_explained_by_the_plan() -> None:
    """The reason is the target, not a's share, though a was above its share throughout."""
    given = make_answer({"a": "0_1 0_2 0_3", "b": "0_0"})
    state = moved_as_planned()
    assert explain_task(state, given, "0_0").why_moved == "planned"
    text = join_lines(answer_to_lines(explain_answer(state, given)))
    assert "  1: its target client has caught up\n    0_0: a → b" in text
    unplanned = state.model_copy(
        update={"remembered": make_answer({"a": "0_0 0_1 0_2 0_3"}, plan={"a": "0_0 0_2 0_3", "b": "0_1"})}
    )
    assert explain_task(unplanned, given, "0_0").why_moved == "above its share"
    forgotten = state.model_copy(update={"remembered": None})
    assert explain_task(forgotten, given, "0_0").why_moved == "above its share"


def test_an_active_on_a_third_client_is_explained() -> None:
    """Client a drains, b is caught up, and c, the target client, has all offsets to restore."""
    state = make_snapshot(
        {"0_0": 500, "0_1": 500},
        {
            "a": {"active": "0_0", "lags": {"0_0": -2}, "draining": True},
            "b": {"active": "0_1", "standby": "0_0", "lags": {"0_0": 3, "0_1": -2}},
            "c": {},
        },
    )
    given = make_answer({"a": "", "b": "0_0 0_1", "c": " || 0_0!"}, plan={"a": "", "b": "0_1", "c": "0_0"})
    (detour,) = explain_answer(state, given).detours
    assert (detour.task, detour.from_client, detour.by_way_of, detour.to_client) == ("0_0", "a", "b", "c")
    assert (detour.offsets, detour.why) == (500, "draining")
    message = "it leaves a (its client drains), and its target client c has 500 offsets to restore"
    text = join_lines(answer_to_lines(explain_answer(state, given)))
    assert f"temporary clients: 1 active task\n  0_0 on b: {message}" in text
    assert f"temporary client: {message}" in join_lines(task_to_lines(explain_task(state, given, "0_0")))
    assert explain_answer(state, make_answer({"a": "", "b": "0_1", "c": "0_0"})).detours == (), "straight to its plan"


def test_clients_are_named() -> None:
    state = make_snapshot(
        {"0_0": 500, "0_1": 500},
        {"a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}, "client_id": "orders-1"}, "b": {"host": "box:80"}},
    )
    given = make_answer({"a": "0_0 0_1", "b": " || 0_0!"}, plan={"a": "0_1", "b": "0_0"})
    label = ClientNames(state).label
    lines = join_lines(task_to_lines(explain_task(state, given, "0_0"), label))
    assert "active: stays on a (orders-1)" in lines
    assert "target: moves to b (box:80)" in lines
    assert "client a (client.id orders-1, 1 thread)" in join_lines(client_to_lines(explain_client(state, given, "a"), label))
    assert "follow-up after 60 s, requested by b (box:80)" in join_lines(answer_to_lines(explain_answer(state, given), label))


def test_both_of_two_owners_are_named() -> None:
    running = {"0_0": -2}
    state = make_snapshot({"0_0": 5}, {"a": {"active": "0_0", "lags": running}, "b": {"active": "0_0", "lags": running}})
    found = explain_task(state, make_answer({"a": "0_0", "b": ""}), "0_0")
    assert found.owners == ("a", "b")
    assert "2 clients claim it as their active task: a, b" in join_lines(task_to_lines(found))


def test_a_client_that_has_gone() -> None:
    remembered = make_answer({"a": "0_0", "gone": "0_1"})
    state = make_snapshot(
        {"0_0": 500, "0_1": 500, "0_2": 5},
        {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {"0_1": 4}},
        remembered=remembered,
    )
    given = make_answer({"a": "0_0", "b": "0_1 0_2"})
    e = explain_answer(state, given)
    assert (len(e.moves), e.stay, e.new, e.gone) == (0, 1, 2, 1)
    assert explain_task(state, given, "0_1").why_moved == "gone"
    assert explain_task(state, given, "0_2").why_moved is None
    assert "2 had no client (1 whose client has left)" in join_lines(answer_to_lines(e))


def test_tasks_without_a_caught_up_client_are_listed() -> None:
    state = make_snapshot({"0_0": 500, "0_1": 500}, {"a": {"0_0": 100}, "b": {"0_0": 90}})
    given = make_answer({"a": "0_1", "b": "0_0"})
    assert explain_answer(state, given).not_caught_up_anywhere == ("0_0", "0_1")
    text = join_lines(task_to_lines(explain_task(state, given, "0_0")))
    assert "no client has caught up; R3 (active on the most caught-up) allows the client with the least lag" in text


def test_an_active_that_breaks_r3_is_explained_by_the_clients_that_have_caught_up() -> None:
    state = make_snapshot({"0_0": 500}, {"a": {"0_0": 100}, "b": {"0_0": 0}, "c": {"0_0": 0}}, acceptable_recovery_lag=10)
    text = join_lines(task_to_lines(explain_task(state, make_answer({"a": "0_0"}), "0_0")))
    assert "this breaks R3 (active on the most caught-up), which allows the 2 clients with the least lag" in text
    assert "no client has caught up" not in text


def test_an_active_that_r10_keeps_breaks_no_rule() -> None:
    """B had the task in the first pass, and lags behind a by no more than acceptable."""
    clients = {"a": {"standby": "0_0", "lags": {"0_0": 11}}, "b": {"lags": {"0_0": 15}}}
    remembered = make_answer({"a": "", "b": "0_0"})
    state = make_snapshot({"0_0": 100}, clients, acceptable_recovery_lag=10, remembered=remembered)
    text = join_lines(task_to_lines(explain_task(state, make_answer({"a": "", "b": "0_0"}), "0_0")))
    assert "others have less to restore, but R10 keeps it here in the second pass" in text
    assert "breaks" not in text


def test_tasks_without_a_changelog_have_no_lags() -> None:
    e = explain_task(TWO_THREADS, make_answer({"a": "0_0 0_1 0_2 0_3", "b": "1_0 1_1"}), "1_0")
    assert e.kind == "stateless"
    assert [c.lag for c in e.candidates] == [None, None]
    assert "any client may run it" in join_lines(task_to_lines(e))


def test_only_concerned_clients_of_a_large_group_are_listed() -> None:
    clients: dict[str, Any] = {f"c{i:02}": {} for i in range(30)}
    clients["c07"] = {"active": "0_0", "lags": {"0_0": -2}}
    state = make_snapshot({"0_0": 1234567, "1_0": "stateless"}, clients, num_standby_replicas=1)
    given = make_answer({name: "0_0" if name == "c07" else "| 0_0" if name == "c11" else "" for name in clients})
    e = explain_task(state, given, "0_0")
    assert [c.process_id for c in e.candidates] == ["c07", "c11"]
    assert (e.others, e.others_may_be_active, e.others_cost) == (28, False, 1234567)
    assert "and 28 others: no state of it, 1,234,567 offsets to restore" in join_lines(task_to_lines(e))


def test_gains_and_losses_of_a_client_are_explained() -> None:
    e = explain_client(TWO_THREADS, make_answer({"a": "0_0 0_1 0_3 1_0", "b": "0_2 1_1"}), "b")
    active, standby, warmup = e.roles
    assert (active.role, active.kept, active.gained, active.lost) == ("active", ("1_1",), ("0_2",), ())
    assert (standby.role, standby.kept, standby.gained, standby.lost) == ("standby", (), (), ("0_1", "0_2"))
    assert (warmup.kept, warmup.gained, warmup.lost) == ((), (), ())
    assert not e.standbys_known
    count = e.shares[0]
    assert (count.share, count.low, count.high, count.before, count.after) == ("active", 2, 2, 1, 2)
    assert [(c.task, c.offsets) for c in e.restores] == [("0_2", 300)]
    text = join_lines(client_to_lines(e))
    assert "client b (1 thread)" in text
    assert "active: 1 kept; gains 0_2" in text
    assert "standby: 0 kept; loses 0_1, 0_2 (before: by what is on its disk)" in text
    assert "active tasks: 1 → 2, share 2" in text
    assert "restores 300 offsets: 0_2 (active, 300)" in text


def test_a_client_outside_its_share_is_reported() -> None:
    e = explain_client(TWO_THREADS, make_answer({"a": "0_0 0_1 0_2 0_3 1_0", "b": "1_1"}), "a")
    assert "active tasks: 5 → 5, share 4, which it is outside of" in join_lines(client_to_lines(e))


def test_an_unknown_task_or_client_has_no_explanation() -> None:
    given = make_answer({"a": "", "b": ""})
    with pytest.raises(LookupError, match="no task 7_7"):
        explain_task(TWO_THREADS, given, "7_7")
    with pytest.raises(LookupError, match="no client z"):
        explain_client(TWO_THREADS, given, "z")


@pytest.mark.parametrize("seed", range(60))
def test_any_answer_can_be_explained_even_a_broken_one(seed: int) -> None:
    state, given = draw_case(seed)
    e = explain_answer(state, given)
    measures = measure(state, given)
    assert e.imbalance_now == sum(measures.imbalance.values())
    if all(len(now) == 1 for now in TaskPlacement.of(state, given).active.values()):
        assert len(e.moves) == measures.active_moves  # moves count tasks with two owners and tasks in transit, too
    text = list(answer_to_lines(e))
    for task in state.all_tasks:
        text += task_to_lines(explain_task(state, given, task))
    for client in state.kafka_streams_states:
        text += client_to_lines(explain_client(state, given, client))
    assert all(line and "\n" not in line for line in text)
    json.dumps(asdict(e), default=lambda model: model.model_dump())


@pytest.mark.parametrize("name", [name for name, spec in GRID if spec.shape == "scale-out" and spec.clients <= 25])
def test_numbers_are_those_of_the_measures(name: str) -> None:
    state = GRID[name].generate()
    given = TaskAssignment(assignor="identity", clients=tuple(identity_assignment(state).values()))
    e, measures = explain_answer(state, given), measure(state, given)
    assert (len(e.moves), e.stay) == (measures.active_moves, len(state.tasks) - e.new)
    assert sum(copy.offsets for copy in e.restores) == measures.restore_work + measures.warmup_work
    assert e.imbalance_on_target == e.imbalance_now == sum(measures.imbalance.values())


def test_loads_are_explained_if_load_is_balanced() -> None:
    """Two clients have all load, and a third has joined."""
    tasks = {f"0_{i}": {"stateful": False, "weight": 1.0 + i / 10} for i in range(6)}
    clients = {"a": {"active": "0_0 0_2 0_4"}, "b": {"active": "0_1 0_3 0_5"}, "c": {}}
    state = make_snapshot(tasks, clients)
    given = assign(state)
    whole = explain_answer(state, given)
    assert whole.load is not None
    assert whole.load.before == pytest.approx(3.9 / 2.5)
    assert whole.load.planned <= whole.load.allowed == pytest.approx(1.05, rel=1e-3)
    assert {move.why for move in whole.moves} == {"load"}
    text = "\n".join([*answer_to_lines(whole), *client_to_lines(explain_client(state, given, "c"))])
    assert "balanced: greatest load 1.560 → " in text
    assert "load: 0.000 → " in text
    assert "share" not in text
    stayed = next(task for task, (client,) in TaskPlacement.of(state, given).active.items() if client != "c")
    elsewhere = [c for c in explain_task(state, given, stayed).candidates if c.now is None]
    assert all(candidate.load_with_it is not None and candidate.load_with_it > 1.05 for candidate in elsewhere)


def test_copies_waited_for_are_named_with_their_lags_and_the_others_counted() -> None:
    waiting = [
        Waiting(task="0_0", process_id="a", role="active", lag=None, slot=True),
        Waiting(task="0_1", process_id="b", role="standby", lag=1_500, slot=False),
        Waiting(task="0_2", process_id="b", role="standby", lag=0, slot=False),
    ]
    lines = list(waiting_to_lines(waiting, shown=2))
    assert lines[0] == "waits for 3 copies, 1 being restored now:"
    assert "lag not known, being restored" in lines[1]
    assert "1,500 offsets to go, waits for its turn" in lines[2]
    assert lines[3:] == ["  and 1 more"]
    assert list(waiting_to_lines(waiting, shown=3))[-1].startswith("  0_2")


def test_without_any_state_no_client_is_the_fullest() -> None:
    state = make_snapshot(
        {"0_0": 0, "0_1": 0}, {"a": {}, "b": {}}, options={"limits": [{"name": "disk", "kind": "most_state", "most": 10}]}
    )
    assert explain_answer(state, make_answer({"a": "0_0", "b": "0_1"})).fullest is None


def test_a_task_without_changelog_costs_nothing_anywhere() -> None:
    state = make_snapshot({"0_0": "stateless", "1_0": 20}, {"a": {}, "b": {}}, acceptable_recovery_lag=0)
    given = make_answer({"a": "0_0", "b": "1_0"})
    assert [explain_task(state, given, task).others_cost for task in ("0_0", "1_0")] == [0, 20]
