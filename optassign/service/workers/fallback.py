"""The assignor's answer to a rebalance, or greedy's where the assignor has none in time."""

import asyncio
import math
from asyncio import FIRST_COMPLETED
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from optassign.formats.assignment import Termination
from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign.service.metrics import Metrics
from optassign.service.workers.deadlines import Schedule
from optassign.service.workers.messages import Answer, AssignJob, Failure
from optassign.service.workers.pool import RunningJob, WorkerPool

__all__ = ["AnswerFinder", "FoundAnswer"]

_GREEDY = "greedy"
_LONG = 600
"""Seconds after which such a request might be sent again, to a service that has been repaired."""
_MOST_FATAL = 1000
"""Requests that are remembered as they have cost a worker."""


@dataclass(frozen=True)
class FoundAnswer:
    """An answer, and the job that it came from."""

    answer: Answer
    job: RunningJob
    fallback: Termination | None
    """Why it is greedy's; None where it is the answer of the assignor that was asked."""


class AnswerFinder:
    """Asks the solvers and, where they have no answer in time, greedy on the workers that are kept for it (the reserve).

    A request that has cost a worker, or that a solver could not read in time, goes to no other: it would cost that one too.
    """

    def __init__(self, solvers: WorkerPool, reserve: WorkerPool, metrics: Metrics) -> None:
        self._solvers, self._reserve, self._metrics = solvers, reserve, metrics
        self._fatal: OrderedDict[int, float] = OrderedDict()
        """Hash of a body that has cost a worker -> until when it is refused."""

    async def find(self, job: AssignJob, times: Schedule) -> FoundAnswer:
        """The answer to a rebalance. RequestRefusedError if the request is a bad one, or if no assignor has an answer in
        time."""
        loop = asyncio.get_running_loop()
        if self._fatal and self._fatal.get(hash(job.body), -math.inf) > loop.time():
            raise make_unavailable("a worker ended over the same request before: it is not tried again", _LONG)
        if loop.time() >= times.worth_asking:
            return await self._ask_greedy(job, None, _blame_time_limit(f"the deadline left no time for {job.assignor}"), times)
        since = loop.time()
        running = await self._solvers.start_job(job, times.worth_asking, times, times.kill)
        self._metrics.queue_seconds.observe(loop.time() - since)
        if running is None:
            why = f"no worker was free in time for {job.assignor}"
            if not self._solvers.started:
                why = f"the service is starting: no worker has loaded {job.assignor} yet"
            return await self._ask_greedy(job, None, _blame_time_limit(why), times)
        done, _ = await asyncio.wait([running.outcome], timeout=times.fallback - loop.time())
        if not done:
            await self._wait_until_read(job, running, times)
        if not running.outcome.done():
            return await self._ask_greedy(job, running, _blame_time_limit(f"{job.assignor} was not done in time"), times)
        failure = _get_failure(running)
        if failure is not None and failure.died:
            raise self._give_up_on(job, failure.why)
        if failure is not None:
            return await self._ask_greedy(job, None, Termination(reason="fallback", detail=failure.why), times)
        return FoundAnswer(_get_answer(running), running, None)

    async def _wait_until_read(self, job: AssignJob, running: RunningJob, times: Schedule) -> None:
        """Wait until a solver has read the request. RequestRefusedError if it has not by the deadline."""
        loop = asyncio.get_running_loop()
        either: set[asyncio.Future[Any]] = {running.read, running.outcome}
        await asyncio.wait(either, timeout=times.deadline - loop.time(), return_when=FIRST_COMPLETED)
        if not running.read.done() and not running.outcome.done():
            raise self._give_up_on(job, "it was not read by the deadline")

    def _give_up_on(self, job: AssignJob, why: str) -> RequestRefusedError:
        """Note that the request must not come to another worker, and say why there is no answer."""
        self._fatal[hash(job.body)] = asyncio.get_running_loop().time() + _LONG
        while len(self._fatal) > _MOST_FATAL:
            self._fatal.popitem(last=False)
        return make_unavailable(f"no worker can take the request: {why}", _LONG)

    async def _ask_greedy(self, job: AssignJob, running: RunningJob | None, why: Termination, times: Schedule) -> FoundAnswer:
        """Greedy's answer, unless the assignor's, whose job may be `running` still, comes before it after all."""
        loop = asyncio.get_running_loop()
        seconds = times.give_up - loop.time()
        by_greedy = loop.create_task(self._run_greedy(replace(job, assignor=_GREEDY, seconds=seconds, fallback=why), times))
        pending: set[asyncio.Future[Any]] = {by_greedy} if running is None else {by_greedy, running.outcome}
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=times.give_up - loop.time(), return_when=FIRST_COMPLETED)
                if not done:
                    break
                if running is not None and running.outcome in done and _get_failure(running) is None:
                    return FoundAnswer(_get_answer(running), running, None)
                ended = by_greedy.result() if by_greedy in done else None
                failure = None if ended is None else _get_failure(ended)
                if failure is not None and failure.died:
                    self._give_up_on(job, failure.why)
                if ended is not None and failure is None:
                    return FoundAnswer(_get_answer(ended), ended, why)
        finally:
            by_greedy.cancel()
        if pending or by_greedy.result() is None:
            busy = "all workers are busy" if self._reserve.started else "the service is starting, and no worker is ready yet"
            raise make_unavailable(f"no answer in time: {busy}", 1)
        raise make_refusal(500, "no assignor has an answer")

    async def _run_greedy(self, job: AssignJob, times: Schedule) -> RunningJob | None:
        """Greedy's job once its outcome is there; None if it could not even begin."""
        # While the service starts, better a refusal that says so in time than an answer too late.
        until = times.give_up if self._reserve.started else times.deadline
        running = await self._reserve.start_job(job, until, times, times.kill_greedy)
        if running is not None:
            await asyncio.wait([running.outcome])
        return running


def _blame_time_limit(detail: str) -> Termination:
    return Termination(reason="limit", limit="time", detail=detail)


def _get_failure(job: RunningJob) -> Failure | None:
    """Why a job whose outcome is there has no answer; None where it has one, or a refusal."""
    outcome = job.outcome.result()
    return outcome if isinstance(outcome, Failure) else None


def _get_answer(job: RunningJob) -> Answer:
    """The answer of a job that has not failed; RequestRefusedError if the request is a bad one."""
    outcome = job.outcome.result()
    if isinstance(outcome, Refusal):
        raise RequestRefusedError(outcome)
    assert isinstance(outcome, Answer)
    return outcome
