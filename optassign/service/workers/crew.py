"""Several workers of a kind: jobs in the order they come, each to the first that is free; a worker that dies is replaced."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from optassign.service.logs import event
from optassign.service.workers.jobs import AssignJob, Details, Failure, Outcome
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec

__all__ = ["Crew", "Ticket"]

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
"""Seconds between attempts to replace a worker that does not start."""
_ROUND = 1.0
"""Seconds between looks at the idle workers."""


@dataclass
class Ticket:
    """A job that a worker has begun."""

    outcome: asyncio.Future[Outcome]
    details: asyncio.Future[Details | None]
    """Follows the outcome; None where there is nothing to tell."""
    begun: float = field(default_factory=time.monotonic)


class Crew:
    """A fixed number of workers. To be used from one event loop."""

    def __init__(self, name: str, size: int, spec: WorkerSpec) -> None:
        self.name, self.size, self.assignor = name, size, spec.assignor
        self.waiting = 0
        """Jobs that no worker has begun."""
        self.replaced = 0
        """Workers that died, all in all."""
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
            self._spawn(self._raise(worker))
        self._spawn(self._look_after_the_idle())

    async def begin(self, job: AssignJob, until: float, kill_at: float) -> Ticket | None:
        """Give a job to the first free worker; None if none is free before `until`.

        Its `seconds` are cut to what is left when it begins. kill_at: when the worker is killed if it is not done with it.
        Both by the loop's clock.
        """
        self.waiting += 1
        try:
            async with asyncio.timeout_at(until):
                worker = await self._idle.get()
                while not worker.alive:
                    self._spawn(self._replace(worker, "it had no job"))
                    worker = await self._idle.get()
        except TimeoutError:
            return None
        finally:
            self.waiting -= 1
        loop = asyncio.get_running_loop()
        ticket = Ticket(loop.create_future(), loop.create_future())
        job = replace(job, seconds=max(0.0, min(job.seconds, until - loop.time())))
        self._spawn(self._run(worker, job, ticket, kill_at))
        return ticket

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

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _raise(self, worker: Worker) -> None:
        """Start a worker's process, as often as it takes."""
        pause = _FIRST_PAUSE
        while not self._closing:
            try:
                await self._in_thread(worker.start)
            except (WorkerDiedError, OSError) as error:
                event("worker_failed", logging.ERROR, crew=self.name, why=str(error), next_try_seconds=pause)
                await self._in_thread(worker.bury)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._warm.add(worker)
                event("worker_ready", crew=self.name, pid=worker.pid)
                self._idle.put_nowait(worker)
                return

    async def _run(self, worker: Worker, job: AssignJob, ticket: Ticket, kill_at: float) -> None:
        loop = asyncio.get_running_loop()

        def say(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(_settle, ticket.outcome, outcome)

        overdue = loop.call_at(kill_at, worker.kill)
        try:
            details = await self._in_thread(lambda: worker.do(job, say))
        except WorkerDiedError as error:
            _settle(ticket.outcome, Failure(str(error), died=True))
            _settle(ticket.details, None)
            late = loop.time() >= kill_at
            await self._replace(worker, "it was not done long after the deadline, and was killed" if late else str(error))
        else:
            _settle(ticket.details, details)
            self._idle.put_nowait(worker)
        finally:
            overdue.cancel()

    async def _look_after_the_idle(self) -> None:
        """Replace workers that die while they have no job, before they get one."""
        while True:
            await asyncio.sleep(_ROUND)
            for _ in range(self._idle.qsize()):
                worker = self._idle.get_nowait()
                if worker.alive:
                    self._idle.put_nowait(worker)
                else:
                    self._spawn(self._replace(worker, "it had no job"))

    async def _replace(self, worker: Worker, why: str) -> None:
        self._warm.discard(worker)
        if not self._closing:
            self.replaced += 1
            event("worker_died", logging.ERROR, crew=self.name, pid=worker.pid, why=why)
            await self._in_thread(worker.bury)
            self._spawn(self._raise(worker))

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)
