"""The assignor's answer to a rebalance, or the refusal after which the plug-in's planner answers."""

import asyncio
import math
from asyncio import FIRST_COMPLETED
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_unavailable
from optassign.service.metrics import Metrics
from optassign.service.workers.messages import Answer, AssignJob, Failure
from optassign.service.workers.pool import RunningJob, Schedule, WorkerPool
from optassign_models.policy.constants import FATAL_REQUEST_S, FATAL_REQUESTS

__all__ = ["AnswerFinder", "FoundAnswer", "NoAnswerError"]


@dataclass(frozen=True)
class FoundAnswer:
    """An answer, and the job that it came from."""

    answer: Answer
    job: RunningJob


class NoAnswerError(RequestRefusedError):
    """The assignor was asked, and failed or was not done in time."""


class AnswerFinder:
    """Asks the solvers. Without an answer in time it refuses the request, and the plug-in plans by itself.

    A request that has cost a worker, or that a solver could not read in time, goes to no other: it would cost that one too.
    """

    def __init__(self, solvers: WorkerPool, metrics: Metrics) -> None:
        self._solvers, self._metrics = solvers, metrics
        self._fatal: OrderedDict[int, float] = OrderedDict()
        """Hash of a body that has cost a worker -> until when it is refused."""

    async def find(self, job: AssignJob, times: Schedule) -> FoundAnswer:
        """Find the answer to a rebalance.

        RequestRefusedError if the request is a bad one (4xx) or no worker takes it (503); NoAnswerError if the assignor fails
        (500) or is not done in time (503).
        """
        loop = asyncio.get_running_loop()
        if self._fatal and self._fatal.get(hash(job.body), -math.inf) > loop.time():
            raise make_unavailable("a worker ended over the same request before: it is not tried again", FATAL_REQUEST_S)
        since = loop.time()
        running = await self._solvers.start_job(job, times)
        self._metrics.queue_seconds.observe(loop.time() - since)
        if running is None:
            busy = "all workers are busy" if self._solvers.started else "the service is starting, and no worker is ready yet"
            raise make_unavailable(f"no answer in time: {busy}", 1)
        read_or_done: set[asyncio.Future[Any]] = {running.read, running.outcome}
        await asyncio.wait(read_or_done, timeout=running.read_by - loop.time(), return_when=FIRST_COMPLETED)
        if not running.read.done() and not running.outcome.done():
            raise self._give_up_on(job, "it was not read by the deadline")
        await asyncio.wait([running.outcome], timeout=times.give_up - loop.time())
        if not running.outcome.done():
            raise NoAnswerError(Refusal(503, f"no answer in time: {job.assignor} is not done", headers={"Retry-After": "1"}))
        outcome = running.outcome.result()
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure) and outcome.died:
            raise self._give_up_on(job, outcome.why)
        if isinstance(outcome, Failure):
            raise NoAnswerError(Refusal(500, f"{job.assignor} has no answer", found=outcome.why))
        return FoundAnswer(outcome, running)

    def _give_up_on(self, job: AssignJob, why: str) -> RequestRefusedError:
        """Note that the request must not come to another worker, and say why there is no answer."""
        self._fatal[hash(job.body)] = asyncio.get_running_loop().time() + FATAL_REQUEST_S
        while len(self._fatal) > FATAL_REQUESTS:
            self._fatal.popitem(last=False)
        return make_unavailable(f"no worker can take the request: {why}", FATAL_REQUEST_S)
