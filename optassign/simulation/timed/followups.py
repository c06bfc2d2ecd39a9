"""The sources of follow-up rebalances in a simulated group, one for each protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol

from optassign.formats.assignment import TaskAssignment
from optassign.simulation.timed.agenda import Agenda
from optassign.simulation.timed.application import FOLLOWING, RUNNING, Application
from optassign_models.policy.constants import ASKED_BY_ALL_MS

FOLLOW_UP_REASONS = frozenset({"follow-up", "learner ready", "heartbeat", "watcher"})
"""The reasons that follow-ups give for their rebalances."""


class Trigger(Protocol):
    """A function that starts a rebalance."""

    def __call__(self, reason: str, members: Iterable[int] = ()) -> None:
        """Start a rebalance. `members`: clients that cause the rebalance and therefore join first."""


class FollowUps(ABC):
    """A source of follow-up rebalances, armed with each answer that ends a rebalance and disarmed when the next one begins."""

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        self._application, self._agenda, self._trigger = application, agenda, trigger

    @abstractmethod
    def arm(self, answer: TaskAssignment) -> None:
        """Start waiting for the follow-up of an answer that has been applied."""

    @abstractmethod
    def disarm(self) -> None:
        """Stop waiting, because a rebalance begins."""

    def report_in_sync(self, copies: Iterable[tuple[int, int]]) -> None:  # noqa: B027 - most sources ignore it
        """Report that these copies (task, client) have come in sync."""


class _Timer(FollowUps):
    """Follow-ups of protocol `probing` (KIP-441), at the time that the answer asks for."""

    _planned: int | None = None
    _asked: tuple[int, ...] = ()

    def arm(self, answer: TaskAssignment) -> None:
        delay = find_followup_s(answer)
        if delay is not None:
            if self._application.scenario.group.all_ask and delay * 1000 <= ASKED_BY_ALL_MS:
                self._asked = tuple(range(len(self._application.client_ids)))
            else:
                soonest = [each.process_id for each in answer.clients if each.followup_rebalance_ms == round(delay * 1000)]
                self._asked = tuple(self._application.client_ids.index(name) for name in soonest)
            self._planned = self._agenda.plan_in(delay, self._fire)

    def disarm(self) -> None:
        if self._planned is not None:
            self._agenda.cancel(self._planned)
            self._planned = None

    def _fire(self) -> None:
        self._planned = None
        self._trigger("follow-up", self._asked)


class _Learners(FollowUps):
    """Follow-ups of protocol `learner` (the incremental rebalancing draft): a member whose learner has restored joins again at
    once."""

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        super().__init__(application, agenda, trigger)
        self._learning: set[tuple[int, int]] = set()
        self._handled: set[tuple[int, int]] = set()
        """Copies in sync that have caused a rebalance already; each copy causes at most one."""

    def arm(self, answer: TaskAssignment) -> None:
        self._learning = find_awaited(answer, self._application)
        ready = {(t, c) for t, c in self._learning if self._application.mode[t, c] in (FOLLOWING, RUNNING)}
        self._handled &= ready
        self.report_in_sync(ready - self._handled)

    def disarm(self) -> None:
        self._learning = set()

    def report_in_sync(self, copies: Iterable[tuple[int, int]]) -> None:
        """Make the clients of awaited copies (task, client) that have come in sync join again."""
        ready = self._learning & set(copies)
        if ready:
            self._handled |= ready
            self._learning = set()
            self._trigger("learner ready", {client for _, client in ready})


class _Heartbeats(FollowUps):
    """Follow-ups of protocol `heartbeat` (KIP-441's first draft): the leader checks the progress that members send with
    heartbeats.

    A follow-up starts when an awaited copy has caught up, because a better balance may then be possible.
    """

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        super().__init__(application, agenda, trigger)
        self._awaited: set[tuple[int, int]] = set()
        self._planned: int | None = None

    def arm(self, answer: TaskAssignment) -> None:
        acceptable = self._application.configs.acceptable_recovery_lag
        awaited = find_awaited(answer, self._application)
        self._awaited = {(t, c) for t, c in awaited if self._application.lag_of(t, c) > acceptable}
        self._listen()

    def disarm(self) -> None:
        self._awaited = set()
        if self._planned is not None:
            self._agenda.cancel(self._planned)
            self._planned = None

    def _listen(self) -> None:
        if self._awaited:
            self._planned = self._agenda.plan(_next_multiple(self._agenda.now, self._every_s()), self._check_lags)

    def _every_s(self) -> float:
        return self._application.scenario.group.heartbeat_s

    def _check_lags(self) -> None:
        self._planned = None
        acceptable = self._application.configs.acceptable_recovery_lag
        if any(self._application.lag_of(t, c) <= acceptable for t, c in self._awaited):
            self._follow_up()
        else:
            self._listen()

    def _follow_up(self) -> None:
        self._trigger("heartbeat")


class _Watcher(_Heartbeats):
    """Follow-ups of protocol `streams` with `optassign watch`: members report their offsets at intervals, and the watcher
    checks them.

    The real watcher also restores the config that it touched. That assignment changes nothing and is not simulated.
    """

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        super().__init__(application, agenda, trigger)
        self._handled: set[tuple[int, int]] = set()
        """Copies that have caught up and have caused an assignment already; each copy causes at most one."""

    def arm(self, answer: TaskAssignment) -> None:
        awaited = find_awaited(answer, self._application)
        self._handled &= self._find_ready(awaited)
        self._awaited = awaited - self._handled
        self._listen()

    def _find_ready(self, copies: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        acceptable = self._application.configs.acceptable_recovery_lag
        return {(t, c) for t, c in copies if self._application.lag_of(t, c) <= acceptable}

    def _every_s(self) -> float:
        return self._application.scenario.group.offset_interval_s

    def _follow_up(self) -> None:
        watch_s = self._application.scenario.group.watch_s
        assert watch_s is not None
        self._planned = self._agenda.plan(_next_multiple(self._agenda.now, watch_s), self._act)

    def _act(self) -> None:
        self._planned = None
        self._handled |= self._find_ready(self._awaited)
        self._trigger("watcher")


class _NoFollowUps(FollowUps):
    """No follow-ups: in protocol `streams` (KIP-1071 as of Kafka 4.4) an assignor cannot ask for them."""

    def arm(self, answer: TaskAssignment) -> None:
        pass

    def disarm(self) -> None:
        pass


def make_followups(application: Application, agenda: Agenda, trigger: Trigger) -> FollowUps:
    """Return the source of follow-ups for the scenario's protocol."""
    if application.scenario.group.watch_s is not None:
        return _Watcher(application, agenda, trigger)
    kinds: dict[str, type[FollowUps]] = {
        "probing": _Timer,
        "learner": _Learners,
        "heartbeat": _Heartbeats,
        "streams": _NoFollowUps,
    }
    return kinds[application.scenario.group.protocol](application, agenda, trigger)


def _next_multiple(now: float, every_s: float) -> float:
    number = now // every_s + 1
    return number * every_s if number * every_s > now else (number + 1) * every_s  # 0.1 divides 11.0 only 109 times


def find_followup_s(answer: TaskAssignment) -> float | None:
    """Return the seconds until the follow-up that the answer asks for, or None."""
    asked = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    return min(asked) / 1000 if asked else None


def find_awaited(answer: TaskAssignment, application: Application) -> set[tuple[int, int]]:
    """Return task and client of the copies that a follow-up would serve: warm-ups, and waiting copies in the report that need a
    slot."""
    of_task = application.number_of
    of_client = {name: c for c, name in enumerate(application.client_ids)}
    warming = {(of_task[task], of_client[client.process_id]) for client in answer.clients for task in client.warmup}
    return warming | {(of_task[each.task], of_client[each.process_id]) for each in answer.report.waiting if each.slot}
