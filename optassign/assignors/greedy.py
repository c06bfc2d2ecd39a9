"""The assignor `greedy`: the same rules and stages without a solver.

It is the answer where the solver has none better in time, crashes or breaks a rule. Its numerics, in optassign_models/greedy/,
import no solver.
"""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.measuring.load import balances_load
from optassign.solving.arrays import Arrays, to_arrays
from optassign.solving.load.method import LoadMethod
from optassign.solving.methods.greedy_method import GreedyMethod
from optassign.solving.methods.method import Method
from optassign.solving.report import to_assignment
from optassign.solving.stages import solve
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
        options = state.options
        method: Method = GreedyMethod(arrays.order)
        if balances_load(state):
            method = LoadMethod(arrays.order, options.load_tolerance, options.min_gain)
        return to_assignment(state, arrays, solve(arrays, method), "greedy")

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Nothing to learn."""
