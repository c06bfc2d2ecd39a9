"""Tests of each measure of an answer, of its goals and of a convergence, by hand on a few tasks.
They test `optassign.goals.plan.caught_up` and `optassign.goals.plan.moves`."""

import json
from dataclasses import asdict, fields
from typing import Any

import pytest
from judging import make_answer, make_snapshot

from optassign.formats.state import ApplicationState
from optassign.goals.order import measure_goals
from optassign.judging.convergences import Convergence, PlayedRebalance
from optassign.judging.metrics import Measures, measure
from optassign.measuring.described import list_measures
from optassign.measuring.load import Loads
from optassign.measuring.moves import count_active_moves, count_standby_migrations
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.spread import count_rack_crossings, count_tag_values

MAX = 2**63 - 1


def scaling_out(**more: Any) -> ApplicationState:
    """Return a group in which a runs all tasks, b has the standbys, 40 and 5 offsets behind, and c has just joined."""
    clients = {
        "a": {"active": "0_0 0_1 1_0", "lags": {"0_0": -2, "0_1": -2}},
        "b": {"standby": "0_0 0_1", "lags": {"0_0": 40, "0_1": 5}},
        "c": {},
    }
    return make_snapshot({"0_0": 100, "0_1": 100, "1_0": "stateless"}, clients, **{"num_standby_replicas": 1, **more})


FIRST = make_answer(
    {"a": "0_0 | ", "b": "0_1 | 0_0", "c": "1_0 | 0_1 | 0_0 !"}, plan={"a": " | 0_0", "b": "0_1", "c": "0_0 1_0 | 0_1"}
)


def test_every_measure_of_one_answer() -> None:
    found = measure(scaling_out(), FIRST)
    assert found.violations == {"R5": 1, "R8": 1}  # a is caught up on 0_1 and has no copy of it; c requests the follow-up
    assert found.spread == {
        "active": 0.0,
        "stateful_active": 1.0,
        "copies": 1.0,
        "subtopology_active": 1.0,
        "subtopology_copies": 1.0,
    }
    assert found.balanced
    assert set(found.imbalance.values()) == {0}
    assert found.subtopology_balance == 1  # two clients execute 0, one executes 1
    assert (found.active_moves, found.active_moves_logged, found.standby_migrations) == (2, 1, 1)
    assert (found.restore_work, found.copies_not_caught_up, found.actives_not_caught_up) == (40 + 100, 2, 0)
    assert (found.warmups, found.warmup_work) == (1, 100)
    assert (found.tag_values_reached, found.tag_values_reachable) == (0, 0)
    assert found.rack_crossings is None
    assert found.weighted_load == 1.0
    assert json.loads(json.dumps(asdict(found)))["violations"] == {"R5": 1, "R8": 1}


def test_goal_values_of_an_answer_and_its_plan() -> None:
    assert measure_goals(scaling_out(), FIRST) == {
        "plan": {
            # 40 for (0_0, b), by this answer only; 100 for (0_0, c), by the plan only; 100 for (0_1, c), by both.
            "restore_work": 240,
            "copies_not_caught_up": 3,
            "actives_not_caught_up": 1,
            "active_migrations": 3,
            "standby_migrations": 2,
        },
        "rebalance": {
            "copies_on_target": 4,  # including (0_0, a), a standby by the plan
            "restore_work_off_target": 40,
            "actives_on_target": 2,
            "active_moves": 2,
            "active_imbalance": 0,
        },
    }


def test_an_answer_without_plan_is_its_plan() -> None:
    given = make_answer({"a": "0_0 0_1 1_0", "b": " | 0_0 0_1", "c": ""})
    found = measure_goals(scaling_out(), given)
    assert found["plan"] == {
        "restore_work": 40, "copies_not_caught_up": 1, "actives_not_caught_up": 0, "active_migrations": 0,
        "standby_migrations": 0,
    }  # fmt: skip
    # The counts are 3, 0, 0 with shares of 1 each; of stateful subtopology 0 they are 2, 0, 0 with at most 1 each.
    assert found["rebalance"] == {
        "copies_on_target": 5, "restore_work_off_target": 0, "actives_on_target": 3, "active_moves": 0,
        "active_imbalance": (3 + 1 + 1) + 1 + 1,
    }  # fmt: skip


def test_a_copy_on_the_right_client_counts_in_any_role_and_an_active_in_its_own() -> None:
    given = make_answer({"a": "0_0 | 0_1", "b": "0_1 | 0_0", "c": "1_0"}, plan={"a": "0_1 | 0_0", "b": "0_0 | 0_1", "c": "1_0"})
    found = measure_goals(scaling_out(), given)["rebalance"]
    assert (found["copies_on_target"], found["actives_on_target"], found["restore_work_off_target"]) == (5, 1, 0)


