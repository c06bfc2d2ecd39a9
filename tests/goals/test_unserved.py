"""Tests that the report names every requested goal that an assignor does not optimise, for each goal and assignor."""

from __future__ import annotations

from typing import get_args

import pytest
from altering import with_configs, with_options
from judging import make_snapshot

from optassign.assignor import assign, list_names_without_jdk
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import GoalName
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.goals.order import UNSERVED, WEIGHTED_COST, find_plan_goals
from optassign_models.policy import constants as policy

GOALS = tuple(find_plan_goals())
DEFAULT = tuple(name for name, goal in find_plan_goals().items() if not goal.is_configured)
SERVED = {"cp-sat": (*GOALS, WEIGHTED_COST), "greedy": ("load",), "goal-chain": DEFAULT}
"""Assignor → the requested goals that it optimises. Greedy balances load; other baselines have their own order."""


def asking_for(goal: str) -> ApplicationState:
    """Return a scale-out whose options request one goal, with the racks, tags and weights that goals need."""
    state = generate("scale-out", 24, 5, 1, racks=3, weights=0.5, seed=2)
    options = {"preset": "weighted"} if goal == WEIGHTED_COST else {"goals": (goal,)}
    configs = {"rack_aware_assignment_tags": ("zone",), "rack_aware_assignment_strategy": "min_traffic"}
    return with_configs(with_options(state, **options), **configs)


def list_unserved(answer: TaskAssignment) -> list[str]:
    """Return the goals that notes call not served."""
    notes = (note.removeprefix(UNSERVED) for note in answer.report.notes if note.startswith(UNSERVED))
    return [note.partition(":")[0] for note in notes]


def test_options_name_the_existing_goals() -> None:
    assert get_args(GoalName) == tuple(sorted(GOALS))


@pytest.mark.parametrize("assignor", list_names_without_jdk())
@pytest.mark.parametrize("goal", [*GOALS, WEIGHTED_COST])
def test_a_goal_is_served_or_the_report_says_that_it_is_not(goal: str, assignor: str) -> None:
    given = assign(asking_for(goal), assignor)
    is_served = goal in SERVED.get(assignor, ())
    assert list_unserved(given) == ([] if is_served else [goal])
    if is_served:
        assert goal in [row.name for row in given.report.goals]


@pytest.mark.parametrize("assignor", list_names_without_jdk())
@pytest.mark.parametrize(
    "goal", [name for name, goal in find_plan_goals().items() if goal.is_configured and goal.in_default_order]
)
def test_a_goal_that_joins_by_itself_is_served_or_reported(goal: str, assignor: str) -> None:
    asked = asking_for(goal)
    state = with_options(asked, goals=None)
    assert (goal in list_unserved(assign(state, assignor))) == (goal not in SERVED.get(assignor, ()))


@pytest.mark.parametrize("assignor", list_names_without_jdk())
def test_the_default_order_needs_no_note(assignor: str) -> None:
    assert list_unserved(assign(generate("scale-out", 24, 5, 1, seed=2), assignor)) == []


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_no_assignor_serves_goals_without_their_data(assignor: str) -> None:
    """The snapshot has racks of some clients and of no partition."""
    clients = {"a": {"active": "0_0 0_1", "rack": "r1"}, "b": {}}
    tasks = dict.fromkeys(("0_0", "0_1"), "unlogged")
    given = assign(make_snapshot(tasks, clients, rack_aware_assignment_strategy="min_traffic"), assignor)
    assert list_unserved(given) == ["rack_traffic"]
    assert assignor == "greedy" or any("racks of some clients are not known" in note for note in given.report.notes)


def test_unknown_racks_of_partitions_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = {"a": {"active": "0_0 0_1", "rack": "r1"}, "b": {"rack": "r2"}}
    given = assign(
        make_snapshot(dict.fromkeys(("0_0", "0_1"), "unlogged"), clients, rack_aware_assignment_strategy="min_traffic")
    )
    assert list_unserved(given) == ["rack_traffic"]


@pytest.mark.parametrize("goal", ["load", "active_moves", "disk", WEIGHTED_COST])
def test_goals_too_large_for_the_joint_model_are_reported(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over copies and load are optimised at every size; `disk` only if trades come near its bound."""
    monkeypatch.setattr(policy, "SMALL_PAIRS", 10)
    given = assign(asking_for(goal))
    is_far = any(row.bound is not None and row.value > 1.02 * row.bound for row in given.report.goals if row.name == "disk")
    assert list_unserved(given) == ([goal] if goal == "disk" and is_far else [])


@pytest.mark.parametrize("goal", ["tag_spread", "active_moves", WEIGHTED_COST])
def test_goals_left_out_for_lack_of_time_are_reported(goal: str) -> None:
    given = assign(asking_for(goal), time_limit=0.0)
    assert given.report.termination.reason == "limit"
    assert list_unserved(given) == [goal]
