"""One worker process and the way to it: a pipe that carries one job at a time."""

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

_WORKER_ENDS_S = 5.0  # seconds after the limits of its job until a process that the service has not ended ends itself
_WORKER_STOPS_S = 5.0  # seconds for an idle process to end by itself, before it is killed

_PR_SET_PDEATHSIG = 1


def _bind_to_parent(parent: int) -> None:
    """Have the system kill this process once its parent is gone, also in the midst of a library. Linux only.

    On other systems a process ends when it next reads its pipe.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it went before we said so
        os._exit(1)


def _limit_memory(most: int) -> None:
    """Limit the address space to `most` bytes: beyond it memory is refused, and the process fails alone. 0: no limit."""
    if not most:
        return
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):  # not on Windows; not on every macOS
        return


def _limit_time(seconds: float | None) -> None:
    """Have the system end this process after `seconds` seconds, if it still runs; None: not any more."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # no handler: it works in the midst of a library as well
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else max(0.01, seconds))


_SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
_log = logging.getLogger(__name__)
_WARM = "warm"
"""A process's first message, once it is ready for jobs."""
_READ = "read"
"""Its message once it has read and checked a job's body."""


class OtherJob(Protocol):
    """A job that knows itself how it is done; its module loads no web framework."""

    def run(self, send: Callable[[Any], None]) -> None:
        """Do it, and `send` its outcome, once."""
        ...


class WorkerDiedError(Exception):
    """The process is gone: killed, out of memory, or crashed in a library."""


@dataclass(frozen=True)
class WorkerSpec:
    """The common settings of all workers of a kind."""

    assignor: str | None
    """The one that a small rebalance warms up before the first job; None: nothing is warmed up."""
    log_format: str
    niceness: int = 0
    """As `nice` counts it: how far it stands back from other processes where processors are scarce."""
    memory: int = 0
    """Bytes of address space; 0: no limit."""
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:class") of assignors that are not optassign's own."""


class Worker:
    """A process that does one job after the other.

    `start`, `run_job`, `stop` and `discard` block, and are for one thread at a time; `kill` may be called from any.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """The process's id, if there is one."""
        return None if self._process is None else self._process.pid

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start a process and wait until it is warm. WorkerDiedError if it does not get that far."""
        ours, theirs = _SPAWN.Pipe()
        arguments = (theirs, self._spec, os.getpid())
        process = _SPAWN.Process(target=_run_process, args=arguments, daemon=True, name="optassign-worker")
        process.start()
        theirs.close()  # otherwise its end would not be seen here
        self._process, self._pipe = process, ours
        if self._receive() != _WARM:
            raise WorkerDiedError("it did not start as it should")

    def run_job(
        self,
        job: AssignJob | CompareJob | OtherJob,
        seconds: float,
        hand_on: Callable[[Outcome], None],
        note_read: Callable[[], None] = lambda: None,
        note_spare: Callable[[Spare], None] = lambda spare: None,
    ) -> Details | None:
        """Send the job, call `note_read` once it is read, then `hand_on` with its outcome; return its details.

        A spare answer goes to `note_spare` before.

        The process ends itself some time after `seconds`. WorkerDiedError if it dies before.
        """
        assert self._pipe is not None
        try:
            self._pipe.send((job, seconds + _WORKER_ENDS_S))
        except OSError as error:
            raise WorkerDiedError(str(error)) from None
        while (said := self._receive()) == _READ or isinstance(said, Spare):
            if isinstance(said, Spare):
                note_spare(said)
            else:
                note_read()
        hand_on(said)
        details: Details | None = self._receive()
        return details

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Let an idle process end; one that does not is killed."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(_WORKER_STOPS_S)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()

    def discard(self) -> None:
        """Kill the process and wait until it is gone."""
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
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole group, but jobs under way are to be finished
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
    except Exception:  # left to Python, it would be many lines in the midst of the log's
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
    """Do a job, and send that its body is read, if it says so, then its outcome, then its details or None."""
    outcomes = 0

    def send(outcome: Outcome | Spare) -> None:
        nonlocal outcomes
        outcomes += not isinstance(outcome, Spare)
        pipe.send(outcome)

    details = None
    try:
        if isinstance(job, AssignJob):
            from optassign.service.workers.jobs import run_assign  # the service and processes of pages load no solver

            details = run_assign(job, send, lambda: pipe.send(_READ))
        elif isinstance(job, CompareJob):
            from optassign.service.workers.jobs import run_compare

            run_compare(job, send)
        else:
            job.run(send)
    except MemoryError:
        job = None  # type: ignore[assignment] # room to say so
        if not outcomes:
            send(Failure("the worker has not so much memory", died=True))
        raise SystemExit(1) from None  # what it holds is better given back whole
    except Exception as error:  # whatever a bug raises is this job's alone
        _log.exception("a job failed")
        if not outcomes:
            send(Failure(f"{type(error).__name__}: {error}"))
    pipe.send(details)  # ends the process if the pipe is closed


def _warm_up(assignor: str) -> None:
    """Load all that solving needs, by solving."""
    from optassign.assignor import assign
    from optassign.generating import generate
    from optassign.service.workers import jobs  # noqa: F401 - what the first job needs

    start = time.perf_counter()
    assign(generate("scale-out", 24, 4, 1, seed=1), assignor, 5.0).model_dump_json()
    _log.debug("warm after %.1f s", time.perf_counter() - start)