def test_sums_may_leave_int64() -> None:
    tasks = {f"0_{i}": MAX for i in range(3)}
    state = make_snapshot(tasks, {"a": {"0_0": MAX}, "b": {}})
    found = measure(state, make_answer({"a": "0_0", "b": "0_1 0_2"}))
    assert (found.restore_work, found.copies_not_caught_up, found.actives_not_caught_up) == (3 * MAX, 3, 3)
    assert measure_goals(state, make_answer({"a": "0_0", "b": "0_1 0_2"}))["plan"]["restore_work"] == 3 * MAX


# ---------------------------------------------------------------------------------------------------------- moves


@pytest.mark.parametrize(
    ("a", "b", "to", "moves"),
    [("0_0", "", "a", 0), ("0_0", "", "b", 1), ("", "", "b", 0), ("0_0", "0_0", "b", 0), ("0_0", "0_0", "c", 1)],
    ids=["kept", "moved", "without owner", "either of two owners", "neither of two owners"],
)
def test_active_moves(a: str, b: str, to: str, moves: int) -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"active": a}, "b": {"active": b}, "c": {"standby": "0_0"}})
    assert count_active_moves(state, TaskPlacement.of(state, make_answer({to: "0_0"}))) == moves


def test_a_task_left_out_has_not_moved() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"active": "0_0"}})
    assert measure(state, make_answer({"a": ""})).active_moves == 0


@pytest.mark.parametrize(
    ("clients", "remembered", "moves"),
    [
        ({"a": "", "b": "", "c": ""}, None, 0),  # new task: no copy anywhere
        ({"a": "0_0", "b": "", "c": ""}, None, 2),
        ({"a": "0_0", "b": " | 0_0", "c": ""}, None, 1),
        ({"a": "0_0", "b": " | 0_0", "c": " | 0_0"}, None, 0),  # directories count as standbys without memory
        ({"a": "0_0", "b": " | 0_0", "c": " | 0_0"}, {"a": "0_0", "b": " | 0_0"}, 1),
        ({"a": "", "b": "", "c": ""}, {"a": "0_0", "c": " | 0_0"}, 1),
        ({"a": "", "b": "", "c": ""}, {"gone": "0_0"}, 2),
        ({"a": "", "b": "", "c": ""}, {"a": ""}, 0),
        ({"a": "", "b": "0_0", "c": " | 0_0"}, None, 1),  # the active becomes a standby
    ],
)
def test_standby_migrations(clients: dict[str, str], remembered: dict[str, str] | None, moves: int) -> None:
    previous = {}
    for name, text in clients.items():
        active, _, standby = text.partition("|")
        previous[name] = {"active": active, "standby": standby}
    state = make_snapshot({"0_0": 100}, previous, remembered=None if remembered is None else make_answer(remembered))
    assert (
        count_standby_migrations(state, TaskPlacement.of(state, make_answer({"a": "0_0", "b": " | 0_0", "c": " | 0_0"})))
        == moves
    )


# ------------------------------------------------------------------------------------------------ racks, tags, load


def test_rack_crossings_are_of_sources_for_actives_and_of_changelogs_for_standbys() -> None:
    tasks = {
        "0_0": {"partitions": [{"racks": ["r1"]}, {"racks": ["r1", "r2"]}, {"changelog": True, "racks": ["r2"]}]},
        "1_0": {"stateful": False, "partitions": [{"racks": ["r3"]}]},
    }
    clients: dict[str, dict[str, Any]] = {"a": {"rack": "r1"}, "b": {"rack": "r2"}, "c": {"rack": "r3"}}
    state = make_snapshot(tasks, clients, num_standby_replicas=1)
    given = make_answer({"a": "0_0 1_0", "b": "", "c": " | 0_0"})
    assert count_rack_crossings(state, TaskPlacement.of(state, given)) == 1 + 1, "1_0 on a, and the standby of 0_0 on c"
    assert measure(state, make_answer({"a": "0_0", "b": " | 0_0", "c": "1_0"})).rack_crossings == 0
    assert measure(state, make_answer({"a": " | 0_0", "b": "1_0", "c": "0_0"})).rack_crossings == 2 + 1 + 1


@pytest.mark.parametrize(
    ("partitions", "rack"),
    [([{"racks": ["r1"]}], None), ([{"racks": []}], "r1"), ([{"racks": ["r1"]}, {}], "r1"), ([], "r1")],
)
def test_rack_crossings_are_unknown_without_all_racks(partitions: list[dict[str, Any]], rack: str | None) -> None:
    state = make_snapshot({"0_0": {"partitions": partitions}}, {"a": {"rack": "r1"}, "b": {"rack": rack, "threads": 1}})
    assert count_rack_crossings(state, TaskPlacement.of(state, make_answer({"a": "0_0"}))) is None


