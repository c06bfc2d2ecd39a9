"""The processes that make pages: one for what is looked at, one for what takes longer; each is started when first needed."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign.service.pages.jobs import PageJob
from optassign.service.workers.messages import Answer, Failure, Outcome
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec
from optassign_models.policy.service import PAGE_NICENESS

__all__ = ["PageMaker"]


class PageMaker:
    """Makes pages, one at a time, in a process of its own."""

    def __init__(
        self, spec: WorkerSpec, make_worker: Callable[[WorkerSpec], Worker] = Worker, *, seconds: float, most_waiting: int
    ) -> None:
        """seconds: for one page, after which the process is ended; most_waiting: pages, beyond which none is taken."""
        self._spec = replace(spec, assignor=None, niceness=PAGE_NICENESS)
        self._make_worker = make_worker
        self._seconds, self._most_waiting = seconds, most_waiting
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="optassign-page")
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._stopping = False

    async def make(self, job: PageJob) -> Answer:
        """The page. RequestRefusedError for what there is not, if too many wait, or if it takes too long."""
        if self._waiting >= self._most_waiting:
            raise make_unavailable("too many pages are waited for", 2)
        self._waiting += 1
        try:
            async with self._turn:
                if self._stopping:
                    raise make_unavailable("the service is shutting down", 1)
                outcome = await self._run(job)
        finally:
            self._waiting -= 1
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure):
            raise make_refusal(500, "the page cannot be made", found=outcome.why[:300])
        return outcome

    def stop(self) -> None:
        """Give up what is under way, and take nothing more."""
        self._stopping = True
        if self._worker is not None:
            self._worker.kill()
        self._thread.shutdown(wait=False)

    async def _run(self, job: PageJob) -> Outcome:
        loop = asyncio.get_running_loop()
        outcomes: list[Outcome] = []
        overdue: asyncio.TimerHandle | None = None
        try:
            if self._worker is None or not self._worker.alive:
                self._worker = self._make_worker(self._spec)
                await loop.run_in_executor(self._thread, self._worker.start)
            worker = self._worker
            overdue = loop.call_later(self._seconds, worker.kill)
            await loop.run_in_executor(self._thread, lambda: worker.run_job(job, self._seconds, outcomes.append))
        except (WorkerDiedError, OSError, RuntimeError) as error:
            if self._worker is not None:
                self._worker.kill()
            self._worker = None
            if not outcomes:
                what = str(error)
                if overdue is not None and overdue.when() <= loop.time():
                    what = f"it takes more than {self._seconds:g} s"
                raise make_unavailable(f"the page cannot be made: {what}", 5) from None
        finally:
            if overdue is not None:
                overdue.cancel()
        return outcomes[0]
