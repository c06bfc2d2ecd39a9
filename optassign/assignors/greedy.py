"""The assignor `greedy`: the rules and stages of `cp-sat` without a solver.

It also answers in place of `cp-sat` if the solver is late, crashes or breaks a rule. Its numerics, in optassign_models/greedy/,
import no solver.
"""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_situation
from optassign.utilities import AssignmentError
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.solving.heuristic_methods import make_greedy_method, make_load_method
from optassign_models.solving.situation import Situation
from optassign_models.solving.solve import solve


class GreedyAssignor:
    """KIP-924 TaskAssignor without a solver. The time limit has no effect."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        """Do nothing: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the answer; never raise for a valid snapshot."""
        return answer_greedily(state, read_situation(state))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Do nothing."""


def answer_greedily(state: ApplicationState, situation: Situation) -> TaskAssignment:
    """Return greedy's answer to a snapshot; `situation` is the result of `read_situation`."""
    requests = situation.requests
    if requests.balances_load:
        method = make_load_method(requests.order, requests.load_tolerance)
    else:
        method = make_greedy_method(requests.order)
    return write_answer(state, situation, solve(situation, method), "greedy")
