"""Tests of the target's program: for any costs its points are placements that rules and limits allow."""

from __future__ import annotations

import random

import numpy as np
import pytest
from enumeration import Tiny
from seeds import take_few
from targets import assert_rules_kept
from tiny import draw_tiny_state
from tiny_limits import draw_limits
from tiny_placements import to_placement

from optassign.translating.snapshot import read_situation
from optassign_models.goals import DEFAULT_ORDER, evaluate
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.problem import Problem, prepare
from optassign_models.results import Deadline
from optassign_models.shares import compute_shares, count_copies
from optassign_models.target import variables
from optassign_models.target.backends import is_infeasible, search
from optassign_models.target.constraints import TargetProgram, state_target
from optassign_models.target.deal import deal_places
from optassign_models.target.question import Question, list_in_order
from optassign_models.target.solver import price
from optassign_models.target.variables import Scope

NO_DEADLINE = Deadline.after(None)


def state(problem: Problem, limits: tuple[PlacementLimit, ...]) -> TargetProgram:
    question = Question(problem, compute_shares(problem), list_in_order(DEFAULT_ORDER), limits=limits)
    return state_target(Scope.of(question))


@pytest.mark.parametrize("merge_from", [None, 0], ids=["apart", "merged"])
@pytest.mark.parametrize("first", take_few(range(0, 200, 10), 6))
def test_a_point_of_the_program_is_an_allowed_placement(
    first: int, merge_from: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if merge_from is not None:
        monkeypatch.setattr(variables, "MERGE_FROM", merge_from)
    dealt = 0
    for seed in range(first, first + 10):
        tiny = Tiny(draw_tiny_state(seed, most=200))
        problem = prepare(read_situation(tiny.state).problem)
        limits = draw_limits(random.Random(seed), problem) if seed % 2 else ()
        program = state(problem, limits)
        every = tiny.enumerate_all()
        if not any(tiny.is_balanced(each) and not list_broken(limits, to_placement(tiny, problem, each)) for each in every):
            assert merge_from is not None or is_infeasible(program.matrix, NO_DEADLINE), f"seed {seed}"
            continue
        for cost in np.random.default_rng(seed).integers(0, 9, (4, len(program.matrix.low))):
            found = search(program.matrix, cost, NO_DEADLINE)
            assert found.values is not None, f"seed {seed}"
            placed, _, not_dealt = deal_places(program.v, found.values)
            if placed is None or len(not_dealt):  # copies are missing
                assert placed is not None or merge_from is not None, f"seed {seed}"
                continue
            assert_rules_kept(problem, placed)
            if compute_shares(problem).hold(count_copies(problem, placed)) and not list_broken(limits, placed):
                dealt += 1
                for goal, value in zip(DEFAULT_ORDER, evaluate(problem, placed).values(), strict=True):
                    form = price(program, *list_in_order((goal,)))
                    assert form.total(int(form.coefficients @ found.values)) >= value, f"seed {seed}: {goal.name}"
    assert dealt >= 16


def test_the_least_of_each_goal_is_that_of_all_placements() -> None:
    for seed in range(0, 60, 3):
        tiny = Tiny(draw_tiny_state(seed, most=100))
        problem = prepare(read_situation(tiny.state).problem)
        kept = [to_placement(tiny, problem, each) for each in tiny.list_balanced()]
        program = state(problem, ())
        for goal in DEFAULT_ORDER if kept else ():
            form = price(program, *list_in_order((goal,)))
            found = search(program.matrix, form.coefficients, NO_DEADLINE)
            assert found.values is not None
            least = min(evaluate(problem, placed, (goal,))[goal.name] for placed in kept)
            assert form.total(int(form.coefficients @ found.values)) == least, f"seed {seed}: {goal.name}"
