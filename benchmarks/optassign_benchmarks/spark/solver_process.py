"""Solving in a separate process with hard limits: a solve that hangs, crashes or exhausts memory costs one row.

Starting Python and loading the solver takes about a second, so one process serves a Python worker of Spark until it must be
killed. Then the next assignor gets a new process.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from optassign_benchmarks.grid import HistorySpec, Spec
from optassign_benchmarks.pedigree import describe_processor, list_versions

__all__ = [
    "SOLVER_MODULE",
    "Done",
    "Failed",
    "Message",
    "Phase",
    "ProcessOutcome",
    "Ready",
    "SolvedRow",
    "SolverJob",
    "SolverLimits",
    "SolverProcess",
    "Unreadable",
    "count_rows",
    "executor_columns",
    "shared_process",
]


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """The time and memory limits of one answer."""

    time_limit: float = 10.0
    """Seconds of solving, which the assignor itself keeps."""
    answer_limit: float = 60.0
    """Seconds of answering after which the process is killed."""
    convergence_limit: float = 60.0
    """Seconds of playing a convergence or a history after which the process is killed."""
    memory_limit: int = 4096
    """MiB of address space; 0 for no limit. Assignors in a JVM are not limited by it."""


@dataclass(frozen=True, slots=True)
class SolverJob:
    """A snapshot to generate or read, or a history to draw, and the assignors that answer it."""

    source: Spec | HistorySpec | bytes
    """Arguments of a generator, or the content of a recording."""
    assignors: tuple[str, ...]
    limits: SolverLimits
    parts: tuple[str, ...] = ("answer",)
    """The parts of the runner that are measured (`optassign_benchmarks.runner.PARTS`)."""
    recorded: bool = False
    """Whether to measure the recorded answer too, under the assignor name `recorded`."""
    scale: int = 1
    """Size of the snapshot as a multiple of the recorded size."""
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:attribute") of assignors from other packages."""
    threads: int = 1
    """Number of threads that numerical libraries may use."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Sent when the snapshot has been generated or read; `about` has columns about a recording."""

    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Phase:
    """Sent when the assignor begins a step. The process is killed if it sends no further message within `seconds`."""

    assignor: str
    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SolvedRow:
    """Sent with the columns of the assignor's row that are known so far."""

    assignor: str
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """Sent when the assignor has failed; the process continues with the next assignor."""

    assignor: str
    status: str
    error: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Sent if there is no snapshot: the recording is invalid, or the generator cannot make one."""

    reason: str
    status: str = "failed"


@dataclass(frozen=True, slots=True)
class Done:
    """Sent when the whole job is done."""


Message = Ready | Phase | SolvedRow | Failed | Unreadable | Done


SOLVER_MODULE = "optassign_benchmarks.spark.solver_main"
"""The program of the process; `ps` shows this name."""
_MAKING = 600.0
"""Seconds for starting the process, and for generating or reading a snapshot."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "annot allocate memory", "out of memory", "Out of memory")


