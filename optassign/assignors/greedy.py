"""The assignor `greedy`: the same rules and stages without a solver.

It is the answer where the solver has none better in time, crashes or breaks a rule. Its numerics, in models/greedy/, import
no solver.
"""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.goals.order import GoalOrder, goal_order
from optassign.models.forced import Forced, prepare
from optassign.models.greedy.plan import choose_greedy_actives, find_greedy_answer_now, find_greedy_plan
from optassign.models.problem import Placement, Problem
from optassign.models.rebalance import rebalance
from optassign.models.results import Found, Rebalanced
from optassign.models.values import plan_values
from optassign.models.windows import Windows
from optassign.solving.arrays import Arrays, to_arrays
from optassign.solving.report import to_assignment
from optassign.solving.stages import is_balanced, solve
from optassign.utilities import AssignmentError


class GreedyAssignor:
    """KIP-924 TaskAssignor without a solver. The time limit is taken and not needed."""

    def __init__(self, time_limit: float = 10.0) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        """Nothing to take: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """The answer; never an exception for a valid snapshot."""
        return self.assign_arrays(state, to_arrays(state))

    def assign_arrays(self, state: ApplicationState, arrays: Arrays) -> TaskAssignment:
        """The answer for a snapshot that is in arrays already."""
        return to_assignment(state, arrays, solve(arrays, GreedyMethod(goal_order(state))), "greedy")

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Nothing to learn."""


class GreedyMethod:
    """How the stages are solved (see `stages.Method`). No bounds: nothing is proven here."""

    def __init__(self, order: GoalOrder) -> None:
        self._order = order

    def prepared(self, problem: Problem) -> tuple[Problem, Forced]:
        """Pools stay pools."""
        return prepare(problem)

    def target(self, problem: Problem, windows: Windows) -> Windows:
        """The windows."""
        return windows

    def balanced_now(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """A good try."""
        return Found(find_greedy_answer_now(problem, forced, windows), found_by="greedy")

    def plan(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """Balanced, or nothing."""
        placed = find_greedy_plan(problem, forced, windows)
        return Found(placed if is_balanced(problem, windows, placed) else None, found_by="greedy")

    def least_excess(self, problem: Problem, forced: Forced, windows: Windows) -> Placement:
        """The greedy plan, with the excess that it has."""
        return find_greedy_plan(problem, forced, windows)

    def rebalance(self, problem: Problem, windows: Windows, plan: Placement, *, hold: bool) -> Rebalanced:
        """Task by task; the actives left open by greedy. What it says of goals (iii) and (iv) is no bound."""
        return Rebalanced(rebalance(problem, windows, plan, choose_greedy_actives, hold).answer, {})

    def goals(self, problem: Problem, forced: Forced, plan: Placement) -> tuple[float, ...]:
        """Values in order."""
        return tuple(plan_values(problem, forced, plan).values())

    def configured_optimum_now(self, problem: Problem, forced: Forced, windows: Windows, now: Placement) -> bool:
        """Greedy knows no goals (a)."""
        return True
