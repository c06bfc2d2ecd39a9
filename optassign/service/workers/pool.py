"""Several workers of a kind: jobs in the order they come, each to the first that is free; a worker that dies is replaced."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from optassign.service.logs import log_event
from optassign.service.workers.messages import AssignJob, Details, Failure, Outcome
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec

__all__ = ["RunningJob", "WorkerPool"]

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
"""Seconds between attempts to replace a worker that does not start."""
_CHECK_SECONDS = 1.0
"""Between checks whether the idle workers are still alive."""


@dataclass
class RunningJob:
    """A job that a worker has begun."""

    outcome: asyncio.Future[Outcome]
    details: asyncio.Future[Details | None]
    """Follows the outcome; None where there is nothing to tell."""
    begun: float = field(default_factory=time.monotonic)


class WorkerPool:
    """A fixed number of workers, each with a thread that waits for it. To be used from one event loop.

    `name` is that of the pool in the log, where its field is called crew.
    """

    def __init__(self, name: str, size: int, spec: WorkerSpec) -> None:
        self._name = name
        self.waiting = 0
        """Jobs that no worker has begun."""
        self.replaced = 0
        """Workers that died, all in all."""
        self.started = False
        """Whether any worker has been warm yet."""
        self._workers = [Worker(spec) for _ in range(size)]
        self._warm: set[Worker] = set()
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=f"optassign-{name}")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def warm(self) -> int:
        """Workers that can take jobs or have one."""
        return len(self._warm)

    @property
    def busy(self) -> int:
        """Workers with a job."""
        return len(self._warm) - self._idle.qsize()

    def start(self) -> None:
        """Start all workers; they become warm by and by."""
        for worker in self._workers:
            self._create_task(self._start_worker(worker))
        self._create_task(self._watch_idle_workers())

    async def start_job(self, job: AssignJob, until: float, kill_at: float) -> RunningJob | None:
        """Give a job to the first free worker; None if none is free before `until`.

        Its `seconds` are cut to what is left when it begins. kill_at: when the worker is killed if it is not done with it.
        Both by the loop's clock.
        """
        self.waiting += 1
        try:
            async with asyncio.timeout_at(until):
                worker = await self._idle.get()
                while not worker.alive:
                    self._create_task(self._replace(worker, "it had no job"))
                    worker = await self._idle.get()
        except TimeoutError:
            return None
        finally:
            self.waiting -= 1
        loop = asyncio.get_running_loop()
        running = RunningJob(loop.create_future(), loop.create_future())
        job = replace(job, seconds=max(0.0, min(job.seconds, until - loop.time())))
        self._create_task(self._run_job(worker, job, running, kill_at))
        return running

    async def close(self) -> None:
        """End all workers, whatever they do."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=True)
        for worker in self._workers:
            worker.stop()

    def _create_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run it in the background; the loop itself would not keep it from being collected as garbage."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_worker(self, worker: Worker) -> None:
        """Start a worker's process, as often as it takes."""
        pause = _FIRST_PAUSE
        while not self._closing:
            try:
                await self._call_in_thread(worker.start)
            except (WorkerDiedError, OSError) as error:
                log_event("worker_failed", logging.ERROR, crew=self._name, why=str(error), next_try_seconds=pause)
                await self._call_in_thread(worker.discard)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._warm.add(worker)
                self.started = True
                log_event("worker_ready", crew=self._name, pid=worker.pid)
                self._idle.put_nowait(worker)
                return

    async def _run_job(self, worker: Worker, job: AssignJob, running: RunningJob, kill_at: float) -> None:
        loop = asyncio.get_running_loop()

        def hand_on(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(_set_result, running.outcome, outcome)

        overdue = loop.call_at(kill_at, worker.kill)
        try:
            details = await self._call_in_thread(lambda: worker.run_job(job, hand_on))
        except WorkerDiedError as error:
            _set_result(running.outcome, Failure(str(error), died=True))
            _set_result(running.details, None)
            late = loop.time() >= kill_at
            await self._replace(worker, "it was not done long after the deadline, and was killed" if late else str(error))
        else:
            _set_result(running.details, details)
            self._idle.put_nowait(worker)
        finally:
            overdue.cancel()

    async def _watch_idle_workers(self) -> None:
        """Replace workers that die while they have no job, before they get one."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            for _ in range(self._idle.qsize()):
                worker = self._idle.get_nowait()
                if worker.alive:
                    self._idle.put_nowait(worker)
                else:
                    self._create_task(self._replace(worker, "it had no job"))

    async def _replace(self, worker: Worker, why: str) -> None:
        """Log that the worker died, and start a new process for it."""
        self._warm.discard(worker)
        if not self._closing:
            self.replaced += 1
            log_event("worker_died", logging.ERROR, crew=self._name, pid=worker.pid, why=why)
            await self._call_in_thread(worker.discard)
            self._create_task(self._start_worker(worker))

    async def _call_in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _set_result(future: asyncio.Future[T], value: T) -> None:
    """Set the result, unless there is one or the future was cancelled."""
    if not future.done():
        future.set_result(value)
