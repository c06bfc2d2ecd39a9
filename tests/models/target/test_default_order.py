"""Tests of the default order in the target's program: every solver proves the same values, however places are counted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest
from seeds import take_few
from targets import SOLVERS, find_target, make_effort

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.generating.dealing import NotBalancedError
from optassign.translating.snapshot import read_situation
from optassign_benchmarks.grid import GRID, Spec, small_specs
from optassign_models.goals import DEFAULT_ORDER, evaluate
from optassign_models.problem import prepare
from optassign_models.results import SolverName
from optassign_models.shares import compute_shares, count_copies
from optassign_models.target import solver, variables
from optassign_models.target.search import TargetAnswer


def find(state: ApplicationState, which: SolverName = "auto", seconds: float | None = None) -> TargetAnswer:
    problem = prepare(read_situation(state).problem)
    return find_target(problem, compute_shares(problem), effort=make_effort(which, seconds))


@cache
def find_once(spec: Spec, which: SolverName) -> TargetAnswer:
    """Return the answer for a group, which several tests compare."""
    return find(spec.generate(), which)


def list_groups(shape: Shape, count: int) -> Iterator[tuple[Spec, ApplicationState]]:
    for spec in small_specs(shape, count):
        try:
            yield spec, spec.generate()
        except NotBalancedError:
            continue


@pytest.mark.parametrize("number", take_few([12, 25], 1))
@pytest.mark.parametrize("shape", SHAPES)
def test_every_solver_proves_the_same_values_inside_the_shares(shape: Shape, number: int) -> None:
    proven = 0
    for spec, state in list_groups(shape, number):
        problem = prepare(read_situation(state).problem)
        found = [find_once(spec, which) for which in SOLVERS]
        if found[0].placement is None:
            assert all(each.is_impossible for each in found), spec.name
            continue
        for each in found:
            assert each.placement is not None
            assert compute_shares(problem).hold(count_copies(problem, each.placement)), spec.name
            assert each.values == tuple(evaluate(problem, each.placement).values()), spec.name
            assert each.bounds == each.values[: len(each.bounds)], spec.name
        # Only CP-SAT may reach its limit of work before the goals of least weight.
        assert found[0].bounds == found[2].bounds == found[0].values, spec.name
        assert len({each.values for each in found}) == 1, spec.name
        proven += 1
    assert proven >= 3 * number // 4


def test_every_goal_is_proven_at_sizes_that_cp_sat_does_not_decide() -> None:
    given = assign(generate("scale-out", 1000, 100, 1, 20, seed=1))
    assert {goal.name: goal.value - (goal.bound or 0) for goal in given.report.goals if goal.stage == "plan"} == {
        goal.name: 0 for goal in DEFAULT_ORDER
    }
    assert (given.report.found_by, given.report.proved_by) == ("highs", "highs")


@pytest.mark.parametrize("shape", SHAPES)
def test_cp_sat_decides_every_target_of_100_tasks(shape: Shape) -> None:
    for seed, standbys in product(range(1, 4), range(3)):
        report = assign(generate(shape, 100, 10, standbys, seed=seed), "cp-sat").report
        if any(goal.stage == "plan" for goal in report.goals):
            assert report.proved_by == "cp-sat", (seed, standbys)
            assert all(goal.proven for goal in report.goals if goal.stage == "plan"), (seed, standbys)


@pytest.mark.parametrize(("asked", "by"), [("auto", "cp-sat"), ("cp-sat", "cp-sat"), ("highs", "highs")])
def test_the_report_names_the_solver_that_proved_the_plan(asked: str, by: str) -> None:
    state = generate("scale-out", 100, 10, 1, seed=7)
    state = state.model_copy(update={"options": state.options.model_copy(update={"solver": asked})})
    given = assign(state)
    assert all(goal.proven for goal in given.report.goals)
    assert (given.report.found_by, given.report.proved_by) == (by, by)


@pytest.mark.parametrize("seed", range(5))
def test_migrations_of_tasks_without_owner_are_counted_and_proven(seed: int) -> None:
    """Clients have left: standbys of their tasks lead for good, or tasks start there and move later."""
    given = assign(generate("scale-in", 120, 12, 1, seed=seed, stateless=0.0))
    goals = {goal.name: (goal.value, goal.bound) for goal in given.report.goals if goal.stage == "plan"}
    if given.plan is not None:
        assert goals["active_migrations"][0] == goals["active_migrations"][1]


@pytest.mark.parametrize("name", ["restart-1000x100x2-warmups=20-seed=18", "partial-1000x100x1-warmups=20-threads=3-seed=21"])
def test_large_groups_of_the_grid_are_proven(name: str) -> None:
    planned = [goal for goal in assign(dict(GRID)[name].generate()).report.goals if goal.stage == "plan"]
    assert planned
    assert all(goal.proven for goal in planned)


@pytest.mark.parametrize("number", take_few([8, 20], 1))
@pytest.mark.parametrize("which", ["auto", "highs"])
@pytest.mark.parametrize("shape", SHAPES)
def test_merged_places_have_the_values_of_separate_ones(
    shape: Shape, which: SolverName, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec, state in list_groups(shape, number):
        apart = find_once(spec, which)
        with monkeypatch.context() as patch:
            patch.setattr(variables, "MERGE_FROM", 0)
            merged = find(state, which)
        assert (merged.values, merged.bounds) == (apart.values, apart.bounds), spec.name


@pytest.mark.parametrize("number", take_few([6, 12], 1))
@pytest.mark.parametrize("shape", SHAPES)
def test_goals_minimised_together_have_the_optima_of_single_steps(
    shape: Shape, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec, state in list_groups(shape, number):
        together = [find_once(spec, which) for which in SOLVERS[1:]]
        with monkeypatch.context() as patch:
            patch.setattr(solver, "_weigh_in_order", lambda matrix, forms, most: [1] * len(forms[:1]))
            one_by_one = [find(state, which) for which in SOLVERS[1:]]
        assert [each.values for each in together] == [each.values for each in one_by_one], spec.name


@pytest.mark.parametrize(("tasks", "clients", "standbys", "seed"), [(60, 12, 6, 45), (100, 12, 6, 244), (100, 12, 3, 322)])
def test_pools_that_cannot_be_dealt_become_pairs(tasks: int, clients: int, standbys: int, seed: int) -> None:
    """A client with many threads leaves too few clients for the copies of a pool; the search once repeated without end."""
    state = generate("scale-out", tasks, clients, standbys, threads=(1, 8), stateless=0.0, seed=seed)
    assert find(state, seconds=60).is_proven


def test_without_time_there_is_no_plan_and_the_report_says_so() -> None:
    found = find(generate("scale-out", 1000, 100, 1, 20, seed=1), seconds=0.0)
    assert (found.placement, found.bounds, found.is_cut_short) == (None, (), True)
