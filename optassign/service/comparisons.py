"""`POST /v1/compare`: a comparison for people, in a process of its own, so that no rebalance waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal, make_unavailable
from optassign.service.workers.messages import Answer, CompareJob, Failure, Outcome
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec
from optassign_models.policy.constants import COMPARISON_S

__all__ = ["Comparisons"]


class Comparisons:
    """Makes comparisons, at most one at a time."""

    def __init__(self, spec: WorkerSpec, make_worker: Callable[[WorkerSpec], Worker] = Worker) -> None:
        self._spec = replace(spec, assignor=None, niceness=10)
        self._make_worker = make_worker
        self._worker: Worker | None = None
        self._given_up: RequestRefusedError | None = None
        """Why the comparison that is under way need not go on."""
        self._stopping = False

    async def compare(self, job: CompareJob) -> Answer:
        """What `optassign compare --format json` prints.

        RequestRefusedError for a bad snapshot, while another comparison is under way, if it takes too long, or if the service
        stops.
        """
        if self._stopping:  # since its body began to arrive
            raise _make_stopped()
        if self._worker is not None:
            raise make_unavailable("another comparison is under way", 10)
        self._worker = worker = self._make_worker(self._spec)
        self._given_up = None
        outcomes: list[Outcome] = []
        loop = asyncio.get_running_loop()
        too_long = make_unavailable(f"there is no comparison after {COMPARISON_S:g} s", 10)
        overdue = loop.call_later(COMPARISON_S, self._give_up, too_long)
        with ThreadPoolExecutor(1, thread_name_prefix="optassign-compare") as thread:
            try:
                await loop.run_in_executor(thread, worker.start)
                if self._given_up is None:  # otherwise it may have been before there was a process to kill
                    await loop.run_in_executor(thread, lambda: worker.run_job(job, COMPARISON_S, outcomes.append))
            except (WorkerDiedError, OSError) as error:
                outcomes.append(Failure(str(error)))
            finally:
                overdue.cancel()
                worker.kill()  # at once: `discard` waits for the thread, which waits for the job
                try:
                    await loop.run_in_executor(thread, worker.discard)
                finally:
                    self._worker = None
        if self._given_up is not None and (not outcomes or isinstance(outcomes[0], Failure)):
            raise self._given_up
        outcome = outcomes[0]
        if isinstance(outcome, Refusal):
            raise RequestRefusedError(outcome)
        if isinstance(outcome, Failure):
            raise make_refusal(500, "there is no comparison", found=outcome.why)
        return outcome

    def stop(self) -> None:
        """Give up what is under way, and take nothing more."""
        self._stopping = True
        self._give_up(_make_stopped())

    def _give_up(self, why: RequestRefusedError) -> None:
        self._given_up = why
        if self._worker is not None:
            self._worker.kill()


def _make_stopped() -> RequestRefusedError:
    return make_unavailable("the service is shutting down", 1)