def test_tag_values_reached_and_reachable() -> None:
    clients = {
        "a": {"tags": {"zone": "x", "rack": "1"}},
        "b": {"tags": {"zone": "x", "rack": "2"}},
        "c": {"tags": {"zone": "y"}},
    }
    tasks = {"0_0": 100, "0_1": 100, "1_0": "stateless"}
    state = make_snapshot(tasks, clients, num_standby_replicas=2, rack_aware_assignment_tags=["zone", "rack"])
    given = TaskPlacement.of(state, make_answer({"a": "0_0 1_0", "b": " | 0_0", "c": "0_1 | "}))
    # zone: x of 0_0, y of 0_1, two reachable each; rack: 1 and 2 of 0_0, none of 0_1, two reachable each.
    assert count_tag_values(state, given) == (1 + 1 + 2 + 0, 4 + 4)


def test_weighted_load_is_per_size_in_even_spreads() -> None:
    tasks = {"0_0": {"weight": 3.0}, "0_1": {"weight": 1.0}, "0_2": {"weight": 2.0}}
    clients: dict[str, dict[str, Any]] = {"a": {"threads": 2}, "b": {"capacity": 0.5}, "c": {"draining": True}}
    state = make_snapshot(tasks, clients)
    # 6 ÷ 2.5 is less than 3, so 0_0 is oversized and takes a thread of a. The rest is 3 ÷ 1.5 = 2 per thread; b has half.
    assert Loads(state).find_greatest(TaskPlacement.of(state, make_answer({"a": "0_0 0_1", "b": "0_2"}))) == pytest.approx(2.0)
    assert Loads(state).find_greatest(TaskPlacement.of(state, make_answer({"a": "0_0 0_2", "b": "0_1"}))) == pytest.approx(1.0)
    assert Loads(state).find_greatest(TaskPlacement.of(state, make_answer({"a": "", "c": "0_0 0_1 0_2"}))) == pytest.approx(
        1 + 3 / 2
    )
    assert Loads(state).find_greatest(TaskPlacement.of(state, make_answer({}))) == 1.0


# ------------------------------------------------------------------------------------------------------- over time


def play(*moved: list[str], followup: bool = False) -> Convergence:
    """Return a convergence whose rebalances each answer FIRST and move these tasks; with `followup` it has not ended."""
    step, seen = measure(scaling_out(), FIRST), set[str]()
    history = []
    for tasks in moved:
        repeated = sum(task in seen for task in tasks)
        history.append(PlayedRebalance(step, tuple(tasks), repeated, followup, (), False, 240, 0.5))
        seen |= set(tasks)
    return Convergence(tuple(history), FIRST, None if followup else history[-1], not followup, None)


def test_measures_over_time() -> None:
    once, twice = play(["0_1", "1_0"], followup=True), play(["0_1", "1_0"], [])
    assert (once.rebalances, once.settled, once.stable, sum(once.violations.values())) == (1, False, False, 2)
    assert (twice.rebalances, twice.settled, twice.stable, sum(twice.violations.values())) == (2, True, True, 6)
    assert (once.answers, twice.answers) == (1, 3)
    assert (twice.restored_offsets, twice.standby_migrations) == (2 * 240, 2)
    assert (twice.seconds, twice.total_seconds) == (0.5, 1.0)
    assert twice.imbalance == 2 * sum(measure(scaling_out(), FIRST).imbalance.values())


def test_moves_of_each_task_are_counted_over_all_answers() -> None:
    played = play(["0_1", "1_0"], ["0_0", "1_0"], ["1_0", "0_0"])
    assert (played.moved_active, played.moved_logged) == (6, 3)
    assert (played.moved_more_than_once, played.moves_repeated) == (2, 1 + 2)
    assert played.moves_repeated == sum(each.moves_repeated for each in played.history)


def test_every_measure_is_described_and_in_json_by_its_name() -> None:
    described = {measure.name: measure for measure in list_measures(Convergence)}
    assert described["moved_more_than_once"].unit == "tasks"
    assert described["moved_more_than_once"].meaning == "tasks that moved in more than one rebalance"
    assert set(described) < set(play(["0_0"]).as_json())
    assert all(measure.meaning for record in (Convergence, Measures) for measure in list_measures(record))
    assert {measure.name for measure in list_measures(Measures)} == {field.name for field in fields(Measures)}
