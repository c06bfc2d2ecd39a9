"""Tests of operators' limits in the program: no allowed placement is below the bound, and the result keeps the limits."""

from __future__ import annotations

import random
from typing import Any

import pytest
from altering import with_options
from enumeration import Tiny
from seeds import take_few
from targets import find_least_sum
from tiny import draw_tiny_state
from tiny_limits import draw_limits
from tiny_placements import to_placement

from optassign.assignor import assign
from optassign.generating import generate
from optassign.judging.validation import validate
from optassign.translating.snapshot import read_situation
from optassign_models.limits import list_broken
from optassign_models.policy import constants as policy
from optassign_models.shares import compute_shares
from optassign_models.target.question import Question, express_in_changelogs, weigh

WEIGHTS = (1_000_000, 100_000, 1_000)


@pytest.mark.parametrize("first", take_few(range(0, 300, 10), 6))
def test_enumeration_finds_nothing_better_that_keeps_the_limits(first: int) -> None:
    met = 0
    for seed in range(first, first + 10):
        tiny = Tiny(draw_tiny_state(seed, most=200))
        problem = read_situation(tiny.state).problem
        shares, limits = compute_shares(problem), draw_limits(random.Random(seed), problem)
        every = [to_placement(tiny, problem, c) for c in tiny.enumerate_all()]
        kept = [placed for placed in every if not list_broken(limits, placed)]
        found = find_least_sum(problem, shares, WEIGHTS, limits)
        if not kept:
            assert found.placement is None, f"seed {seed}"
            met += 1
            continue
        question = Question(express_in_changelogs(problem), shares, (weigh(WEIGHTS),))
        least = min(question.evaluate(placed)[0] for placed in kept)
        assert found.bounds[0] <= least, f"seed {seed}"
        assert found.placement is not None, f"seed {seed}"
        assert least <= found.values[0]
        met += found.values[0] == least
    assert met == 10


@pytest.mark.parametrize("options", [{}, {"preset": "weighted"}, {"goals": ("standby_migrations", "restore_work")}])
def test_large_groups_keep_limits_at_the_least_cost(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The test lowers the limits of CP-SAT; the weighted sum under limits is proven, and no less than without."""
    monkeypatch.setattr(policy, "SMALL_PAIRS", 10)
    monkeypatch.setattr(policy, "CP_SAT_VARIABLES", 0)
    made = generate("scale-out", 60, 6, 1, warmups=8, seed=2)
    first, last = made.clients[0].process_id, made.clients[-1].process_id
    limits = [
        {"kind": "pin", "tasks": [made.tasks[0].id], "clients": [last]},
        {"kind": "forbid", "subtopologies": ["1"], "clients": [first]},
    ]
    state = with_options(made, limits=limits, **options)
    given = assign(state)
    assert validate(state, given) == []
    assert given.report.termination.reason != "fallback"
    assert not any(row.gave_way for row in given.report.limits)
    free = assign(with_options(made, **options))
    if options.get("preset") == "weighted":
        rows = [next(goal for goal in answer.report.goals if goal.name == "weighted_cost") for answer in (given, free)]
        assert rows[0].proven
        assert rows[0].value >= rows[1].value
