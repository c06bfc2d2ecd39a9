"""Tests of preset `weighted`: the least sum against enumeration, and proofs in groups too large for enumeration."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import pytest
from enumeration import Copies, Tiny
from seeds import take_few
from targets import assert_rules_kept, choose_solver, find_least_sum, make_effort
from tiny import draw_tiny_state

from optassign.assignor import assign
from optassign.formats.assignment import GoalReport
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.judging.metrics import measure_weighted_cost
from optassign.simulation.successors import make_restored_snapshot
from optassign.translating.snapshot import read_situation
from optassign_models.policy import constants as policy
from optassign_models.problem import Problem
from optassign_models.results import SolverName
from optassign_models.shares import compute_shares
from optassign_models.target import variables
from optassign_models.target.search import TargetAnswer

Weights = tuple[int, int, int]
DEFAULT: Weights = (1_000, 100, 1)


@dataclass(frozen=True)
class InChangelogs(Tiny):
    """A tiny snapshot whose restore costs are in hundredths of the mean changelog, as preset `weighted` counts them."""

    @cached_property
    def table(self) -> dict[tuple[str, str], tuple[int, int]]:
        ends = [self.find_end(task) for task in self.state.tasks if task.logged]
        mean = max(Fraction(1), Fraction(sum(ends), len(ends))) if ends else Fraction(1)
        known = {(t.id, c): self.find_rank_and_cost(t, c) for t in self.state.tasks for c in self.clients}
        return {pair: (rank, ceil(100 * cost / mean)) for pair, (rank, cost) in known.items()}

    def cost(self, copies: Copies, weights: Weights) -> int:
        """Return the weighted sum, as docs/reference/rules.md defines it."""
        imbalance, work = self.measure_imbalance(copies), self.measure_plan(copies)[0]
        sticky = work + self.count_active_moves(copies) + self.count_standby_migrations(copies)
        return weights[0] * sum(imbalance[:3]) + weights[1] * sum(imbalance[3:]) + weights[2] * sticky


def find_least(state: ApplicationState, weights: Weights, solver: SolverName = "auto") -> tuple[TargetAnswer, Problem]:
    """Return the program's answer and the problem."""
    problem = read_situation(state).problem
    return find_least_sum(problem, compute_shares(problem), weights, effort=make_effort(solver)), problem


def draw_weights(rng: random.Random) -> Weights:
    """Draw weights from a tenth to ten thousand in thousandths, sometimes 0."""
    drawn = [0 if rng.random() < 0.1 else round(1000 * 10 ** rng.uniform(-1, 4)) for _ in range(3)]
    return drawn[0], drawn[1], drawn[2]


@pytest.mark.parametrize("first", take_few(range(0, 300, 10), 10))
def test_enumeration_finds_nothing_below_the_bound_and_nothing_better(first: int) -> None:
    """Tiny groups have capacities, unknown lags, draining clients and tasks of all kinds: each value is proven optimal."""
    proven = 0
    for seed in range(first, first + 10):
        tiny = InChangelogs(draw_tiny_state(seed, most=400))
        weights = DEFAULT if seed % 2 else draw_weights(random.Random(seed))
        found, problem = find_least(tiny.state, weights, choose_solver(seed))
        least = min(tiny.cost(copies, weights) for copies in tiny.enumerate_all())
        assert found.placement is not None
        assert_rules_kept(problem, found.placement)
        assert found.bounds[0] <= least <= found.values[0], f"seed {seed}"
        proven += found.bounds[0] == found.values[0]
    assert proven == 10


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_the_sum_is_proven_with_any_weights(shape: Shape, standbys: int) -> None:
    rng = random.Random(standbys)
    for seed, weights in enumerate([DEFAULT, *(draw_weights(rng) for _ in range(3))]):
        found, problem = find_least(generate(shape, 120, 12, standbys, seed=seed, unlogged=0.2), weights)
        assert found.placement is not None
        assert_rules_kept(problem, found.placement)
        assert found.bounds == found.values, f"weights {weights}"


@pytest.mark.parametrize("shape", ["scale-out", "partial"])
def test_merged_places_have_the_values_of_separate_ones(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are merged only in large groups; here a small one is solved both ways."""
    for seed in range(4):
        state = generate(shape, 200, 20, 1, seed=seed)
        apart, _ = find_least(state, DEFAULT)
        with monkeypatch.context() as patch:
            patch.setattr(variables, "MERGE_FROM", 0)
            merged, _ = find_least(state, DEFAULT)
        assert apart.values == apart.bounds
        assert merged.bounds <= apart.bounds
        assert merged.values == apart.values, f"seed {seed}"


def weigh(given_goals: tuple[GoalReport, ...]) -> GoalReport:
    """Return the row of the weighted sum."""
    (row,) = (goal for goal in given_goals if goal.name == "weighted_cost")
    return row


def weighted(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"options": state.options.model_copy(update={"preset": "weighted"})})


def test_the_report_has_value_and_bound_where_pairs_are_many() -> None:
    given = assign(weighted(generate("partial", 1000, 100, 1, 20, seed=8)))
    row = weigh(given.report.goals)
    assert row.proven
    assert row.bound == row.value > 0
    assert (given.report.found_by, given.report.proved_by) == ("highs", "highs")
    assert not given.report.notes


def test_the_report_has_the_sum_in_follow_ups_and_at_rest() -> None:
    state = weighted(generate("scale-out", 40, 5, 1, 2, seed=4))
    reasons = set()
    for _ in range(40):
        given = assign(state)
        row = weigh(given.report.goals)
        assert row.value == measure_weighted_cost(state, given)
        assert row.bound is not None
        assert row.bound <= row.value
        reasons.add(given.report.termination.reason)
        if given.report.termination.reason == "rest":
            break
        state = make_restored_snapshot(state, given)
    assert "rest" in reasons
    assert len(reasons) > 1, "a follow-up came before"


def test_without_time_for_the_program_the_default_order_answers_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "SECONDS_PER_VARIABLE", 1.0)
    given = assign(weighted(generate("partial", 1000, 100, 1, 20, seed=8)))
    assert (
        "goal not served: weighted_cost: no time for a plan by these goals or weights: the goals of the default order were used"
        in (given.report.notes)
    )
    assert not [goal for goal in given.report.goals if goal.name == "weighted_cost"]
    assert given.plan is not None
