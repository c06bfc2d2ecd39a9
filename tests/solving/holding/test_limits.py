"""Tests of operators' limits: both assignors keep them where possible, on the way and at rest, and explain exceptions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from altering import with_options
from holding import ASSIGNORS, list_actives, list_owners, play
from pydantic import ValidationError

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import Limit, Options
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.judging.validation import validate
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.simulation.successors import make_restored_snapshot


def draw_limits(dice: random.Random, state: ApplicationState) -> list[dict[str, Any]]:
    ids, tasks = [client.process_id for client in state.clients], [task.id for task in state.tasks]
    limits = []
    for _ in range(dice.randint(1, 3)):
        kind = dice.choice(["most_active_moves", "most_copies", "most_state", "pin", "forbid"])
        some = sorted(dice.sample(ids, dice.randint(1, max(1, len(ids) // 2))))
        limit: dict[str, Any] = {"kind": kind}
        if kind in ("pin", "forbid"):
            limit |= {"clients": some, "tasks": sorted(dice.sample(tasks, dice.randint(1, 4)))}
        elif kind == "most_active_moves":
            limit["most"] = dice.randint(1, 4)
        elif kind == "most_copies":
            limit |= {"most": dice.randint(1, 2 * len(tasks)), "clients": some}
        else:
            limit |= {"most": dice.randint(0, 30) * 100_000, "clients": some}
        limits.append(limit)
    return limits


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("seed", range(12))
def test_a_group_reaches_all_limits_that_have_not_given_way(assignor: str, seed: int) -> None:
    dice = random.Random(seed)
    state = generate(dice.choice(["steady", "scale-out", "cold"]), 18, dice.randint(3, 5), dice.randint(0, 1), seed=seed)
    state = with_options(state, limits=draw_limits(dice, state))
    what = (seed, state.options.limits)
    played = play(state, assignor)  # validates every answer
    rows = played[-1][1].report.limits
    assert len(rows) == len(state.options.limits), what
    assert all(row.kept or row.gave_way for row in rows), (what, rows)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_pin_and_a_forbidden_place_are_reached_without_downtime(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    there, not_there = state.clients[2].process_id, state.clients[0].process_id
    limits = [
        {"kind": "pin", "tasks": ["0_1"], "clients": [there]},
        {"kind": "forbid", "subtopologies": ["1"], "clients": [not_there]},
    ]
    played = play(with_options(state, limits=limits), assignor)
    last = played[-1][1]
    assert list_actives(last)["0_1"] == there
    placed = TaskPlacement.of(state, last)
    assert not any(not_there in placed.copies(task.id) for task in state.tasks if task.id.startswith("1_"))
    assert all(row.kept for row in last.report.limits)


@pytest.mark.parametrize("solver", ["auto", "cp-sat", "highs"])
def test_the_weighted_sum_is_minimised_inside_the_limits(solver: str) -> None:
    state = with_options(generate("scale-out", 12, 3, 1, seed=1), preset="weighted", solver=solver)

    def minimise(limit: dict[str, Any]) -> tuple[float, TaskPlacement]:
        limited = with_options(state, limits=[limit])
        answer = assign(limited, "cp-sat")
        assert not answer.report.limits[0].gave_way
        (cost,) = (goal for goal in answer.report.goals if goal.name == "weighted_cost")
        assert cost.proven
        return cost.value, planned_placement(limited, answer)

    free, plan = minimise({"kind": "most_copies", "most": 24})
    (owner,) = plan.active["0_1"]
    elsewhere = [client.process_id for client in state.clients if client.process_id not in plan.copies("0_1")]
    costs_nothing, _ = minimise({"kind": "forbid", "tasks": ["0_1"], "clients": elsewhere})
    assert costs_nothing == free
    dear, moved = minimise({"kind": "forbid", "tasks": ["0_1"], "clients": [owner]})
    assert owner not in moved.copies("0_1")
    assert dear > free


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_group_that_a_pin_keeps_from_its_best_load_rests(assignor: str) -> None:
    """A target without the pin would be far better, but no allowed target gains enough to be worth moves."""
    state = generate("steady", 24, 4, 1, weights=0.5, seed=1)
    pinned = [task.id for task in state.tasks][::3]
    limits = [{"kind": "pin", "tasks": pinned, "clients": [state.clients[2].process_id]}]
    played = play(with_options(state, limits=limits), assignor)
    again = make_restored_snapshot(*played[-1])
    answer = assign(again, assignor)
    assert (answer.report.termination.reason, answer.report.notes) == ("rest", ()), "at once, without a search"
    assert list_actives(answer) == list_owners(again)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_moves_are_made_a_few_at_a_time(assignor: str) -> None:
    state = generate("steady", 40, 5, 1, seed=4)
    state = with_options(state, drain=[state.clients[0].process_id], limits=[{"kind": "most_active_moves", "most": 2}])
    played = play(state, assignor)
    moves = []
    for before, answer in played:
        owners, actives = list_owners(before), list_actives(answer)
        moves.append(sum(actives[task] != client for task, client in owners.items()))
    assert max(moves) == 2
    assert sum(moves) >= 8
    assert played[-1][1].report.drains[0].may_stop


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_restored_warmup_keeps_its_slot_until_its_task_may_move(assignor: str) -> None:
    state = generate("scale-out", 36, 4, 0, warmups=3, stateless=0.5, seed=2)
    limited = with_options(state, limits=[{"kind": "most_active_moves", "most": 1}])
    answers = [answer for _, answer in play(limited, assignor)]
    for before, after in pairwise(answers):
        given_up = set(list_copies(before, ("warmup",))) - set(list_copies(after, ("active", "standby", "warmup")))
        assert not given_up, "state is lost, and restored again"
    assert len(answers) > len(play(state, assignor))


def list_copies(answer: TaskAssignment, roles: Sequence[str]) -> list[tuple[str, str]]:
    """Return task and client of each copy in these roles."""
    return [(str(task), client.process_id) for client in answer.clients for role in roles for task in getattr(client, role)]


@pytest.mark.parametrize(
    ("limit", "place"),
    [
        ({"kind": "most_active_moves", "most": 0}, "most"),
        ({"kind": "most_copies"}, "most"),
        ({"kind": "pin", "tasks": ["0_1"]}, "clients"),
        ({"kind": "pin", "most": 3, "clients": ["a"]}, "most"),
        ({"kind": "most_copies", "most": 3, "tasks": ["0_1"]}, "tasks"),
        ({"kind": "most_active_moves", "most": 3, "tags": {"zone": "a"}}, "tags"),
        ({"kind": "forbid", "tasks": ["0-1"], "clients": ["a"]}, "tasks"),
        ({"kind": "pinned", "clients": ["a"]}, "kind"),
    ],
)
def test_an_invalid_limit_is_refused_with_its_place(limit: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as error:
        Limit.model_validate(limit)
    assert place in str(error.value)


def test_two_limits_of_one_name_are_refused() -> None:
    limit = {"kind": "most_copies", "most": 3, "name": "a"}
    with pytest.raises(ValidationError):
        Options.model_validate({"limits": [limit, limit]})


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_the_last_limit_gives_way_and_the_report_names_the_conflict(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    one, two = state.clients[1].process_id, state.clients[2].process_id
    pins = [{"kind": "pin", "name": name, "tasks": ["0_1"], "clients": [client]} for name, client in (("a", one), ("b", two))]
    other = {"kind": "most_copies", "name": "c", "most": 40}
    rows = {row.name: row for row in assign(with_options(state, limits=[*pins, other]), assignor).report.limits}
    assert not rows["a"].gave_way
    assert rows["b"].gave_way
    why = "it cannot hold" if assignor == "cp-sat" else "no placement was found that keeps it"  # greedy proves nothing
    assert rows["b"].why == f"{why} together with a (0_1 active on {one} only)"
    assert rows["c"].kept
    turned = {row.name: row.gave_way for row in assign(with_options(state, limits=pins[::-1]), assignor).report.limits}
    assert turned == {"b": False, "a": True}


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_live_rebalance_always_gets_an_answer(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    state = with_options(state, limits=[{"kind": "most_copies", "most": 0}, {"kind": "pin", "clients": ["nobody"]}])
    answer = assign(state, assignor)
    assert validate(state, answer) == []
    assert [row.gave_way for row in answer.report.limits] == [True, True]
    proven = "no placement of all tasks can keep it"
    why = proven if assignor == "cp-sat" else "no placement was found that keeps it"  # greedy proves nothing
    assert {row.why for row in answer.report.limits} == {why}
    assert answer.report.balanced, "what cannot hold costs nothing else"


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_shares_give_way_before_limits(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    state = with_options(state, limits=[{"kind": "most_copies", "most": 3, "clients": [state.clients[0].process_id]}])
    last = play(state, assignor)[-1][1]
    assert last.report.limits[0].kept
    assert not last.report.balanced


def test_the_validator_finds_breaches_that_the_report_hides() -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    plain = assign(state, "cp-sat")
    first = state.clients[0].process_id
    task = plain.by_process_id[first].active[0]
    broken = {
        "most_copies": {"kind": "most_copies", "most": 1},
        "most_state": {"kind": "most_state", "most": 1},
        "pin": {"kind": "pin", "tasks": [task], "clients": [state.clients[1].process_id]},
        "forbid": {"kind": "forbid", "tasks": [task], "clients": [first]},
    }
    for kind, limit in broken.items():
        limited = with_options(state, limits=[limit])
        found = [violation for violation in validate(limited, plain) if violation.rule == "limit"]
        assert found, kind
        assert kind in found[0].message
    assert validate(with_options(state, limits=[{"kind": "most_copies", "most": 100}]), plain) == []


def test_moves_count_for_the_validator() -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    drained = assign(with_options(state, drain=[state.clients[0].process_id]), "cp-sat")
    limited = with_options(state, limits=[{"kind": "most_active_moves", "most": 1}])
    assert any(violation.rule == "limit" for violation in validate(limited, drained))


@pytest.mark.parametrize("assignor", ["goal-chain", "sticky"])
def test_a_baseline_reports_that_it_ignores_limits(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    state = with_options(state, limits=[{"kind": "most_copies", "most": 100, "name": "room"}])
    report = assign(state, assignor).report
    assert any(note.startswith("limit not served: room (at most 100 copies on every client)") for note in report.notes)
    assert report.limits == ()


def test_a_baseline_reports_that_it_ignores_pauses() -> None:
    state = with_options(generate("scale-out", 24, 4, 1, seed=3), hold="paused")
    assert "hold not served: baselines follow rules of their own" in assign(state, "sticky").report.notes


def test_the_plan_with_limits_is_no_better_than_without() -> None:
    """A balanced target under limits restores at least as much as one without, and its bound is valid."""

    def find_work(answer: TaskAssignment) -> tuple[float, float | None]:
        (row,) = [goal for goal in answer.report.goals if goal.name == "restore_work" and goal.stage in ("plan", "now")]
        return row.value, row.bound

    state = generate("scale-out", 24, 4, 1, seed=2)
    free, _ = find_work(assign(state, "cp-sat"))
    forbid = {"kind": "forbid", "subtopologies": ["0"], "clients": [state.clients[1].process_id]}
    limited = with_options(state, limits=[forbid])
    answer = assign(limited, "cp-sat")
    work, bound = find_work(answer)
    assert bound is None or bound <= work
    assert work >= free or not answer.report.balanced
    placed = planned_placement(limited, answer)
    assert not any(state.clients[1].process_id in placed.copies(t.id) for t in state.tasks if t.id.startswith("0_"))
