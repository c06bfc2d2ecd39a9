"""From a request to its answer: whose turn it is, what is remembered, who answers in time; then log, metrics, recording."""

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from optassign import __version__
from optassign.formats.assignment import Termination
from optassign.formats.json_head import read_members
from optassign.recordings.recording import RecordingHead
from optassign.service.deadlines import Schedule, schedule
from optassign.service.http.headers import RequestHead
from optassign.service.http.problem import Refusal, RequestRefusedError, refused, unavailable
from optassign.service.logs import event
from optassign.service.memory import Memory, Remembered
from optassign.service.metrics import Metrics
from optassign.service.recorder import Recorder
from optassign.service.settings import Limits
from optassign.service.workers.crew import Crew, Ticket
from optassign.service.workers.jobs import Answer, AssignJob, Failure

__all__ = ["Answered", "Rebalances", "application_of"]

_GREEDY = "greedy"
_ATTEMPTS = 2


@dataclass(frozen=True)
class Answered:
    """What is sent."""

    content: bytes
    at: int
    """Optassign-Answered-At."""


@dataclass(frozen=True)
class _Found:
    """An answer, who gave it, and why it was not the one who was asked."""

    answer: Answer
    ticket: Ticket
    fallback: Termination | None


@dataclass
class _Turn:
    lock: asyncio.Lock
    users: int = 0


