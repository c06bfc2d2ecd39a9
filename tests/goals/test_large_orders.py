"""Tests of orders of goals for groups too large for CP-SAT: the limit of CP-SAT is lowered, so the relaxation decides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from altering import with_configs, with_options
from enumeration import Tiny
from tiny import draw_tiny_state
from tiny_placements import to_copies

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.goals.order import UNSERVED
from optassign.judging.validation import validate
from optassign.measuring.placement import planned_placement
from optassign.simulation.convergence import converge
from optassign_models.goals import DEFAULT_ORDER
from optassign_models.policy import constants as policy

DEFAULT = tuple(goal.name for goal in DEFAULT_ORDER)
ORDERS = [
    ("active_migrations", "restore_work", "copies_not_caught_up", "actives_not_caught_up", "standby_migrations"),
    ("standby_migrations", "actives_not_caught_up", "active_migrations", "restore_work", "copies_not_caught_up"),
    ("copies_not_caught_up", "active_migrations"),
]
ORDER = ("standby_migrations", "restore_work", "copies_not_caught_up")


@pytest.fixture(autouse=True)
def _every_group_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "SMALL_PAIRS", 10)
    monkeypatch.setattr(policy, "CP_SAT_VARIABLES", 0)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_goals_are_optimised_in_the_requested_order(order: tuple[str, ...]) -> None:
    """Targets of tiny snapshots have the best values of all balanced targets, goal after goal."""
    looked = 0
    for seed in range(40):
        state = with_options(draw_tiny_state(seed, most=300), goals=order)
        if len(state.tasks) * len(state.clients) <= 10:
            continue
        given = assign(state)
        if given.plan is None:
            continue
        tiny = Tiny(state)
        at = [DEFAULT.index(goal) for goal in order]
        best = min((tuple(tiny.measure_plan(plan)[i] for i in at) for plan in tiny.list_balanced()), default=None)
        if best is None:
            continue
        values = tiny.measure_plan(to_copies(planned_placement(state, given)))
        assert tuple(values[i] for i in at) == best, f"seed {seed}"
        rows = [goal for goal in given.report.goals if goal.stage == "plan"][: len(order)]
        assert [goal.name for goal in rows] == list(order)
        assert all(goal.bound is None or goal.bound <= goal.value for goal in rows), f"seed {seed}"
        looked += 1
    assert looked >= 4


def list_configs(goal: str) -> dict[str, object]:
    """Return the configs that a goal needs in a snapshot."""
    if goal == "tag_spread":
        return {"rack_aware_assignment_tags": ("zone",)}
    return {"rack_aware_assignment_strategy": "min_traffic"} if goal.startswith("rack") else {}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "goals",
    [ORDER, ("active_moves", *ORDER), ("rack_traffic", *DEFAULT), ("rack_cost", *ORDER), ("restore_work", "tag_spread")],
    ids="-".join,
)
def test_every_goal_is_optimised_and_the_group_comes_to_rest(shape: Shape, goals: Sequence[str]) -> None:
    state = ask(generate(shape, 40, 6, 1, racks=3, warmups=8, seed=3), goals)
    given = assign(state)
    assert validate(state, given) == []
    assert given.report.termination.reason != "fallback"
    assert not [note for note in given.report.notes if note.startswith(UNSERVED)]
    rows = [goal for goal in given.report.goals if goal.stage == "plan" and goal.name in goals]
    assert all(goal.proven for goal in rows), rows
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"


def ask(state: ApplicationState, goals: Sequence[str]) -> ApplicationState:
    configs = {name: value for goal in goals for name, value in list_configs(goal).items()}
    return with_options(with_configs(state, **configs), goals=tuple(goals))


def test_a_goal_that_is_no_sum_over_copies_is_reported() -> None:
    given = assign(ask(generate("scale-out", 40, 6, 1, seed=3), ("standby_migrations", "disk")))
    unserved = [note for note in given.report.notes if note.startswith(UNSERVED)]
    assert [note.split(": ")[1] for note in unserved] == ["disk"]


def test_without_time_for_the_program_the_default_order_answers_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "SECONDS_PER_VARIABLE", 1.0)
    given = assign(ask(generate("scale-out", 40, 6, 1, seed=3), ORDER))
    unserved = [note for note in given.report.notes if note.startswith(UNSERVED)]
    assert [note.split(": ")[1] for note in unserved] == list(ORDER)
    assert all("no time" in note for note in unserved)


def value_first(given: TaskAssignment) -> float:
    """Return the value of the first goal, in the plan or, without one, now."""
    return next(goal.value for goal in given.report.goals if goal.stage in ("plan", "now"))


@pytest.mark.parametrize("shape", ["scale-out", "partial"])
def test_if_copies_cannot_be_dealt_the_plan_is_near_the_programs(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """One round must do: in these groups the places of the program cannot all be dealt to tasks."""
    monkeypatch.setattr(policy, "POOLED_ROUNDS", 1)
    monkeypatch.setattr(policy, "SEPARATION_ROUNDS", 1)
    monkeypatch.setattr(policy, "ALL_PAIRS", 0)
    state = ask(generate(shape, 120, 12, 2, warmups=2, racks=3, seed=122), ("rack_cost", *DEFAULT))
    given = assign(state)
    assert validate(state, given) == []
    assert not [note for note in given.report.notes if note.startswith(UNSERVED)]
    assert value_first(given) < 0.75 * value_first(assign(state, "greedy"))


def test_without_time_for_the_program_copies_are_spread_as_greedy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ask(generate("scale-out", 40, 6, 1, racks=3, seed=3), ("tag_spread", *DEFAULT))
    greedy = value_first(assign(state, "greedy"))
    monkeypatch.setattr(policy, "SECONDS_PER_VARIABLE", 1.0)
    assert value_first(assign(state)) == greedy == sum(task.logged for task in state.tasks) * 2
