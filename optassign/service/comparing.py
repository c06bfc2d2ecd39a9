"""`POST /v1/compare`: a comparison for people, in a process of its own, so that no rebalance waits for it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from optassign.service.jobs import Answer, CompareJob, Failure, Outcome
from optassign.service.problem import Refusal, RequestRefusedError, refused, unavailable
from optassign.service.worker import Worker, WorkerDiedError, WorkerSpec

__all__ = ["Comparing"]

_LONGEST = 300.0
"""Seconds of a comparison."""


class Comparing:
    """At most one comparison at a time."""

    def __init__(self, log_format: str) -> None:
        self._spec = WorkerSpec(assignor=None, log_format=log_format, niceness=10)
        self._worker: Worker | None = None

    async def compare(self, job: CompareJob) -> Answer:
        """The comparison. RequestRefusedError for a bad snapshot, while another is under way, or if it takes too long."""
        if self._worker is not None:
            raise unavailable("another comparison is under way", 10)
        self._worker = worker = Worker(self._spec)
        outcomes: list[Outcome] = []
        loop = asyncio.get_running_loop()
        overdue = loop.call_later(_LONGEST, worker.kill)
        with ThreadPoolExecutor(1, thread_name_prefix="optassign-compare") as thread:
            try:
                await loop.run_in_executor(thread, worker.start)
                await loop.run_in_executor(thread, lambda: worker.do(job, outcomes.append))
            except WorkerDiedError:
                outcomes = outcomes or [Failure(f"it took more than {_LONGEST:g} s, or its process died")]
            finally:
                overdue.cancel()
                await loop.run_in_executor(thread, worker.bury)
                self._worker = None
        outcome = outcomes[0]
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure):
            raise refused(500, "there is no comparison", found=outcome.why)
        return outcome

    def stop(self) -> None:
        """Give up what is under way."""
        if self._worker is not None:
            self._worker.kill()
