"""A separate process for the jobs of people, such as pages and comparisons, so that no rebalance waits for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign.service.workers.messages import Answer, CompareJob, Failure, Outcome
from optassign.service.workers.worker import OtherJob, Worker, WorkerDiedError, WorkerSpec

__all__ = ["SideProcess"]

_PAGE_NICENESS = 10  # niceness of processes that make pages: rebalances come first


class SideProcess:
    """A process that does one job at a time. It starts with the first job, and is killed with a job that takes too long."""

    def __init__(
        self,
        failed: str,
        busy: str,
        spec: WorkerSpec,
        make_worker: Callable[[WorkerSpec], Worker] = Worker,
        *,
        seconds: float,
        most_jobs: int,
        is_kept: bool = True,
    ) -> None:
        """Start without a process. failed, busy: the errors of a failed job and of too many jobs; seconds: limit of one job;
        most_jobs: limit of jobs, including waiting jobs; is_kept: whether the process also serves the next jobs."""
        self._failed, self._busy = failed, busy
        self._spec = replace(spec, assignor=None, niceness=_PAGE_NICENESS)
        self._make_worker = make_worker
        self._seconds, self._most_jobs, self._is_kept = seconds, most_jobs, is_kept
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="optassign-side")
        self._turn = asyncio.Lock()
        self._jobs = 0
        self._given_up: RequestRefusedError | None = None
        """The refusal of the job under way, if it was given up."""
        self._stopping = False

    async def run(self, job: CompareJob | OtherJob) -> Answer:
        """Run a job, and return its answer. RequestRefusedError for a bad request, too many jobs, a failure, or a job that
        takes too long."""
        if self._jobs >= self._most_jobs:
            raise make_unavailable(self._busy, 10, "pages")
        self._jobs += 1
        try:
            async with self._turn:
                if self._stopping:
                    raise _make_stopped()
                outcome = await self._run(job)
        finally:
            self._jobs -= 1
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure):
            raise make_refusal(500, self._failed, found=outcome.why[:300])
        return outcome

    def stop(self) -> None:
        """Give up the job under way, and refuse new jobs."""
        self._stopping = True
        self._give_up(_make_stopped())

    async def _run(self, job: CompareJob | OtherJob) -> Outcome:
        loop = asyncio.get_running_loop()
        if self._worker is None or not self._worker.alive:
            self._worker = self._make_worker(self._spec)
        worker = self._worker
        outcomes: list[Outcome] = []
        self._given_up = None
        too_long = make_unavailable(f"{self._failed}: it takes more than {self._seconds:g} s", 10, "pages")
        overdue = loop.call_later(self._seconds, self._give_up, too_long)
        is_done = False
        try:
            if not worker.alive:
                await loop.run_in_executor(self._thread, worker.start)
            if self._given_up is None:  # otherwise the job was given up while the process started
                await loop.run_in_executor(self._thread, lambda: worker.run_job(job, self._seconds, outcomes.append))
                is_done = True
        except (WorkerDiedError, OSError) as error:
            outcomes.append(Failure(str(error)))
        finally:
            overdue.cancel()
            if not (is_done and self._is_kept):
                worker.kill()  # at once: `discard` waits for the thread, which waits for the job
                self._worker = None
                await loop.run_in_executor(self._thread, worker.discard)
        if self._given_up is not None and (not outcomes or isinstance(outcomes[0], Failure)):
            raise self._given_up
        return outcomes[0]

    def _give_up(self, why: RequestRefusedError) -> None:
        self._given_up = why
        if self._worker is not None:
            self._worker.kill()


def _make_stopped() -> RequestRefusedError:
    return make_unavailable("the service is shutting down", 1, "stopping")
