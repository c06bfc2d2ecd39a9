"""A worker process, and the pipe that carries one job at a time to it."""

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from optassign.service.workers.messages import AssignJob, CompareJob, Details, Failure, Outcome, Spare

__all__ = ["Worker", "WorkerDiedError", "WorkerSpec", "run_one_job"]

_WORKER_ENDS_S = 5.0  # seconds after a job's limit until the process ends itself, in case the service has not ended it
_WORKER_STOPS_S = 5.0  # seconds for an idle process to end by itself before it is killed

_PR_SET_PDEATHSIG = 1


def _bind_to_parent(parent: int) -> None:
    """Let the system kill this process when its parent ends, even inside a library. Linux only.

    On other systems a process ends when it next reads its pipe.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(1)


def _limit_memory(most: int) -> None:
    """Limit the address space to `most` bytes, so that a process that runs out of memory fails alone. 0: no limit."""
    if not most:
        return
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):  # Windows, and some versions of macOS
        return


def _limit_time(seconds: float | None) -> None:
    """Let the system end this process after `seconds`; None cancels the limit."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # without a handler it also works inside a library
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else max(0.01, seconds))


_SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
_log = logging.getLogger(__name__)
_WARM = "warm"
"""A process's first message, when it is ready for jobs."""
_READ = "read"
"""A process's message after it has read and checked a job's body."""


class OtherJob(Protocol):
    """A job with its own method to run; its module loads no web framework."""

    def run(self, send: Callable[[Any], None]) -> None:
        """Run the job, and `send` its outcome once."""
        ...


class WorkerDiedError(Exception):
    """Raised if a process has ended: killed, out of memory, or crashed in a library."""


@dataclass(frozen=True)
class WorkerSpec:
    """The common settings of all workers of a kind."""

    assignor: str | None
    """The assignor that solves a small rebalance before the first job; None for no warm-up."""
    log_format: str
    niceness: int = 0
    """The niceness of the process: the greater, the more other processes come first."""
    memory: int = 0
    """Bytes of address space; 0 for no limit."""
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:class") of assignors from other packages."""


class Worker:
    """A process that does one job after the other.

    `start`, `run_job`, `stop` and `discard` block, and only one thread may call them at a time; any thread may call `kill`.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Return the process's id, or None without a process."""
        return None if self._process is None else self._process.pid

    @property
    def alive(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start a process and wait until it is warm. WorkerDiedError if it ends before."""
        ours, theirs = _SPAWN.Pipe()
        arguments = (theirs, self._spec, os.getpid())
        process = _SPAWN.Process(target=_run_process, args=arguments, daemon=True, name="optassign-worker")
        process.start()
        theirs.close()  # with it open, the end of the process would not be noticed here
        self._process, self._pipe = process, ours
        if self._receive() != _WARM:
            raise WorkerDiedError("the worker did not start")

    def run_job(
        self,
        job: AssignJob | CompareJob | OtherJob,
        seconds: float,
        on_outcome: Callable[[Outcome], None],
        note_read: Callable[[], None] = lambda: None,
        note_spare: Callable[[Spare], None] = lambda spare: None,
    ) -> Details | None:
        """Send the job, call `note_read` when its body is read, then `on_outcome` with its outcome, and return its details.

        `note_spare` gets a spare answer before the outcome. The process ends itself some time after `seconds`. WorkerDiedError
        if it dies before the end of the job.
        """
        assert self._pipe is not None
        try:
            self._pipe.send((job, seconds + _WORKER_ENDS_S))
        except OSError as error:
            raise WorkerDiedError(str(error)) from None
        while (received := self._receive()) == _READ or isinstance(received, Spare):
            if isinstance(received, Spare):
                note_spare(received)
            else:
                note_read()
        on_outcome(received)
        details: Details | None = self._receive()
        return details

    def kill(self) -> None:
        """Kill the process at once, busy or not."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Let an idle process end; kill a process that does not end."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(_WORKER_STOPS_S)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()

    def discard(self) -> None:
        """Kill the process and wait until it has ended."""
        self.kill()
        self.stop()

    def _receive(self) -> Any:
        assert self._pipe is not None
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDiedError("the worker process died") from None


def _run_process(pipe: Connection, spec: WorkerSpec, parent: int) -> None:
    """Run the worker process. It ends when the other end of the pipe is closed, and is killed with the service."""
    _bind_to_parent(parent)
    _limit_memory(spec.memory)
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole process group, but jobs under way must be finished
        signal.signal(number, signal.SIG_IGN)
    if spec.niceness and hasattr(os, "nice"):
        os.nice(spec.niceness)
    from optassign.assignor import register
    from optassign.service.logs import set_up_logging

    set_up_logging(spec.log_format)
    try:
        for name, place in spec.registered:
            register(name, place)
        if spec.assignor is not None:
            _warm_up(spec.assignor)
    except Exception:  # Python itself would write many lines between the log's
        _log.exception("a worker does not start")
        logging.shutdown()
        os._exit(1)
    with suppress(EOFError, OSError):
        pipe.send(_WARM)
        while True:
            job, seconds = pipe.recv()
            _limit_time(seconds)
            run_one_job(pipe, job)
            _limit_time(None)


def run_one_job(pipe: Connection, job: AssignJob | CompareJob | OtherJob) -> None:
    """Run a job, and send its messages: `_READ` and `Spare`, if the job has them; then the outcome, and the details or None."""
    outcomes = 0

    def send(outcome: Outcome | Spare) -> None:
        nonlocal outcomes
        outcomes += not isinstance(outcome, Spare)
        pipe.send(outcome)

    details = None
    try:
        if isinstance(job, AssignJob):
            from optassign.service.workers.jobs import run_assign  # the service and the page processes load no solver

            details = run_assign(job, send, lambda: pipe.send(_READ))
        elif isinstance(job, CompareJob):
            from optassign.service.workers.jobs import run_compare

            run_compare(job, send)
        else:
            job.run(send)
    except MemoryError:
        job = None  # type: ignore[assignment] # frees memory for the message
        if not outcomes:
            send(Failure("the worker ran out of memory", died=True))
        raise SystemExit(1) from None  # ending the process returns all of its memory
    except Exception as error:  # a bug ends only this job
        _log.exception("a job failed")
        if not outcomes:
            send(Failure(f"{type(error).__name__}: {error}"))
    pipe.send(details)  # raises and ends the process if the pipe is closed


def _warm_up(assignor: str) -> None:
    """Load all modules that solving needs, by solving."""
    from optassign.assignor import assign
    from optassign.generating import generate
    from optassign.service.workers import jobs  # noqa: F401 - the first job needs it

    start = time.perf_counter()
    assign(generate("scale-out", 24, 4, 1, seed=1), assignor, 5.0).model_dump_json()
    _log.debug("warm after %.1f s", time.perf_counter() - start)
