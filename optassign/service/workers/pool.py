"""A pool of workers: small jobs come first, and a worker that dies is replaced."""

import asyncio
import heapq
import itertools
import logging
import math
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from optassign.service.logs import log_event
from optassign.service.workers.messages import AssignJob, Details, Failure, Outcome, Spare
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec

__all__ = ["RunningJob", "Schedule", "WorkerPool", "make_schedule"]

_GREEDY_S = 0.05
"""Seconds of greedy for the smallest group, with reading and writing; measured from 1,000 × 100 to 10,000 × 1,000."""
_GREEDY_S_PER_TASK = 5e-05  # seconds of greedy for each task; measured from 1,000 × 100 to 10,000 × 1,000
_GREEDY_S_PER_BYTE = 3e-08
"""Seconds of greedy for each byte of the snapshot; measured from 1,000 × 100 to 10,000 × 1,000."""
_BUSY_FACTOR = 1.5  # factor on greedy's time on a busy machine: other processes share its cores
_WRITING_SHARE = 0.3
"""Share of greedy's time for checking and writing another assignor's answer; a solver's time limit ends that much earlier."""
_SPARE_SHARE = 0.33
"""Share of greedy's time that remains after the spare answer is sent, for writing it to the connection."""
_GRACE_S = 1.0  # seconds after deadline and greedy's time until a request is refused: the plug-in has stopped waiting by then
_OVERDUE_S = 5.0  # seconds from then until a worker is killed: a worker within its limits has ended
_FIRST_PAUSE_S = 0.5  # seconds until a worker that failed to start is started again; each later pause is twice as long
_LONGEST_PAUSE_S = 30.0  # seconds of such a pause, at most: a repaired service answers again within that time
_HEAVY_S = 1.0
"""Seconds from which a job is heavy. Heavy jobs never occupy all of several workers, so that small groups do not wait for large
ones."""
_WORKER_LOOK_S = 1.0  # seconds between two checks of idle workers: a dead worker is replaced before it is needed


@dataclass(frozen=True)
class Schedule:
    """The points in time of a request by the loop's clock, in ascending order, and two durations: `reading` and `cost`."""

    solved: float
    """The assignor's time limit. An assignor that includes greedy, such as cp-sat, answers by then."""
    latest_start: float
    """The latest start with an answer in time, greedy's at least. An idle worker takes the job even later."""
    spare: float
    """The spare answer is sent if the solver has no answer by then."""
    deadline: float
    """The plug-in stops waiting; a later answer is still sent."""
    give_up: float
    """The request is refused if there is no answer."""
    reading: float
    """Seconds for reading and checking the body; a worker has at least this time, even beyond the deadline."""
    cost: float
    """Estimated seconds of work."""
    kill: float
    """The worker is killed if it is still busy with the job, since a solver may never end."""


def make_schedule(body: bytes, arrived: float, seconds: float) -> Schedule:
    """Return the schedule of a request from the size of `body`, the snapshot, and the `seconds` until its deadline."""
    tasks = body.count(b'"stateful"')
    greedy = _BUSY_FACTOR * (_GREEDY_S + _GREEDY_S_PER_TASK * tasks + _GREEDY_S_PER_BYTE * len(body))
    deadline = arrived + seconds
    latest_start = deadline - greedy
    give_up = deadline + greedy + _GRACE_S
    return Schedule(
        solved=latest_start - _WRITING_SHARE * greedy,
        latest_start=latest_start,
        spare=deadline - _SPARE_SHARE * greedy,
        deadline=deadline,
        give_up=give_up,
        reading=greedy + _GRACE_S,
        cost=greedy,
        kill=give_up + _OVERDUE_S,
    )


T = TypeVar("T")


@dataclass
class RunningJob:
    """A job that a worker has begun."""

    read: asyncio.Future[None]
    """Done when the body has been read and checked, or the job has ended."""
    outcome: asyncio.Future[Outcome]
    spare: asyncio.Future[Spare]
    """Done before the outcome, or never."""
    details: asyncio.Future[Details | None]
    """Done after the outcome; None without details."""
    read_by: float
    """Time at which a worker that has not read the body is killed, by the loop's clock."""
    begun: float = field(default_factory=time.monotonic)


@dataclass(order=True)
class _Waiter:
    """A job that waits for a worker."""

    bucket: int
    """The logarithm of the job's cost; jobs in a bucket keep their order of arrival."""
    number: int
    heavy: bool = field(compare=False)
    worker: asyncio.Future[Worker] = field(compare=False)


