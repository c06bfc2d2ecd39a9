"""Answers to rebalances: a request's turn, the remembered answer and the new answer, then log, metrics and recording."""

import asyncio
import logging
import math
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from optassign import __version__
from optassign.recordings.recording import RecordingHead
from optassign.service.application_clocks import ApplicationClocks
from optassign.service.clock import format_utc
from optassign.service.http.refusals import Refusal, RequestRefusedError, make_unavailable
from optassign.service.http.request import RequestHead, find_application
from optassign.service.logs import log_event
from optassign.service.memory import Memory, Remembered, Turns
from optassign.service.metrics import Metrics
from optassign.service.newest import Newest
from optassign.service.operators.last_rebalance import make_last_rebalance
from optassign.service.operators.operator_requests import OperatorRequests
from optassign.service.recorder import Recorder
from optassign.service.settings import Settings
from optassign.service.workers.messages import Answer, AssignJob, Details, Failure
from optassign.service.workers.pool import RunningJob, Schedule, WorkerPool, make_schedule

__all__ = ["AnswerFinder", "FoundAnswer", "NoAnswerError", "Rebalances", "SentAnswer", "Shared"]

_REMEMBERED_REBALANCES = 4_096  # answered rebalances that are remembered: their reports arrive soon or never
_FATAL_REQUEST_S = 600
"""Seconds until a request that ended a worker may be sent again; the service may have been repaired by then."""
_FATAL_REQUESTS = 1_000  # remembered requests that ended a worker: the bound limits memory


@dataclass(frozen=True)
class FoundAnswer:
    """An answer, and the job that gave it."""

    answer: Answer
    job: RunningJob


class NoAnswerError(RequestRefusedError):
    """Raised if the assignor failed, or missed the deadline."""


class AnswerFinder:
    """The caller of the solvers. If a solver is late or dies, the finder returns greedy's answer, which was ready before the
    solver started. Without an answer the request is refused, and the plug-in's planner answers.

    A request that killed a worker, or that a worker could not read in time, is refused for `_FATAL_REQUEST_S` seconds.
    """

    def __init__(self, solvers: WorkerPool, metrics: Metrics) -> None:
        self._solvers, self._metrics = solvers, metrics
        self._fatal = Newest[int, float](_FATAL_REQUESTS)
        """Key of a job that ended a worker → time until which the same job is refused, by the loop's clock."""

    async def find(self, job: AssignJob, times: Schedule) -> FoundAnswer:
        """Return the answer to a rebalance.

        RequestRefusedError for a bad request (4xx), or if no worker takes it or its worker dies (503). NoAnswerError if the
        assignor fails (500) or misses the deadline (503).
        """
        loop = asyncio.get_running_loop()
        if self._fatal and self._fatal.get(_find_key(job), -math.inf) > loop.time():
            raise make_unavailable(
                "the service does not retry the request, because it ended a worker before", _FATAL_REQUEST_S, "worker died"
            )
        since = loop.time()
        running = await self._solvers.start_job(job, times)
        self._metrics.queue_seconds.observe(loop.time() - since)
        if running is None:
            busy = "all workers are busy" if self._solvers.started else "the service is starting, and no worker is ready yet"
            raise make_unavailable(f"no answer in time: {busy}", 1, "busy" if self._solvers.started else "starting")
        read_or_done: set[asyncio.Future[Any]] = {running.read, running.outcome}
        await asyncio.wait(read_or_done, timeout=running.read_by - loop.time(), return_when=FIRST_COMPLETED)
        if not running.read.done() and not running.outcome.done():
            raise self.give_up_on(job, "it was not read by the deadline")
        await asyncio.wait([running.outcome], timeout=times.spare - loop.time())
        if not running.outcome.done():
            answers: set[asyncio.Future[Any]] = {running.outcome, running.spare}
            await asyncio.wait(answers, timeout=times.give_up - loop.time(), return_when=FIRST_COMPLETED)
        spare = running.spare.result().answer if running.spare.done() else None
        outcome = running.outcome.result() if running.outcome.done() else None
        has_died = isinstance(outcome, Failure) and outcome.died
        if spare is not None and (outcome is None or has_died):
            if has_died:
                self._note_fatal(job)
            return FoundAnswer(spare, running)
        if outcome is None:
            why = f"no answer in time: {job.assignor} is not done"
            raise NoAnswerError(Refusal(503, why, headers={"Retry-After": "1"}, reason="late"))
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure) and outcome.died:
            raise self.give_up_on(job, outcome.why)
        if isinstance(outcome, Failure):
            raise NoAnswerError(Refusal(500, f"{job.assignor} has no answer", found=outcome.why))
        return FoundAnswer(outcome, running)

    def give_up_on(self, job: AssignJob, why: str) -> RequestRefusedError:
        """Ban the request from all workers, and return the refusal."""
        self._note_fatal(job)
        return make_unavailable(f"no worker can take the request: {why}", _FATAL_REQUEST_S, "worker died")

    def _note_fatal(self, job: AssignJob) -> None:
        self._fatal[_find_key(job)] = asyncio.get_running_loop().time() + _FATAL_REQUEST_S


