"""Tests of orders of goals with tags, racks and limits: enumeration of tiny groups agrees with values and bounds."""

from __future__ import annotations

import random

import pytest
from enumeration import Tiny
from seeds import take_few
from targets import choose_solver, find_target, make_effort
from tiny import draw_tiny_state, put_in_racks
from tiny_limits import draw_limits
from tiny_placements import to_placement

from optassign.formats.state import ApplicationState
from optassign.goals.order import goal_order
from optassign.translating.snapshot import read_situation
from optassign_models.goals import evaluate, find_goals
from optassign_models.limits import list_broken
from optassign_models.problem import prepare
from optassign_models.shares import compute_shares, count_copies

_GOALS = (
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "active_moves",
    "standby_migrations",
)


def draw_state(seed: int, dice: random.Random) -> ApplicationState:
    """Draw a tiny group with racks, two tags and any order of goals."""
    state = put_in_racks(draw_tiny_state(seed, most=200), dice)
    clients = tuple(
        client.model_copy(update={"tags": {"zone": dice.choice("ab"), "cluster": dice.choice("xy")}})
        for client in state.clients
    )
    goals = [*dice.sample(("tag_spread", "rack_traffic"), dice.randint(0, 2)), *dice.sample(_GOALS, len(_GOALS))]
    if dice.random() < 0.5:
        dice.shuffle(goals)
    configs = {"rack_aware_assignment_tags": ("zone", "cluster"), "rack_aware_assignment_strategy": "min_traffic"}
    return state.model_copy(
        update={
            "clients": clients,
            "configs": state.configs.model_copy(update=configs),
            "options": state.options.model_copy(update={"goals": tuple(goals)}),
        }
    )


@pytest.mark.parametrize("first", take_few(range(0, 500, 10), 5))
def test_enumeration_finds_nothing_better_in_the_order(first: int) -> None:
    met = 0
    for seed in range(first, first + 10):
        dice = random.Random(seed)
        state = draw_state(seed, dice)
        tiny, goals = Tiny(state), find_goals(goal_order(state).names)
        problem = prepare(read_situation(state).problem)
        shares, limits = compute_shares(problem), draw_limits(dice, problem) if dice.random() < 0.5 else ()

        every = [to_placement(tiny, problem, c) for c in tiny.enumerate_all()]
        kept = [each for each in every if not list_broken(limits, each) and shares.hold(count_copies(problem, each))]
        allowed = [tuple(evaluate(problem, placed, goals).values()) for placed in kept]
        found = find_target(problem, shares, goals, limits, make_effort(choose_solver(seed)))
        what = f"seed {seed}, {goal_order(state).names}"
        if not allowed:
            assert found.placement is None, what
            met += 1
            continue
        assert not found.is_impossible, what
        best = min(allowed)
        assert found.bounds <= best[: len(found.bounds)], f"{what}: the bound is above the optimum"
        assert found.placement is None or found.values >= best, what
        met += found.values == best == found.bounds
    assert met >= 8, "almost all are proven"
