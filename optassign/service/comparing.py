"""`POST /v1/compare`: a comparison for people, in a process of its own, so that no rebalance waits for it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from optassign.service.http.problem import Refusal, RequestRefusedError, refused, unavailable
from optassign.service.workers.jobs import Answer, CompareJob, Failure, Outcome
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec

__all__ = ["Comparing"]

_LONGEST = 300.0
"""Seconds of a comparison."""


class Comparing:
    """At most one comparison at a time."""

    def __init__(self, log_format: str) -> None:
        self._spec = WorkerSpec(assignor=None, log_format=log_format, niceness=10)
        self._worker: Worker | None = None
        self._given_up: RequestRefusedError | None = None
        """Why the comparison that is under way need not go on."""
        self._stopping = False

    async def compare(self, job: CompareJob) -> Answer:
        """The comparison. RequestRefusedError for a bad snapshot, while another is under way, if it takes too long, or if the
        service stops."""
        if self._stopping:  # since its body began to arrive
            raise _stopped()
        if self._worker is not None:
            raise unavailable("another comparison is under way", 10)
        self._worker = worker = Worker(self._spec)
        self._given_up = None
        outcomes: list[Outcome] = []
        loop = asyncio.get_running_loop()
        too_long = unavailable(f"there is no comparison after {_LONGEST:g} s", 10)
        overdue = loop.call_later(_LONGEST, self._give_up, too_long)
        with ThreadPoolExecutor(1, thread_name_prefix="optassign-compare") as thread:
            try:
                await loop.run_in_executor(thread, worker.start)
                if self._given_up is None:  # else it may have been before there was a process to kill
                    await loop.run_in_executor(thread, lambda: worker.do(job, outcomes.append))
            except (WorkerDiedError, OSError) as error:
                outcomes.append(Failure(str(error)))
            finally:
                overdue.cancel()
                worker.kill()  # at once: `bury` waits for the thread, which waits for the job
                try:
                    await loop.run_in_executor(thread, worker.bury)
                finally:
                    self._worker = None
        if self._given_up is not None and (not outcomes or isinstance(outcomes[0], Failure)):
            raise self._given_up
        outcome = outcomes[0]
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure):
            raise refused(500, "there is no comparison", found=outcome.why)
        return outcome

    def stop(self) -> None:
        """Give up what is under way, and take nothing more."""
        self._stopping = True
        self._give_up(_stopped())

    def _give_up(self, why: RequestRefusedError) -> None:
        self._given_up = why
        if self._worker is not None:
            self._worker.kill()


def _stopped() -> RequestRefusedError:
    return unavailable("the service is shutting down", 1)
