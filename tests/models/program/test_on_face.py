"""The linear program on the copies' face: fewest actives not caught up, migrations and standby migrations, and bounds that
prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from optassign.assignor import assign
from optassign.generate import SHAPES, Shape, generate
from optassign.generate.dealing import NotBalancedError
from optassign.translating.reading import read_situation
from optassign_benchmarks.grid import GRID, Spec, small_specs
from optassign_models.deadline import Deadline
from optassign_models.flows import decomposition
from optassign_models.flows.decomposition import CopiesFirst
from optassign_models.forced import Forced
from optassign_models.goals import FLOW_ORDER, evaluate
from optassign_models.problem import Problem
from optassign_models.program import optimum, solving
from optassign_models.program.placement_program import PlacementProgram, build_face_program
from optassign_models.program.solving import improve_plan
from optassign_models.program.variables import Scope
from optassign_models.shares import ShareFamilies, compute_shares, count_copies

LATER = FLOW_ORDER[2:]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_is_inside_the_shares_and_its_values_are_proven(shape: Shape) -> None:
    reached = faceless = 0
    for spec, problem, forced, within, copies in _find_faces(shape, 60):
        assert copies.chosen.face is not None
        improved = improve_plan(copies.chosen.face, forced, within, LATER, Deadline.after(None))
        if improved.placement is None:  # the counts nearest to the shares of actives leave no plan on the face
            faceless += 1
            continue
        assert within.hold(count_copies(problem, improved.placement)), spec.name
        values = list(evaluate(problem, forced, improved.placement).values())
        assert values[:2] == list(copies.bounds.values()), spec.name
        for goal, value in zip(LATER, values[2:], strict=True):
            assert goal.name not in improved.bounds or improved.bounds[goal.name] <= value, f"{spec.name}: {goal.name}"
        reached += values[2:] == [improved.bounds.get(goal.name) for goal in LATER]
    assert reached >= 20
    assert faceless <= 3


def test_every_goal_of_a_plan_is_proven_beyond_what_cp_sat_could_look_at() -> None:
    given = assign(generate("scale-out", 1000, 100, 1, 20, seed=1))
    assert {goal.name: goal.value - (goal.bound or 0) for goal in given.report.goals if goal.stage == "plan"} == {
        goal.name: 0 for goal in FLOW_ORDER
    }
    assert given.report.found_by == "lp"


@pytest.mark.parametrize("seed", range(5))
def test_migrations_of_tasks_without_owner_are_counted_and_proven(seed: int) -> None:
    """Clients have gone, and for their tasks either the standbys lead for good, or they start there and move later."""
    given = assign(generate("scale-in", 120, 12, 1, seed=seed, stateless=0.0))
    goals = {goal.name: (goal.value, goal.bound) for goal in given.report.goals if goal.stage == "plan"}
    if given.plan is not None:
        assert goals["active_migrations"][0] == goals["active_migrations"][1]


def _tell_all_apart(scope: Scope) -> PlacementProgram:
    return build_face_program(replace(scope, apart=np.ones_like(scope.apart)))


def test_only_places_that_are_short_of_room_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """To tell all apart takes ten times as long. Found on these: a pool has one place, and more copies than fit there."""
    shares: list[float] = []

    def build(scope: Scope) -> PlacementProgram:
        shares.append(float(scope.apart.mean()))
        return build_face_program(scope)

    monkeypatch.setattr(solving, "build_face_program", build)
    grid = dict(GRID)
    for name in ("restart-1000x100x2-warmups=20-seed=18", "partial-1000x100x1-warmups=20-threads=3-seed=21"):
        planned = [goal for goal in assign(grid[name].generate()).report.goals if goal.stage == "plan"]
        assert planned
        assert all(goal.proven for goal in planned), name
    assert any(shares), "no place was short of room"
    assert max(shares) < 0.5


@pytest.mark.parametrize("shape", SHAPES)
def test_merged_places_prove_and_find_what_places_told_apart_do(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for spec, problem, forced, within, copies in _find_faces(shape, 40):
        assert copies.chosen.face is not None
        merged = improve_plan(copies.chosen.face, forced, within, LATER, Deadline.after(None))
        with monkeypatch.context() as patch:
            patch.setattr(solving, "build_face_program", _tell_all_apart)
            apart = improve_plan(copies.chosen.face, forced, within, LATER, Deadline.after(None))
        assert (merged.placement is None) == (apart.placement is None), spec.name
        if merged.placement is None or apart.placement is None:
            continue
        values = [list(evaluate(problem, forced, plan).values()) for plan in (merged.placement, apart.placement)]
        assert values[0] == values[1], spec.name
        assert merged.bounds == apart.bounds, spec.name
        compared += 1
    assert compared >= 20


def test_without_time_there_is_no_plan_and_it_says_so() -> None:
    problem, forced = decomposition.write_out_pairs(read_situation(generate("scale-out", 1000, 100, 1, 20, seed=1)).problem)
    within = compute_shares(problem)
    copies = decomposition.find_optimal_copies(problem, forced, within)
    assert copies is not None
    assert copies.chosen.face is not None
    improved = improve_plan(copies.chosen.face, forced, within, LATER, Deadline.after(0.0))
    assert (improved.placement, improved.bounds, improved.limited) == (None, {}, True)


def _find_faces(shape: Shape, count: int) -> Iterator[tuple[Spec, Problem, Forced, ShareFamilies, CopiesFirst]]:
    """Generated snapshots whose copies keep the shares, with the copies that the flow finds."""
    for spec in small_specs(shape, count):
        try:
            problem, forced = decomposition.write_out_pairs(read_situation(spec.generate()).problem)
        except NotBalancedError:
            continue
        within = compute_shares(problem)
        copies = decomposition.find_optimal_copies(problem, forced, within)
        if copies is not None and copies.chosen.face is not None:
            yield spec, problem, forced, within, copies


@pytest.mark.parametrize("shape", SHAPES)
def test_goals_minimised_together_have_the_optima_of_one_after_the_other(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[object] = []
    one_by_one: list[object] = []
    for most, found in ((optimum._GREATEST_WEIGHT, together), (0, one_by_one)):
        monkeypatch.setattr(optimum, "_GREATEST_WEIGHT", most)
        for _, problem, forced, within, copies in _find_faces(shape, 40):
            assert copies.chosen.face is not None
            improved = improve_plan(copies.chosen.face, forced, within, LATER, Deadline.after(None))
            values = None if improved.placement is None else evaluate(problem, forced, improved.placement)
            found.append((values, improved.bounds))
    assert together == one_by_one
    assert len(together) >= 20
