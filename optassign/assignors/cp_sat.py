"""The assignor `cp-sat`: flows where they are exact, CP-SAT where they are not, greedy where neither has an answer in time.

Reads as the algorithm: `CpSatMethod` says how each stage is solved; the stages and their order are in stages.py.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from optassign.arrays import Arrays, to_arrays
from optassign.assignment import TaskAssignment, Termination
from optassign.assignors.answering import to_assignment
from optassign.assignors.greedy import GreedyAssignor, GreedyMethod
from optassign.assignors.stages import Solution, solve
from optassign.configs import AssignmentConfigs
from optassign.goals import ORDERED, GoalOrder, goal_order
from optassign.models import decomposition, plan as plan_model
from optassign.models.actives import least_excess_actives
from optassign.models.first import First, prepare
from optassign.models.flow import FlowError
from optassign.models.problem import Placement, Problem
from optassign.models.results import Found, Rebalanced
from optassign.models.separation import rebalance
from optassign.models.solver import Deadline
from optassign.models.values import plan_values
from optassign.models.windows import Windows
from optassign.state import ApplicationState
from optassign.utilities import AssignmentError
from optassign.validation import validate

_log = logging.getLogger(__name__)

_SECONDS_PER_ARC = 5e-5
"""Time the flows may take for each task, column and cell: more than twice what was measured, as they cannot be interrupted."""
_MOST_COLUMNS = 3_000
"""CP-SAT looks for better later goals where the optimal face of the first ones has at most so many pairs."""
_MOST_PAIRS = 20_000
"""… and for what the flows did not find where all pairs are at most so many."""
_WORK = 2.0
"""Deterministic time for CP-SAT, for each stage: about seconds."""


class CpSatAssignor:
    """KIP-924 TaskAssignor: the best answer known within the time limit, and how good it is known to be."""

    def __init__(self, time_limit: float = 10.0) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        """Nothing to take: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """The answer; never an exception for a valid snapshot."""
        deadline = Deadline.after(self.time_limit)
        arrays = to_arrays(state)
        if _expected_seconds(arrays.problem) > deadline.left:
            return _in_a_hurry(state, arrays)
        try:
            solution = solve(arrays, CpSatMethod(goal_order(state), deadline))
            answer = to_assignment(state, arrays, solution, "cp-sat")
            broken = validate(state, answer)
            if not broken:
                return answer
            why = f"the answer broke a rule: {broken[0]}"
        except (FlowError, ArithmeticError, AssertionError, MemoryError, RuntimeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            _log.debug("cp-sat failed", exc_info=True)
        _log.error("cp-sat had no answer, greedy answers instead: %s", why)
        return _by_greedy(state, arrays, Termination(reason="fallback", detail=why))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Nothing to learn."""


class CpSatMethod:
    """How the stages are solved (see `stages.Method`)."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        self._order = order
        self._deadline = deadline
        self._greedy = GreedyMethod(order)

    def prepared(self, problem: Problem) -> tuple[Problem, First]:
        """All pairs are columns where they are few."""
        return decomposition.written_out(problem)

    def balanced_now(self, problem: Problem, first: First, windows: Windows) -> Found:
        """Two flows; CP-SAT where they leave it open."""
        found = decomposition.balanced_now(problem, first, windows)
        if found.placement is not None or found.impossible or not self._is_small(problem):
            return found
        result = plan_model.solve_now(problem, first, windows, ("active_moves",), self._deadline, _WORK)
        return Found(
            result.placement, result.impossible, found.bounds, found_by="cp-sat", limited=result.limited
        )

    def plan(self, problem: Problem, first: First, windows: Windows) -> Found:
        """Two flows; CP-SAT where they do not fit together, and for the later goals that they leave open."""
        found = decomposition.balanced_plan(problem, first, windows)
        if found.impossible:
            return found
        if found.placement is None:
            return self._joint_plan(problem, first, windows, found)
        values = plan_values(problem, first, found.placement)
        first_goals_met = all(found.bounds[goal] == values[goal] for goal in ORDERED[:2])
        face = found.face if first_goals_met else None
        size = len(face) if face is not None else len(problem.col_task)
        if size > _MOST_COLUMNS or all(found.bounds.get(goal) == values[goal] for goal in ORDERED):
            return found
        if face is None and not self._is_small(problem):
            return found
        written, first = prepare(problem.with_columns(face)) if face is not None else (problem, first)
        result = plan_model.solve_plan(
            written, first, windows, ORDERED, self._deadline, _WORK, found.placement, found.bounds, face
        )
        return _merged(found, result)

    def _joint_plan(self, problem: Problem, first: First, windows: Windows, found: Found) -> Found:
        """The flows' bounds hold, but they found no plan: all pairs in one model, or greedy where they are too many."""
        start = self._greedy.plan(problem, first, windows).placement
        if not self._is_small(problem):
            return replace(found, placement=start, found_by="greedy")
        result = plan_model.solve_plan(
            problem, first, windows, ORDERED, self._deadline, _WORK, start, {"restore_work": found.bounds["restore_work"]}
        )
        if result.placement is None:
            return replace(found, placement=start, impossible=result.impossible, limited=True, found_by="greedy")
        return _merged(replace(found, placement=result.placement), result)

    def least_excess(self, problem: Problem, first: First, windows: Windows) -> Placement:
        """CP-SAT, family after family, from the greedy plan."""
        rough = self._greedy.least_excess(problem, first, windows)
        if not self._is_small(problem):
            return rough
        result = plan_model.least_excess(problem, first, windows, self._deadline, _WORK, rough)
        return result.placement if result.placement is not None else rough

    def rebalance(self, problem: Problem, windows: Windows, plan: Placement) -> Rebalanced:
        """Task by task, then one flow: exact."""
        return rebalance(problem, windows, plan, least_excess_actives)

    def goals(self, problem: Problem, first: First, plan: Placement) -> tuple[float, ...]:
        """Values in order."""
        return tuple(plan_values(problem, first, plan).values())

    def configured_optimum_now(self, problem: Problem, first: First, windows: Windows, now: Placement) -> bool:
        """No goals (a) are configured."""
        return True

    def _is_small(self, problem: Problem) -> bool:
        return int(np.sum(problem.logged)) * problem.C <= _MOST_PAIRS


def _merged(found: Found, result: plan_model.Planned) -> Found:
    """The flows' plan or CP-SAT's where that is better, with the better bounds of both."""
    if result.placement is None:
        return found
    bounds = dict(found.bounds)
    for goal, (_, bound, _) in result.goals.items():
        if bound is not None:
            bounds[goal] = max(bound, bounds.get(goal, bound))
    same = found.placement is not None and result.placement.same_as(found.placement)
    return replace(
        found,
        placement=result.placement,
        bounds=bounds,
        proved=frozenset(goal for goal, (_, _, proven) in result.goals.items() if proven),
        found_by=found.found_by if same else "cp-sat",
        limited=found.limited or result.limited,
    )


def _expected_seconds(problem: Problem) -> float:
    """What the flows take at most, by the size of their networks."""
    arcs = problem.T + len(problem.col_task) + problem.G * problem.C
    return 0.02 + _SECONDS_PER_ARC * arcs


def _in_a_hurry(state: ApplicationState, arrays: Arrays) -> TaskAssignment:
    return _by_greedy(state, arrays, Termination(reason="limit", limit="time", detail="no time for the solver"))


def _by_greedy(state: ApplicationState, arrays: Arrays, termination: Termination) -> TaskAssignment:
    answer = GreedyAssignor().assign_arrays(state, arrays)
    return answer.model_copy(
        update={"assignor": "cp-sat", "report": answer.report.model_copy(update={"termination": termination})}
    )


__all__ = ["CpSatAssignor", "CpSatMethod", "Solution"]