class WorkerPool:
    """A fixed number of workers, with a thread for each that waits for its messages. Used by one event loop only."""

    def __init__(self, size: int, spec: WorkerSpec, make_worker: Callable[[WorkerSpec], Worker] = Worker) -> None:
        self.waiting = 0
        """Number of jobs that no worker has begun."""
        self.replaced = 0
        """Number of workers that have died."""
        self.started = False
        """Whether any worker has been warm."""
        self._workers = [make_worker(spec) for _ in range(size)]
        self._warm: set[Worker] = set()
        self._idle: list[Worker] = []
        self._waiters: list[_Waiter] = []
        self._numbers = itertools.count()
        self._heavy: set[Worker] = set()
        """Workers with a heavy job."""
        self._due: dict[Worker, float] = {}
        """Worker with a job → time by which the job should be done."""
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="optassign-solver")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def warm(self) -> int:
        """Return the number of workers that can take jobs or have a job."""
        return len(self._warm)

    @property
    def busy(self) -> int:
        """Return the number of workers with a job."""
        return len(self._warm) - len(self._idle)

    @property
    def able(self) -> int:
        """Return the number of workers without a job, or with a job that is not overdue."""
        now = asyncio.get_running_loop().time()
        return sum(self._due.get(worker, now) >= now for worker in self._warm)

    def start(self) -> None:
        """Start all workers; they become warm one after the other."""
        for worker in self._workers:
            self._create_task(self._start_worker(worker))
        self._create_task(self._watch_idle_workers())

    async def start_job(self, job: AssignJob, times: Schedule) -> RunningJob | None:
        """Give a job to the first free worker, or return None if no worker is free before `times.latest_start`.

        The job's `seconds` become the remaining time for solving when it begins.
        """
        worker = await self._wait_for_worker(times.cost, times.latest_start)
        if worker is None:
            return None
        loop = asyncio.get_running_loop()
        if times.cost > _HEAVY_S:
            self._heavy.add(worker)
        self._due[worker] = read_by = max(times.deadline, loop.time() + times.reading)
        running = RunningJob(loop.create_future(), loop.create_future(), loop.create_future(), loop.create_future(), read_by)
        now = loop.time()
        job = replace(job, seconds=max(0.0, times.solved - now), spare_seconds=max(0.0, times.spare - now))
        self._create_task(self._run_job(worker, job, running, times.kill))
        return running

    async def _wait_for_worker(self, cost: float, until: float) -> Worker | None:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(math.ceil(math.log2(cost)), next(self._numbers), cost > _HEAVY_S, loop.create_future())
        heapq.heappush(self._waiters, waiter)
        self.waiting += 1
        self._give_out()
        try:
            await asyncio.wait([waiter.worker], timeout=until - loop.time())
            return waiter.worker.result() if waiter.worker.done() else None
        except asyncio.CancelledError:
            if waiter.worker.done():
                self._take_back(waiter.worker.result())
            raise
        finally:
            self.waiting -= 1
            waiter.worker.cancel()

    def _give_out(self) -> None:
        """Assign idle workers to waiting jobs."""
        passed_by = []
        while self._idle and self._waiters:
            waiter = heapq.heappop(self._waiters)
            if waiter.worker.done():  # its request has stopped waiting
                continue
            if waiter.heavy and len(self._heavy) >= max(1, len(self._workers) - 1):
                passed_by.append(waiter)
                continue
            worker = self._idle.pop()
            if worker.alive:
                waiter.worker.set_result(worker)
            else:
                self._create_task(self._replace(worker, "it had no job"))
                passed_by.append(waiter)
        for waiter in passed_by:
            heapq.heappush(self._waiters, waiter)

    def _take_back(self, worker: Worker) -> None:
        """Make a worker without a job available again."""
        self._heavy.discard(worker)
        self._due.pop(worker, None)
        self._idle.append(worker)
        self._give_out()

    async def close(self) -> None:
        """End all workers, busy or not."""
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
        """Run a coroutine in the background. The pool keeps a reference, without which the task might be garbage-collected."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_worker(self, worker: Worker) -> None:
        """Start a worker's process, with retries until it starts."""
        pause = _FIRST_PAUSE_S
        while not self._closing:
            try:
                await self._call_in_thread(worker.start)
            except (WorkerDiedError, OSError) as error:
                log_event("worker_failed", logging.ERROR, why=str(error), next_try_seconds=pause)
                await self._call_in_thread(worker.discard)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                self._warm.add(worker)
                self.started = True
                log_event("worker_ready", pid=worker.pid)
                self._take_back(worker)
                return

    async def _run_job(self, worker: Worker, job: AssignJob, running: RunningJob, kill_at: float) -> None:
        loop = asyncio.get_running_loop()

        def on_outcome(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(_set_result, running.outcome, outcome)

        def note_read() -> None:
            loop.call_soon_threadsafe(_set_result, running.read, None)

        def note_spare(spare: Spare) -> None:
            loop.call_soon_threadsafe(_set_result, running.spare, spare)

        def kill_reading() -> None:
            if not running.read.done():
                worker.kill()

        unread, overdue = loop.call_at(running.read_by, kill_reading), loop.call_at(kill_at, worker.kill)
        seconds = kill_at - loop.time()
        try:
            details = await self._call_in_thread(lambda: worker.run_job(job, seconds, on_outcome, note_read, note_spare))
        except WorkerDiedError as error:
            why = str(error)
            if not running.read.done() and loop.time() >= running.read_by:
                why = "it had not read its request by the deadline, and was killed"
            elif loop.time() >= kill_at:
                why = "it was not done long after the deadline, and was killed"
            _set_result(running.outcome, Failure(why, died=True))
            _set_result(running.details, None)
            await self._replace(worker, why, job.application)
        else:
            _set_result(running.details, details)
            self._take_back(worker)
        finally:
            _set_result(running.read, None)
            unread.cancel()
            overdue.cancel()

    async def _watch_idle_workers(self) -> None:
        """Replace workers that die without a job, before they get one."""
        while True:
            await asyncio.sleep(_WORKER_LOOK_S)
            for worker in [worker for worker in self._idle if not worker.alive]:
                self._idle.remove(worker)
                self._create_task(self._replace(worker, "it had no job"))
            self._give_out()

    async def _replace(self, worker: Worker, why: str, application: str | None = None) -> None:
        """Log the death of a worker and its application, and start a new process for it."""
        self._warm.discard(worker)
        self._heavy.discard(worker)
        self._due.pop(worker, None)
        if not self._closing:
            self.replaced += 1
            log_event("worker_died", logging.ERROR, pid=worker.pid, why=why, application=application)
            await self._call_in_thread(worker.discard)
            self._create_task(self._start_worker(worker))

    async def _call_in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _set_result(future: asyncio.Future[T], value: T) -> None:
    """Set the result of a future, unless the future is done."""
    if not future.done():
        future.set_result(value)
