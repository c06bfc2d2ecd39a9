"""Tests of the least imbalance where no balanced assignment exists."""

from __future__ import annotations

from dataclasses import replace

import pytest
from enumeration import Tiny
from targets import choose_solver, make_effort
from tiny import draw_tiny_state
from tiny_placements import to_placement

from optassign.translating.snapshot import read_situation
from optassign_models.shares import ShareBounds, count_copies
from optassign_models.solving.method import make_case
from optassign_models.solving.solver_methods import make_target_method, solve_least_imbalance


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_least_imbalance_family_by_family(seed: int) -> None:
    tiny = Tiny(draw_tiny_state(seed, most=400))
    method = make_target_method(read_situation(tiny.state).requests.order, make_effort(choose_solver(seed // 2)))
    case = make_case(method, read_situation(tiny.state).problem)
    problem, within = case.problem, case.shares
    # No assignment keeps these shares: each client has to have one active task more.
    shut = within._replace(active=ShareBounds(within.active.high + 1, within.active.high + 1))
    solved = solve_least_imbalance(replace(case, target=shut), make_effort(choose_solver(seed // 2)))
    assert solved.placement is not None
    placements = (to_placement(tiny, problem, copies) for copies in tiny.enumerate_all())
    best = min(shut.imbalance(count_copies(problem, placed)) for placed in placements)
    assert solved.bounds == solved.values == best, f"seed {seed}"
