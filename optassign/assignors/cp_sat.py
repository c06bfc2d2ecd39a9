"""The assignor `cp-sat`: solve the program of the target by CP-SAT or HiGHS; greedy answers if neither does in time.

optassign_models/solving/solve.py has the stages and their order, optassign_models/target/ the program.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from optassign.assignors.greedy import answer_greedily
from optassign.formats.assignment import TaskAssignment, Termination
from optassign.formats.configs import AssignmentConfigs, SolverName
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_plan, read_situation
from optassign.utilities import AssignmentError
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.problem import Placement
from optassign_models.results import Deadline, Effort, Reason
from optassign_models.solving.method import Method
from optassign_models.solving.situation import Situation
from optassign_models.solving.solve import solve
from optassign_models.solving.solver_methods import expect_seconds_without_solver, make_solved_load_method, make_target_method

LEAST_SECONDS = 0.01
"""The least time for a solver; with less, greedy answers. No flow ends within it (tests/solving/test_fallbacks.py)."""


_log = logging.getLogger(__name__)


class CpSatAssignor:
    """KIP-924 TaskAssignor that returns the best answer found within the time limit, with bounds."""

    def __init__(
        self, time_limit: float = TIME_LIMIT, solver: SolverName | None = None, start: TaskAssignment | None = None
    ) -> None:
        """Make an assignor.

        Args:
            time_limit: seconds.
            solver: takes precedence over that of a snapshot's options.
            start: an answer; the search begins with its target. Ignored under load, or if a task has no place in the target.
        """
        self.time_limit, self.solver, self.start = time_limit, solver, start
        self.offer_spare: Callable[[TaskAssignment], None] | None = None
        """Receives greedy's answer before the solver starts, in case the solver is late. None: greedy is asked only if the
        solver fails or has no time."""

    def configure(self, configs: AssignmentConfigs) -> None:
        """Do nothing: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the answer; never raise for a valid snapshot."""
        deadline = Deadline.after(self.time_limit)
        situation = read_situation(state)
        spare = None
        if self.offer_spare is not None:
            spare = _answer_without_solver(state, situation)
            self.offer_spare(spare)
        if LEAST_SECONDS + expect_seconds_without_solver(situation.problem) > deadline.left:
            return spare or _answer_without_solver(state, situation)
        try:
            start = None if self.start is None else read_plan(self.start, situation.inventory)
            method = choose_method(situation, choose_effort(situation, deadline, self.solver), start)
            answer = write_answer(state, situation, solve(situation, method), "cp-sat")
            broken = validate(state, answer)
            if not broken:
                return answer
            why = f"the answer broke a rule: {broken[0]}"
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            _log.debug("cp-sat failed", exc_info=True)
        _log.error("cp-sat had no answer, greedy answers instead: %s", why)
        return _answer_as_greedy(state, situation, Termination(reason=str(Reason.FALLBACK), detail=why))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Do nothing."""


def choose_effort(situation: Situation, deadline: Deadline, solver: SolverName | None = None) -> Effort:
    """Return the effort that a snapshot requests. `solver` takes precedence over the snapshot's."""
    return Effort(solver or situation.requests.solver, deadline)


def choose_method(situation: Situation, effort: Effort, start: Placement | None = None) -> Method:
    """Return the method for the goals that a snapshot requests. `start`: a target with which the search begins."""
    requests, order = situation.requests, situation.requests.order
    if requests.balances_load:
        return make_solved_load_method(order, requests.load_tolerance, effort)
    return make_target_method(order, effort, start)


def _answer_without_solver(state: ApplicationState, situation: Situation) -> TaskAssignment:
    return _answer_as_greedy(
        state, situation, Termination(reason=str(Reason.LIMIT), limit="time", detail="no time for the solver")
    )


def _answer_as_greedy(state: ApplicationState, situation: Situation, termination: Termination) -> TaskAssignment:
    answer = answer_greedily(state, situation)
    return answer.model_copy(
        update={"assignor": "cp-sat", "report": answer.report.model_copy(update={"termination": termination})}
    )
