"""Where no balanced assignment exists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from enumeration import Copies, Tiny
from targets import choose_solver, make_effort
from tiny import draw_tiny_state

from optassign.translating.snapshot import read_situation
from optassign_models.problem import Placement, Problem, make_placement
from optassign_models.shares import FamilyCounts, ShareBounds, count_copies
from optassign_models.solving.target_method import TargetMethod, find_least_imbalance


def as_placement(tiny: Tiny, copies: Copies) -> Placement:
    index = {client: c for c, client in enumerate(tiny.clients)}
    active = np.array([index[copies[task.id][0]] for task in tiny.state.tasks])
    keys = [t * len(index) + index[s] for t, task in enumerate(tiny.state.tasks) for s in copies[task.id][1]]
    return make_placement(active, np.array(keys, dtype=np.int64), len(index))


def counted(problem: Problem, placed: Placement) -> FamilyCounts:
    return count_copies(problem, placed)


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_least_imbalance_family_by_family(seed: int) -> None:
    tiny = Tiny(draw_tiny_state(seed, most=400))
    method = TargetMethod(read_situation(tiny.state).requests.order, make_effort(choose_solver(seed // 2)))
    case = method.prepare_case(read_situation(tiny.state).problem)
    problem, within = case.problem, case.shares
    # Shares that no assignment keeps: one active more is wanted of everyone.
    shut = replace(within, active=ShareBounds(within.active.high + 1, within.active.high + 1))
    solved = find_least_imbalance(replace(case, target=shut), make_effort(choose_solver(seed // 2)))
    assert solved.placement is not None
    best = min(
        shut.imbalance(counted(problem, as_placement(tiny, copies)))
        for copies in tiny.combine([tiny.list_placements(t) for t in tiny.state.tasks])
    )
    assert solved.bounds == solved.values == best, f"seed {seed}"