def _find_key(job: AssignJob) -> int:
    """Return an equal number for equal jobs. A report that ended a worker may still be read without solving."""
    return hash((job.body, job.report, job.solve))


@dataclass(frozen=True)
class Shared:
    """The components that exist once in a service."""

    finder: AnswerFinder
    memory: Memory
    turns: Turns
    metrics: Metrics
    recorder: Recorder | None
    """None: rebalances are not recorded."""
    operator_requests: OperatorRequests
    clocks: ApplicationClocks
    read_seconds: Callable[[], float]
    """Returns seconds since 1970."""


@dataclass(frozen=True)
class SentAnswer:
    """The answer that a plug-in receives."""

    content: bytes
    at: int
    """Optassign-Answered-At, milliseconds since 1970."""


@dataclass(frozen=True)
class _AnsweredRequest:
    """The data of a request for metrics, log and recording, in addition to its answer."""

    head: RequestHead
    answered_at: int
    """Optassign-Answered-At, milliseconds since 1970."""
    ready_at: int
    """Time at which the answer was ready, milliseconds since 1970."""
    in_time: bool
    arrived: float
    """The time of its arrival by the loop's clock."""
    answered: float
    """The time of the answer by the loop's clock."""


class Rebalances:
    """A handler of rebalances. Rebalances of one application are answered one after the other, since each answer may be the
    memory of the next."""

    def __init__(self, settings: Settings, shared: Shared) -> None:
        self._requests, self._read_seconds = shared.operator_requests, shared.read_seconds
        self._assignor, self._limits, self._default_deadline = settings.assignor, settings.limits, settings.default_deadline
        self._finder, self._memory, self._turns = shared.finder, shared.memory, shared.turns
        self._metrics, self._recorder, self._clocks = shared.metrics, shared.recorder, shared.clocks
        self._reports: set[asyncio.Task[None]] = set()
        self._asked = Newest[str, None](_REMEMBERED_REBALANCES)
        """Ids of the most recently requested rebalances."""
        self._answered = Newest[str, asyncio.Task[None]](_REMEMBERED_REBALANCES)
        """Id of a rebalance → the task that logs and records its answer."""

    async def answer(
        self, head: RequestHead, body: bytes, arrived: float, disconnected: Callable[[], Awaitable[bool]]
    ) -> SentAnswer:
        """Return the answer to a request. RequestRefusedError for a bad request, or if there is no answer.

        arrived: by the loop's clock. disconnected: returns whether the plug-in has left; then the answer is not remembered.
        """
        order, loop = self._memory.next_order(), asyncio.get_running_loop()
        if head.rebalance is not None:
            self._asked[head.rebalance] = None
        times = make_schedule(body, arrived, head.find_deadline(self._default_deadline))
        application = find_application(body) if head.mode == "active" else None  # requests in shadow mode do not use the memory
        async with self._turns.take(application, times.latest_start):
            last = self._memory.get(application)
            if head.remembered_at is not None:
                self._memory.check_date("Optassign-Remembered-At", head.remembered_at)
            job = AssignJob(
                body=body,
                limits=self._limits,
                remembering=(application,) if head.mode == "active" else None,
                assignor=self._assignor,
                application=find_application(body),
                remembered=None if last is None else last.answer,
                remembered_newer=last is not None and head.remembered_at is not None and last.at > head.remembered_at,
                keep_snapshot=self._recorder is not None,
                options=self._requests.get_options(find_application(body), is_applied=head.runs_followups),
            )
            found = await self._finder.find(job, times)
            now = round(self._read_seconds() * 1000)
            in_time = loop.time() <= times.deadline and not await disconnected()
            at = self._memory.choose_next_time(application, now, head.remembered_at)
            if application is not None and in_time:
                self._memory.put(application, Remembered(at, found.answer.content, order, head.rebalance))
        request = _AnsweredRequest(head, at, now, in_time, arrived, loop.time())
        report = loop.create_task(self._report(found, job, request))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)
        if head.rebalance is not None:
            self._answered[head.rebalance] = report
        return SentAnswer(found.answer.content, at)

    def was_asked(self, rebalance: str) -> bool:
        """Return whether the service was asked for a rebalance, with or without an answer."""
        return rebalance in self._asked

    async def await_recording(self, rebalance: str) -> bool:
        """Return whether the service has answered a rebalance; if so, wait until its recording is queued."""
        report = self._answered.get(rebalance)
        if report is None:
            return False
        await asyncio.wait([report])
        return True

    async def finish(self, seconds: float) -> None:
        """Wait until every answer is logged and queued for recording, at most `seconds`."""
        if self._reports:
            await asyncio.wait(self._reports, timeout=seconds)

    async def _report(self, found: FoundAnswer, job: AssignJob, request: _AnsweredRequest) -> None:
        """Count, log and record an answer, after the worker has sent the details."""
        details, name = await found.job.details, found.answer.application
        outcome = found.job.outcome.result()
        if details is None or not isinstance(outcome, Answer) or outcome.content != found.answer.content:
            details = await self._read_again(found.answer, job)
        last = self._memory.get(name)
        is_newest = last is None or last.at <= request.answered_at
        self._count(found, request, details, is_newest=is_newest)
        if name is not None:
            await self._requests.note_rebalance(name)
        if details is not None and request.head.mode == "active" and name is not None and is_newest:
            requests_outcome = details.requests_outcome
            self._requests.clients.note(name, requests_outcome.clients)
            if request.in_time:  # otherwise the plug-in reports what it applied instead
                forgot = requests_outcome.forgot_plan
                await self._requests.note_outcome(name, requests_outcome.drains, has_forgotten=forgot)
        _log_answer(found, request, details)
        if details is None or details.summary is None:
            self._metrics.unrecorded.inc(self._recorder is not None)
            return
        head = RecordingHead(
            format=1,
            application=found.answer.application,
            recorded_at=format_utc(request.ready_at / 1000),
            answered_at=request.answered_at,
            mode=request.head.mode,
            in_time=request.in_time,
            assignor=found.answer.assignor,
            time_limit=found.answer.time_limit,
            memory=found.answer.memory,
            service=__version__,
            plugin=request.head.plugin,
            rebalance=request.head.rebalance,
            seconds=round(request.answered - request.arrived, 4),
            summary=details.summary,
            overview=details.overview,
        )
        head = self._clocks.advance(head) if is_newest else head
        if head.applied and is_newest:
            self._metrics.show_applied(head)
            if head.application is not None:
                self._requests.note_last_rebalance(head.application, make_last_rebalance(head))
        if self._recorder is not None and details.snapshot is None:
            self._metrics.unrecorded.inc()
        elif self._recorder is not None and details.snapshot is not None:
            self._recorder.put(head, found.answer.content, details.snapshot)

    async def _read_again(self, answer: Answer, job: AssignJob) -> Details | None:
        """Return the details of a sent answer whose worker died, or went on to another answer; None if no worker reads it.

        Another worker reads snapshot and answer like a report, without solving.
        """
        body = b'{"snapshot":%b,"applied":%b}' % (job.body, answer.content)
        times = make_schedule(body, asyncio.get_running_loop().time(), self._default_deadline)
        try:
            read = await self._finder.find(replace(job, body=body, report=True, solve=False), times)
        except RequestRefusedError:
            return None
        details = await read.job.details
        if details is None or details.applied is None:
            return None
        applied = details.applied
        return replace(
            details, summary=applied.summary, overview=applied.overview, requests_outcome=applied.requests_outcome, applied=None
        )

    def _count(self, found: FoundAnswer, request: _AnsweredRequest, details: Details | None, *, is_newest: bool) -> None:
        summary = None if details is None else details.summary
        self._metrics.count_rebalance(request.head.mode, summary)
        self._metrics.solve_seconds.observe(found.answer.solve_seconds)
        self._metrics.late.inc(not request.in_time)
        if details is not None and summary is not None and is_newest:
            self._metrics.show_last_answer(found.answer.application, summary, details.requests_outcome)


def _log_answer(found: FoundAnswer, request: _AnsweredRequest, details: Details | None) -> None:
    answer = found.answer
    why = "" if details is None or details.summary is None else details.summary.why_greedy
    log_event(
        "rebalance",
        logging.WARNING if why or not request.in_time else logging.INFO,
        application=answer.application,
        mode=request.head.mode,
        assignor=answer.assignor,
        fallback=why or None,
        **({} if details is None or details.summary is None else {**details.summary.model_dump(), **details.log_fields}),
        memory=answer.memory,
        in_time=request.in_time,
        seconds_queue=round(found.job.begun - request.arrived, 4),
        seconds_solve=round(answer.solve_seconds, 4),
        seconds_total=round(request.answered - request.arrived, 4),
        plugin=request.head.plugin,
        ignored=list(answer.ignored),
        dropped={} if details is None else {name: number for name, number in details.dropped.items() if number},
    )