@dataclass
class ProcessOutcome:
    """The result of a job."""

    about: dict[str, Any] = field(default_factory=dict)
    """Columns about the snapshot."""
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Assignor → columns, with `status` and `error`; in the order of the request."""
    unreadable: Unreadable | None = None
    """Why there is no snapshot, or None."""


class SolverProcess:
    """A process that runs jobs, started on demand."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this object

    def run(self, job: SolverJob) -> ProcessOutcome:
        """Run a job, and return its outcome. Any failure of an assignor becomes the status of its row."""
        outcome, started = ProcessOutcome(), datetime.now(UTC).isoformat(timespec="seconds")
        names = list(job.assignors)
        while True:
            todo = replace(
                job,
                assignors=tuple(name for name in names if "status" not in outcome.rows.get(name, {})),
                recorded=job.recorded and not outcome.rows,
            )
            is_done = self._run_until_killed(todo, outcome)
            if is_done or outcome.unreadable is not None or all("status" in outcome.rows.get(name, {}) for name in names):
                for row in outcome.rows.values():
                    row["started"] = started
                return outcome

    @property
    def pid(self) -> int | None:
        """Return the id of the process, or None without one."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process and all processes that it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run_until_killed(self, job: SolverJob, outcome: ProcessOutcome) -> bool:
        """Do as much of a job as one process can, and return whether the job is finished.

        If not, the process has ended, and the row of the busy assignor has its status.
        """
        at = Phase("", "starting", _MAKING)
        try:
            for message in self._receive(job):
                match message:
                    case Ready(about):
                        outcome.about = about
                    case Phase(assignor, _, _):
                        _finish_row(outcome, at.assignor, assignor)
                        at = message
                        outcome.rows.setdefault(assignor, {})
                    case SolvedRow(assignor, columns):
                        outcome.rows[assignor].update(columns)
                    case Failed(assignor, status, error):
                        outcome.rows[assignor].update(status=status, error=f"{at.what}: {error}")
                        if status == "out-of-memory":
                            self.close()  # after running out of memory, its heap is not reliable
                            return False
                    case Unreadable():
                        outcome.unreadable = message
                        return True
                    case Done():
                        _finish_row(outcome, at.assignor, "")
                        return True
            status, error = "timeout", f"no end within {at.seconds:g} s"
        except (EOFError, ConnectionError):
            status, error = self._explain_death()
        self.close()
        if at.assignor:
            outcome.rows[at.assignor].update(status=status, error=f"{at.what}: {error}")
        elif outcome.rows:  # the snapshot was made before, so only the assignors of this process fail
            for name in job.assignors:
                outcome.rows.setdefault(name, {}).update(status=status, error=f"making the snapshot: {error}")
        else:
            outcome.unreadable = Unreadable(f"making the snapshot: {error}", status)
        return False

    def _receive(self, job: SolverJob) -> Iterator[Message]:
        """Yield the messages of the process, until none arrives within the seconds of its step. EOFError if the process
        ends."""
        connection = self._connect(job.threads)
        connection.send(job)
        seconds = _MAKING
        while connection.poll(seconds):
            message: Message = connection.recv()
            if isinstance(message, Phase):
                seconds = message.seconds
            yield message

    def _connect(self, threads: int) -> Connection:
        """Return the connection to the process, which is started if it does not run."""
        if self._connection is not None and self._process is not None and self._process.poll() is None:
            return self._connection
        self.close()
        own_end, other_end = Pipe()
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path), MALLOC_ARENA_MAX="2")
        environment.update(dict.fromkeys(_THREADS, str(threads)))
        self._errors.seek(0)
        self._errors.truncate()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", SOLVER_MODULE, str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[other_end.fileno()],
                env=environment,
                start_new_session=True,  # so that its children can be killed with it
            )
        finally:
            other_end.close()
        self._connection = own_end
        return own_end

    def _explain_death(self) -> tuple[str, str]:
        """Return status and reason of a process that has ended by itself."""
        assert self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(errors) if line.strip()), "")
        if code == -signal.SIGKILL or any(words in line for line in errors for words in _OUT_OF_MEMORY):
            return "out-of-memory", f"killed for want of memory: {last or 'SIGKILL, not ours'}"
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return "failed", f"the process ended {how}: {last or 'it said nothing'}"


def _finish_row(outcome: ProcessOutcome, assignor: str, following: str) -> None:
    """Set the row of an assignor that has not failed to ok when the next assignor begins."""
    if assignor and assignor != following and "status" not in outcome.rows[assignor]:
        outcome.rows[assignor].update(status="ok", error=None)


_shared: SolverProcess | None = None


def shared_process() -> SolverProcess:
    """Return the process that serves this Python worker of Spark, created at the first call."""
    global _shared
    if _shared is None:
        _shared = SolverProcess()
        atexit.register(_shared.close)
    return _shared


def _forget_after_fork() -> None:
    """Let a forked child start its own process, since the inherited one serves its parent."""
    global _shared
    _shared = None


os.register_at_fork(after_in_child=_forget_after_fork)


def executor_columns() -> dict[str, Any]:
    """Return the columns that only the executor knows: its host, processor and versions, and the threads of a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return {
        "host": socket.gethostname(),
        "solver_threads": context.cpus() if context is not None else 1,
        "processor": describe_processor(),
        **list_versions(),
    }


def count_rows(finished: Any, number: int = 1) -> None:
    """Add `number` to Spark's accumulator `finished`, whose sum the driver gets when the task has ended."""
    global _frozen_modules
    finished.add(number)
    # Spark's Python worker collects garbage after each task, which takes 50 ms for the objects of all modules. These live as
    # long as the worker, so freezing excludes them from collection.
    if len(sys.modules) > _frozen_modules:
        gc.freeze()
        _frozen_modules = len(sys.modules)


_frozen_modules = 0
"""Number of loaded modules when objects were last frozen."""
