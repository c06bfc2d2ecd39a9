"""Assignors of the studies for which a change of the group begins with no rates known, or with all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from optassign.assignor import AssignmentError, TaskAssignor
from optassign.formats.assignment import ClientPace, Pace, TaskAssignment
from optassign.formats.base import to_ms
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign_benchmarks.jvm_planner import create_also_planner


class Watched(TaskAssignor):
    """An assignor that keeps its first answer after the group has changed, and the snapshot that it was to."""

    def __init__(self, name: str, at: float) -> None:
        self._assignor, self._at = create_also_planner(name), at
        self.first: tuple[ApplicationState, TaskAssignment] | None = None

    @abstractmethod
    def change(self, state: ApplicationState) -> ApplicationState:
        """The first snapshot with other rates."""

    def configure(self, configs: AssignmentConfigs) -> None:
        """As the assignor does."""
        self._assignor.configure(configs)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """The assignor's answer."""
        if self.first is None and state.taken_at is not None and _seconds_of(state.taken_at) >= self._at:
            state = self.change(state)
            self.first = state, self._assignor.assign(state)
            return self.first[1]
        return self._assignor.assign(state)

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """As the assignor does."""
        self._assignor.on_assignment_computed(state, assignment, error)


class Forgetful(Watched):
    """An assignor that knows no rates when the group has changed."""

    def change(self, state: ApplicationState) -> ApplicationState:
        """Drop rates, and the progress that would teach some."""
        if state.remembered is None or state.remembered.report.pace is None:
            return state
        report = state.remembered.report.model_copy(update={"pace": None, "warmup_progress": ()})
        return state.model_copy(update={"remembered": state.remembered.model_copy(update={"report": report})})


class Knowing(Watched):
    """An assignor that knows how fast each client restores when the group has changed."""

    def __init__(self, name: str, at: float, rates: Mapping[str, float]) -> None:
        super().__init__(name, at)
        self._rates = rates

    def change(self, state: ApplicationState) -> ApplicationState:
        """With the rates in what is remembered."""
        assert state.remembered is not None, "rates are remembered with an answer"
        assert state.taken_at is not None
        rates = sorted(self._rates.items())
        rows = (ClientPace(process_id=name, offsets=int(rate), ms=1_000, is_least=False) for name, rate in rates)
        pace = Pace(taken_at=state.taken_at, clients=tuple(rows), looks=0, counted_at=None)
        report = state.remembered.report.model_copy(update={"pace": pace})
        return state.model_copy(update={"remembered": state.remembered.model_copy(update={"report": report})})


def _seconds_of(taken_at: str) -> float:
    """From the start of a scenario."""
    return (to_ms(taken_at) - to_ms("2026-01-01T00:00:00.000+00:00")) / 1000
