"""Tests of the flow of copies, which bounds the first goals of groups whose program takes too long."""

from __future__ import annotations

import numpy as np
import pytest
from enumeration import Tiny
from targets import make_effort
from tiny import draw_tiny_state
from tiny_placements import to_placement

from optassign.assignor import assign
from optassign.formats.assignment import GoalReport
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.judging.validation import validate
from optassign.translating.snapshot import read_situation
from optassign_models.flows import find_cheapest_copies
from optassign_models.goals import evaluate
from optassign_models.goals.goal import COPIES_NOT_CAUGHT_UP, RESTORE_WORK
from optassign_models.policy import constants as policy
from optassign_models.problem import make_placement
from optassign_models.shares import allow_any_counts, count_copies
from optassign_models.solving.method import make_case
from optassign_models.solving.solver_methods import make_target_method

_GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP)


@pytest.mark.parametrize("seed", [*range(0, 120, 2), 268, 786])
def test_no_copies_within_their_shares_cost_less_than_the_bounds(seed: int) -> None:
    tiny = Tiny(draw_tiny_state(seed, most=400))
    situation = read_situation(tiny.state)
    case = make_case(make_target_method(situation.requests.order, make_effort("auto")), situation.problem)
    problem, shares = case.problem, case.shares
    of_copies = allow_any_counts(problem)._replace(copies=shares.copies, group_copies=shares.group_copies)
    copies, bounds = find_cheapest_copies(problem, shares, _GOALS)
    values = [
        tuple(evaluate(problem, placed, _GOALS).values())
        for placed in (to_placement(tiny, problem, each) for each in tiny.enumerate_all())
        if of_copies.hold(count_copies(problem, placed))
    ]
    if values:
        assert bounds, f"seed {seed}"
        assert bounds <= min(values), f"seed {seed}"
    if copies is not None and problem.logged.any():
        assert bounds == min(values), f"seed {seed}"
        task, first = np.unique(copies // problem.C, return_index=True)
        active = np.zeros(problem.T, dtype=np.int64)
        active[task] = copies[first] % problem.C
        placed = make_placement(active, np.delete(copies, first), problem.C)
        assert of_copies.hold(count_copies(problem, placed)), f"seed {seed}"
        assert tuple(evaluate(problem, placed, _GOALS).values()) == bounds, f"seed {seed}"


def _list_first_goals(state: ApplicationState, assignor: str) -> list[GoalReport]:
    answer = assign(state, assignor)
    assert validate(state, answer) == []
    return [goal for goal in answer.report.goals if goal.stage == "plan"][:2]


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in {"cold", "steady"}])
def test_a_group_without_time_for_its_program_restores_the_proven_least(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, standbys: int
) -> None:
    state = generate(shape, 400, 40, standbys, warmups=8, seed=3)
    solved = _list_first_goals(state, "cp-sat")
    if [goal.name for goal in solved] != ["restore_work", "copies_not_caught_up"]:
        return  # balanced at once
    monkeypatch.setattr(policy, "SECONDS_PER_VARIABLE", 1.0)
    without_program, greedy = (_list_first_goals(state, assignor) for assignor in ("cp-sat", "greedy"))
    for goal, reference in zip(without_program, solved, strict=True):
        assert goal.bound is not None
        assert goal.bound <= reference.value
    assert without_program[0].value <= greedy[0].value
    report = assign(state, "cp-sat").report
    assert (report.found_by, report.proved_by) == ("greedy", "flow")
