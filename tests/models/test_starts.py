"""What CP-SAT starts from, and the sizes and refusals of its models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from judging import snapshot
from ortools.sat.python import cp_model

from optassign.formats.state import ApplicationState
from optassign.generate import generate
from optassign.goals.order import goal_order
from optassign.translating.reading import read_situation
from optassign_models.cp_sat import plan, solver
from optassign_models.cp_sat.model import Variables, make_imbalance_objectives
from optassign_models.cp_sat.plan import is_weighted_sum_exact, solve_plan
from optassign_models.cp_sat.solver import run
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced, prepare
from optassign_models.goals import FLOW_ORDER, evaluate, find_goals
from optassign_models.goals.load import LOAD
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.problem import Placement, Problem
from optassign_models.shares import ShareFamilies, compute_shares

NO_DEADLINE = Deadline.after(None)
NO_WORK = 1e-9


def started(state: ApplicationState) -> tuple[Problem, Forced, ShareFamilies, Placement]:
    """All pairs written out, and the greedy plan."""
    problem, forced = prepare(read_situation(state).problem.with_all_columns())
    within = compute_shares(problem)
    return problem, forced, within, find_greedy_plan(problem, forced, within)


def tagged(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"configs": state.configs.model_copy(update={"rack_aware_assignment_tags": ("zone",)})})


def note_values(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Goal → its value as the next model has it."""
    noted: dict[str, int] = {}

    def optimise_and_note(*arguments: Any) -> solver.OptimisedGoals:
        solved = solver.optimise(*arguments)
        noted.update({goal: value for goal, (value, _, _) in solved.goals.items()})
        return solved

    monkeypatch.setattr(plan, "optimise", optimise_and_note)
    return noted


STATES = {
    "load": generate("scale-out", 16, 4, 1, weights=0.5, seed=1),
    "tag_spread": tagged(generate("scale-out", 16, 4, 1, racks=3, seed=1)),
    "restore_work": generate("partial", 16, 4, 2, seed=1),
}


@pytest.mark.parametrize("goal", STATES)
def test_without_work_the_start_comes_back_with_its_values(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where goals have variables of their own: the greatest load, tags that are reached, ties."""
    state = STATES[goal]
    goals = find_goals(goal_order(state).names)
    assert goals[0].name == goal
    problem, forced, within, start = started(state)
    rows = note_values(monkeypatch)
    solved = solve_plan(problem, forced, within, goals, NO_DEADLINE, NO_WORK, start)
    assert solved.placement is not None
    mine, found = evaluate(problem, forced, start, goals), evaluate(problem, forced, solved.placement, goals)
    assert tuple(found.values()) <= tuple(mine.values())
    assert rows[goal] == found[goal]


def test_a_start_is_not_completed_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, forced, within, start = started(STATES["load"])

    def late() -> None:
        raise AssertionError("a solver was made after the deadline")

    monkeypatch.setattr(cp_model, "CpSolver", late)
    solved = solve_plan(problem, forced, within, (LOAD, *FLOW_ORDER), Deadline.after(0.0), 1.0, start)
    assert solved.limited


def test_imbalance_has_as_many_tangents_as_its_count_can_be_away() -> None:
    """Not one for each task of the application in every cell of subtopology and client."""
    problem, _ = prepare(read_situation(generate("scale-out", 60, 4, 1, subtopologies=6, seed=1)).problem.with_all_columns())
    everywhere = np.ones(len(problem.col_task), dtype=np.bool_)
    v = Variables.of(problem, cp_model.CpModel(), everywhere, everywhere)
    make_imbalance_objectives(v, compute_shares(problem))
    sizes = np.bincount(problem.group)
    cells = problem.C * 2 * int(np.sum(sizes + 3))
    assert len(v.model.proto.constraints) <= problem.C * 3 * (problem.T + 3) + cells


def test_a_model_that_cp_sat_refuses_is_no_lack_of_time() -> None:
    model = cp_model.CpModel()
    huge = [model.new_int_var(0, 1 << 62, "") for _ in range(4)]
    model.minimize(cp_model.LinearExpr.sum(huge))
    with pytest.raises(ValueError, match="refuses"):
        run(model, NO_DEADLINE, 1.0)


@pytest.mark.parametrize(
    ("lag", "end", "weights", "exact"),
    [
        (50_000, 20_000, (1_000_000, 100_000, 1_000), True),
        (50_000, 20_000, (10**17, 1, 1), False),
        (50_000, 20_000, (1, 10**17, 1), False),
        (50_000, 20_000, (1, 1, 10**14), False),
        (2**63 - 1, 20_000, (1, 1, 1), False),
        (2**63 - 1, 1, (1, 1, 1), False),  # in hundredths of a changelog the lag is beyond int64
    ],
)
def test_a_weighted_sum_is_exact_or_known_not_to_be(lag: int, end: int, weights: tuple[int, int, int], exact: bool) -> None:
    tasks = {"0_0": end, "0_1": end}
    clients = {"a": {"active": list(tasks), "lags": dict.fromkeys(tasks, -2)}, "b": dict.fromkeys(tasks, lag)}
    assert is_weighted_sum_exact(read_situation(snapshot(tasks, clients, num_standby_replicas=1)).problem, weights) == exact


def test_capacities_as_unlike_as_they_may_be_leave_the_load_in_int64(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ("0_0", "0_1", "0_2")
    tasks = {task: {"changelog_end_offset": 100, "weight": weight} for task, weight in zip(ids, (1.0, 2.0, 3.0), strict=True)}
    b = {"capacity": 1e-6, "active": list(ids), "lags": dict.fromkeys(ids, -2)}
    state = snapshot(tasks, {"a": {"threads": 8_999_999, "capacity": 1e6}, "b": b})
    problem, forced, within, start = started(state)
    rows = note_values(monkeypatch)
    solved = solve_plan(problem, forced, within, (LOAD, *FLOW_ORDER), NO_DEADLINE, 1.0, start)
    assert solved.placement is not None
    assert rows["load"] == evaluate(problem, forced, solved.placement, [LOAD])["load"]
