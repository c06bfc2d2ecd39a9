"""The program of the target in arrays: its points are the placements that the rules allow, whatever is minimised."""

from __future__ import annotations

import numpy as np
import pytest
from enumeration import Tiny
from seeds import few_of
from tiny import tiny_state

from optassign.translating.snapshot import read_situation
from optassign_models.deadline import Deadline
from optassign_models.forced import prepare
from optassign_models.goals import DEFAULT_ORDER, evaluate
from optassign_models.pools import find_zones
from optassign_models.shares import compute_shares, count_copies
from optassign_models.target.deal import deal_places
from optassign_models.target.highs import is_infeasible, search
from optassign_models.target.objectives import Objective, price
from optassign_models.target.statement import state_target
from optassign_models.target.variables import Allowed, Scope


@pytest.mark.parametrize("first", few_of(range(0, 200, 10), 6))
def test_a_point_of_the_program_is_a_placement_within_the_shares(first: int) -> None:
    dealt = 0
    for seed in range(first, first + 10):
        tiny = Tiny(tiny_state(seed, most=200))
        problem, forced = prepare(read_situation(tiny.state).problem)
        shares = compute_shares(problem)
        zones, apart = find_zones(problem, ()), np.zeros(problem.G * problem.C, dtype=np.bool_)
        scope = Scope(problem, forced, shares, zones, Allowed.anywhere(problem, zones), apart, is_soft=False)
        program = state_target(scope, None, DEFAULT_ORDER)
        every = tiny.all_of([tiny.placements_of(task) for task in tiny.state.tasks])
        if not any(map(tiny.balanced, every)):
            assert is_infeasible(program.matrix, Deadline.after(None)), f"seed {seed}"
            continue
        for cost in np.random.default_rng(seed).integers(0, 9, (4, len(program.matrix.low))):
            found = search(program.matrix, cost, Deadline.after(None))
            assert found is not None
            placed = deal_places(program.v, found.values).placement
            assert placed is not None
            number = np.bincount(placed.standby_task, minlength=problem.T)
            assert np.array_equal(number, np.where(problem.logged, problem.standbys, 0)), f"seed {seed}: R2"
            assert not np.any(placed.active[placed.standby_task] == placed.standby_client), f"seed {seed}: R4"
            is_within = shares.hold(count_copies(problem, placed))
            dealt += is_within
            for goal, value in zip(DEFAULT_ORDER, evaluate(problem, forced, placed).values(), strict=True):
                form = price(program, Objective(((goal, 1),)))
                assert not is_within or form.total(int(form.each @ found.values)) >= value, f"seed {seed}: {goal.name}"
    assert dealt >= 20
