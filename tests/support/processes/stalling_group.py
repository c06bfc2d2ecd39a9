"""A group in a scale-out whose copies progress only when a test advances them."""

import time
from datetime import UTC, datetime

from judging import make_snapshot
from serving import make_report, read_answer
from serving_here import ServiceHere

from optassign import assign
from optassign.formats.assignment import Report, TaskAssignment
from optassign.formats.state import ApplicationState

DAY = float(round(time.time()))
"""The first time of the clock of the day, in seconds since 1970; recordings far from the present would be ignored."""


class Group:
    """A group whose third instance should take a third of the tasks and restores nothing, at a time that the test advances."""

    def __init__(self, application: str, tasks: int = 36) -> None:
        self.application, self.at = application, 0.0
        self.applied: TaskAssignment | None = None
        owned = [f"0_{number}" for number in range(tasks)]
        clients = {
            "a": {"active": owned[::2], "standby": [], "lags": dict.fromkeys(owned[::2], -2)},
            "b": {"active": owned[1::2], "standby": [], "lags": dict.fromkeys(owned[1::2], -2)},
            "c": {"active": [], "standby": [], "lags": {}},
        }
        self._state = make_snapshot(dict.fromkeys(owned, 100_000), clients, num_standby_replicas=0, max_warmup_replicas=2)

    def rebalance(self, service: ServiceHere, lags: dict[str, int] | None = None) -> float:
        """Rebalance the group by the service, and return the seconds until its follow-up."""
        self._assign(lags or {})
        answer = read_answer(service.assign(self._state, optassign_deadline_ms="60000"))
        return next(c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None) / 1000

    def _assign(self, lags: dict[str, int]) -> None:
        """Replace the snapshot by one of the present time, in which the third instance has these lags."""
        client = self._state.clients[-1].model_copy(update={"lags": lags})
        state: ApplicationState = self._state.model_copy(
            update={
                "application": self.application,
                "taken_at": datetime.fromtimestamp(DAY + self.at, UTC).isoformat(),
                "clients": (*self._state.clients[:-1], client),
            }
        )
        self._state = state

    def rebalance_in_shadow(self, service: ServiceHere, lags: dict[str, int]) -> None:
        """Let Kafka's own assignor assign the group, and report its answer as the plug-in in shadow mode does."""
        self._assign(lags)
        state = self._state.model_copy(update={"remembered": self.applied})
        answer = assign(state.model_copy(update={"remembered": None}), "high-availability")
        self.applied = answer.model_copy(update={"report": Report(found_by="kafka")})
        response = service.report(
            make_report(state, self.applied, "shadow"), f"r-{self.at}", round(1000 * (DAY + self.at)), optassign_mode="shadow"
        )
        assert response.status_code == 200

    def wait(self, service: ServiceHere, seconds: float) -> None:
        self.at += seconds
        service.pass_seconds(seconds)
