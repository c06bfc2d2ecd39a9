"""The triggers of a rebalance without joins or leaves: a timer, a learner that is ready, or heartbeats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from optassign.formats.assignment import TaskAssignment
from optassign.simulation.timed.application import FOLLOWING, RUNNING, Application
from optassign.simulation.timed.events import Agenda

__all__ = ["FollowUps", "make_followups"]

Trigger = Callable[[str], None]


class FollowUps(ABC):
    """Armed with each answer that ends a rebalance, disarmed when another one begins."""

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        self._application, self._agenda, self._trigger = application, agenda, trigger

    @abstractmethod
    def arm(self, answer: TaskAssignment) -> None:
        """The answer is in force."""

    @abstractmethod
    def disarm(self) -> None:
        """A rebalance begins: nothing is waited for any more."""

    def tell_in_sync(self, copies: Iterable[tuple[int, int]]) -> None:  # noqa: B027 - most do not care
        """These copies (task, client) have come in sync."""


class _Timer(FollowUps):
    """Protocol `probing` (KIP-441): the answer says when."""

    _planned: int | None = None

    def arm(self, answer: TaskAssignment) -> None:
        delay = find_followup_s(answer)
        if delay is not None:
            self._planned = self._agenda.plan_in(delay, self._fire)

    def disarm(self) -> None:
        if self._planned is not None:
            self._agenda.cancel(self._planned)
            self._planned = None

    def _fire(self) -> None:
        self._planned = None
        self._trigger("follow-up")


class _Learners(FollowUps):
    """Protocol `learner` (the incremental rebalancing draft): a member whose learner has restored joins again at once."""

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        super().__init__(application, agenda, trigger)
        self._learning: set[tuple[int, int]] = set()
        self._told: set[tuple[int, int]] = set()
        """In sync, and the group knows: a copy lets it rebalance once."""

    def arm(self, answer: TaskAssignment) -> None:
        self._learning = find_awaited(answer, self._application)
        ready = {(t, c) for t, c in self._learning if self._application.mode[t, c] in (FOLLOWING, RUNNING)}
        self._told &= ready
        self.tell_in_sync(ready - self._told)

    def disarm(self) -> None:
        self._learning = set()

    def tell_in_sync(self, copies: Iterable[tuple[int, int]]) -> None:
        ready = self._learning & set(copies)
        if ready:
            self._told |= ready
            self._learning = set()
            self._trigger("learner ready")


class _Heartbeats(FollowUps):
    """Protocol `heartbeat` (KIP-441's first draft): members send their progress, and the leader looks each time.

    A better balance becomes possible when a copy that is waited for is caught up.
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
            self._planned = self._agenda.plan(_next_multiple(self._agenda.now, self._every_s()), self._look)

    def _every_s(self) -> float:
        return self._application.scenario.group.heartbeat_s

    def _look(self) -> None:
        self._planned = None
        acceptable = self._application.configs.acceptable_recovery_lag
        if any(self._application.lag_of(t, c) <= acceptable for t, c in self._awaited):
            self._tell()
        else:
            self._listen()

    def _tell(self) -> None:
        self._trigger("heartbeat")


class _Watcher(_Heartbeats):
    """Protocol `streams` with `optassign watch`: members report their offsets now and then, and the watcher looks.

    Putting back the config that it touched is one more assignment, which changes nothing; it is left out here.
    """

    def __init__(self, application: Application, agenda: Agenda, trigger: Trigger) -> None:
        super().__init__(application, agenda, trigger)
        self._told: set[tuple[int, int]] = set()
        """Caught up, and the group was assigned for it: a copy lets it be assigned once."""

    def arm(self, answer: TaskAssignment) -> None:
        awaited = find_awaited(answer, self._application)
        self._told &= self._find_ready(awaited)
        self._awaited = awaited - self._told
        self._listen()

    def _find_ready(self, copies: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        acceptable = self._application.configs.acceptable_recovery_lag
        return {(t, c) for t, c in copies if self._application.lag_of(t, c) <= acceptable}

    def _every_s(self) -> float:
        return self._application.scenario.group.offset_interval_s

    def _tell(self) -> None:
        watch_s = self._application.scenario.group.watch_s
        assert watch_s is not None
        self._planned = self._agenda.plan(_next_multiple(self._agenda.now, watch_s), self._act)

    def _act(self) -> None:
        self._planned = None
        self._told |= self._find_ready(self._awaited)
        self._trigger("watcher")


class _Nothing(FollowUps):
    """Protocol `streams` (KIP-1071 as of Kafka 4.4): an assignor cannot ask to be called again."""

    def arm(self, answer: TaskAssignment) -> None:
        pass

    def disarm(self) -> None:
        pass


def make_followups(application: Application, agenda: Agenda, trigger: Trigger) -> FollowUps:
    """Those of the scenario's protocol."""
    if application.scenario.group.watch_s is not None:
        return _Watcher(application, agenda, trigger)
    kinds: dict[str, type[FollowUps]] = {"probing": _Timer, "learner": _Learners, "heartbeat": _Heartbeats, "streams": _Nothing}
    return kinds[application.scenario.group.protocol](application, agenda, trigger)


def _next_multiple(now: float, every_s: float) -> float:
    return (now // every_s + 1) * every_s


def find_followup_s(answer: TaskAssignment) -> float | None:
    """Seconds until the follow-up that the answer asks for."""
    asked = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    return min(asked) / 1000 if asked else None


def find_awaited(answer: TaskAssignment, application: Application) -> set[tuple[int, int]]:
    """Task and client of the copies that a follow-up would be for: warm-ups, and what the report says it waits for."""
    of_task = application.number_of
    of_client = {name: c for c, name in enumerate(application.client_ids)}
    warming = {(of_task[task], of_client[client.process_id]) for client in answer.clients for task in client.warmup}
    return warming | {(of_task[each.task], of_client[each.process_id]) for each in answer.report.waiting if each.slot}