class Rebalances:
    """Answers rebalances. Those of one application one after the other, as each may be the memory of the next."""

    def __init__(
        self, solvers: Crew, reserve: Crew, memory: Memory, metrics: Metrics, recorder: Recorder | None, limits: Limits
    ) -> None:
        self._solvers, self._reserve, self._memory, self._metrics = solvers, reserve, memory, metrics
        self._recorder, self._limits = recorder, limits
        self._turns: dict[str, _Turn] = {}
        self._order = itertools.count()
        self._afterwards: set[asyncio.Task[None]] = set()

    async def answer(
        self, head: RequestHead, body: bytes, arrived: float, disconnected: Callable[[], Awaitable[bool]]
    ) -> Answered:
        """Answer a request. RequestRefusedError if it is a bad one, or if nobody has an answer in time.

        arrived: by the loop's clock. disconnected: whether the plug-in has gone, so that it cannot have got the answer.
        """
        order, loop = next(self._order), asyncio.get_running_loop()
        times = schedule(body, arrived, head.deadline)
        application = application_of(body) if head.mode == "active" else None  # a shadow has no part in the memory
        async with self._turn(application, times.fallback):
            last = self._memory.get(application)
            self._check_date(application, head)
            job = AssignJob(
                body=body,
                limits=self._limits,
                assignor=self._solvers.assignor or _GREEDY,
                seconds=times.solved - loop.time(),
                remembered=None if last is None else last.answer,
                remembered_newer=last is not None and head.remembered_at is not None and last.at > head.remembered_at,
                keep_snapshot=self._recorder is not None,
            )
            found = await self._find(job, times)
            now = _milliseconds()
            in_time = loop.time() <= times.deadline and not await disconnected()
            at = self._memory.next_time(application, now, head.remembered_at)
            if application is not None and in_time:
                self._memory.put(application, Remembered(at, found.answer.content, order))
        task = loop.create_task(self._afterwards_of(found, head, at, now, in_time, arrived, loop.time()))
        self._afterwards.add(task)
        task.add_done_callback(self._afterwards.discard)
        return Answered(found.answer.content, at)

    def _check_date(self, application: str | None, head: RequestHead) -> None:
        latest = self._memory.latest(application, _milliseconds())
        if head.remembered_at is not None and head.remembered_at > latest:
            allowed = f"at most {latest}: a year ahead of the service's clock, or its last answer"
            raise refused(400, "the date is too far ahead", "Optassign-Remembered-At", str(head.remembered_at), allowed)

    async def finish(self, seconds: float) -> None:
        """Wait until all that was answered is logged and on its way to its recording; for so long at most."""
        if self._afterwards:
            await asyncio.wait(self._afterwards, timeout=seconds)

    @asynccontextmanager
    async def _turn(self, application: str | None, until: float) -> AsyncIterator[None]:
        """The application's turn. Who has waited until `until` goes on all the same: better an answer than the best memory."""
        if application is None:
            yield
            return
        turn = self._turns.setdefault(application, _Turn(asyncio.Lock()))
        turn.users += 1
        own = False
        try:
            try:
                async with asyncio.timeout_at(until):
                    own = await turn.lock.acquire()
            except TimeoutError:
                pass
            yield
        finally:
            if own:
                turn.lock.release()
            turn.users -= 1
            if not turn.users:
                del self._turns[application]

    async def _find(self, job: AssignJob, times: Schedule) -> _Found:
        """The assignor's answer, or greedy's where it has none in time."""
        loop = asyncio.get_running_loop()
        if loop.time() >= times.worth_asking:
            why = f"the deadline left no time for {job.assignor}"
            return await self._by_greedy(job, None, Termination(reason="limit", limit="time", detail=why), times)
        since = loop.time()
        first = await self._solvers.begin(job, times.worth_asking, times.kill)
        self._metrics.queue_seconds.observe(loop.time() - since)
        if first is None:
            why = f"no worker was free in time for {job.assignor}"
            return await self._by_greedy(job, None, Termination(reason="limit", limit="time", detail=why), times)
        done, _ = await asyncio.wait([first.outcome], timeout=times.fallback - loop.time())
        if not done:
            why = f"{job.assignor} was not done in time"
            return await self._by_greedy(job, first, Termination(reason="limit", limit="time", detail=why), times)
        failure = _failure(first)
        if failure is not None:
            return await self._by_greedy(job, None, Termination(reason="fallback", detail=failure.why), times)
        return _Found(_answer(first), first, None)

    async def _by_greedy(self, job: AssignJob, first: Ticket | None, why: Termination, times: Schedule) -> _Found:
        """Greedy's answer, unless the assignor's comes before it after all."""
        loop = asyncio.get_running_loop()
        seconds = times.give_up - loop.time()
        second = loop.create_task(self._reserved(replace(job, assignor=_GREEDY, seconds=seconds, fallback=why), times))
        open_: set[asyncio.Future[Any]] = {second} if first is None else {second, first.outcome}
        try:
            while open_:
                done, open_ = await asyncio.wait(
                    open_, timeout=times.give_up - loop.time(), return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
                if first is not None and first.outcome in done and _failure(first) is None:
                    return _Found(_answer(first), first, None)
                ticket = second.result() if second in done else None
                if ticket is not None and _failure(ticket) is None:
                    return _Found(_answer(ticket), ticket, why)
        finally:
            second.cancel()
        if open_ or second.result() is None:
            raise unavailable("no answer in time: all workers are busy", 1)
        raise refused(500, "no assignor has an answer")

    async def _reserved(self, job: AssignJob, times: Schedule) -> Ticket | None:
        """Greedy's ticket once its outcome is there; None if it could not even begin. If its worker dies, another tries."""
        ticket = None
        for _ in range(_ATTEMPTS):
            ticket = await self._reserve.begin(job, times.give_up, times.kill_greedy)
            if ticket is None:
                break
            await asyncio.wait([ticket.outcome])
            failure = _failure(ticket)
            if failure is None or not failure.died:
                break
        return ticket

    async def _afterwards_of(
        self, found: _Found, head: RequestHead, at: int, now: int, in_time: bool, arrived: float, answered: float
    ) -> None:
        """Log, metrics and recording of an answer."""
        answer, why = found.answer, found.fallback
        details = await found.ticket.details
        self._metrics.rebalances.labels(head.mode, why.reason if why else "answered").inc()
        self._metrics.solve_seconds.observe(answer.solve_seconds)
        self._metrics.late.inc(not in_time)
        if details is not None:
            self._metrics.answered(answer.application, details.summary)
        event(
            "rebalance",
            logging.WARNING if why is not None or not in_time else logging.INFO,
            application=answer.application,
            mode=head.mode,
            assignor=answer.assignor,
            fallback=None if why is None else why.detail,
            **({} if details is None else details.summary.model_dump()),
            memory=answer.memory,
            in_time=in_time,
            seconds_queue=round(found.ticket.begun - arrived, 4),
            seconds_solve=round(answer.solve_seconds, 4),
            seconds_total=round(answered - arrived, 4),
            plugin=head.plugin,
            ignored=list(answer.ignored),
            dropped={} if details is None else {name: number for name, number in details.dropped.items() if number},
        )
        if self._recorder is None:
            return
        if details is None or details.snapshot is None:
            self._metrics.unrecorded.inc()
            return
        recorded_at = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        recording = RecordingHead(
            format=1,
            application=answer.application,
            recorded_at=recorded_at,
            answered_at=at,
            mode=head.mode,
            in_time=in_time,
            assignor=answer.assignor,
            time_limit=answer.time_limit,
            fallback=why,
            memory=answer.memory,
            service=__version__,
            plugin=head.plugin,
            summary=details.summary,
        )
        self._recorder.put(recording, answer.content, details.snapshot)


def _milliseconds() -> int:
    """Since 1970."""
    return time.time_ns() // 1_000_000


def _failure(ticket: Ticket) -> Failure | None:
    outcome = ticket.outcome.result()
    return outcome if isinstance(outcome, Failure) else None


def _answer(ticket: Ticket) -> Answer:
    """The answer; RequestRefusedError if the request is a bad one."""
    outcome = ticket.outcome.result()
    if isinstance(outcome, Refusal):
        raise RequestRefusedError(outcome)
    assert isinstance(outcome, Answer)
    return outcome


def application_of(body: bytes) -> str | None:
    """The application's name, without reading more of the snapshot than comes before it.

    None where there is none; whether the rest is right is found out where it is read.
    """
    for name, value in read_members(body.decode("utf-8-sig", "replace")):
        if name == "application":
            return value if isinstance(value, str) else None
    return None
