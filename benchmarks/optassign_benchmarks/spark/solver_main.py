"""The program of the solver process: `python -m optassign_benchmarks.spark.solver_main FD`.

`solver_process.py` starts it, watches it, and kills it if it takes too long. It receives one job after another over its
connection and reports its steps, so that the busy assignor is known. It ends with the connection, even while busy, so that a
killed executor leaves no process behind.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from optassign.assignor import find_traits, register
from optassign.formats.input_errors import InputError
from optassign.formats.state import ApplicationState
from optassign.generating.dealing import NotBalancedError
from optassign_benchmarks.grid import HistorySpec, Spec
from optassign_benchmarks.runner import describe_answer, measure
from optassign_benchmarks.spark.recordings import RECORDED, decode_recording
from optassign_benchmarks.spark.solver_process import Done, Failed, Message, Phase, Ready, SolvedRow, SolverJob, Unreadable

MEASURING = 600.0
"""Seconds for loading an assignor, drawing a history, or measuring an answer; far more than any of these takes."""
_MIB = 1 << 20


def main(connection: Connection) -> None:
    """Do jobs until the connection closes, which ends the process."""
    with suppress(OSError):  # if the machine runs out of memory, Linux kills this process and not the executor
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    jobs: SimpleQueue[SolverJob] = SimpleQueue()
    threading.Thread(target=_queue_jobs, args=(connection, jobs), daemon=True).start()
    while True:
        _do_job(jobs.get(), connection.send)


def _queue_jobs(connection: Connection, jobs: SimpleQueue[SolverJob]) -> None:
    """Queue arriving jobs. Kill the process group when the other end of the connection is closed."""
    try:
        while True:
            jobs.put(connection.recv())
    except (EOFError, OSError):
        os.killpg(0, signal.SIGKILL)


def _do_job(job: SolverJob, say: Callable[[Message], None]) -> None:
    for name, target in job.registered:
        register(name, target, replace=True)
    if isinstance(job.source, HistorySpec):
        say(Ready({}))
        for name in job.assignors:
            say(Phase(name, "loading", MEASURING))
            _run_guarded(name, job, say, partial(_measure, name, job, job.source, say))
        say(Done())
        return
    try:
        with _LimitedMemory(job.limits.memory_limit):
            state, about, recorded = _make_snapshot(job)
    except MemoryError:
        say(Unreadable(_describe_limit(job), "out-of-memory"))
        return
    except (InputError, NotBalancedError, ValueError) as error:
        say(Unreadable(_to_line(error)))
        return
    say(Ready(about))
    if job.recorded and recorded is not None:
        say(Phase(RECORDED, "measuring", MEASURING))
        _run_guarded(RECORDED, job, say, lambda: say(SolvedRow(RECORDED, describe_answer(state, recorded))))
    for name in job.assignors:
        say(Phase(name, "loading", MEASURING))
        _run_guarded(name, job, say, partial(_measure, name, job, state, say))
    say(Done())


def _make_snapshot(job: SolverJob) -> tuple[ApplicationState, dict[str, Any], Any]:
    """Return snapshot, columns about it, and the recorded answer; None for the answer if the snapshot is generated."""
    if isinstance(job.source, Spec):
        return job.source.generate(), {}, None
    assert isinstance(job.source, bytes)
    return decode_recording(job.source, job.scale)


def _measure(name: str, job: SolverJob, source: ApplicationState | HistorySpec, say: Callable[[Message], None]) -> None:
    """Measure the job's parts under one assignor by `optassign_benchmarks.runner`, and report steps and columns."""
    limits = {"answering": job.limits.answer_limit, "converging": job.limits.convergence_limit}
    limits["playing"] = job.limits.convergence_limit

    def begin(what: str) -> None:
        say(Phase(name, what, limits.get(what, MEASURING)))

    for columns in measure(source, name, job.parts, time_limit=job.limits.time_limit, begin=begin):
        say(SolvedRow(name, columns))


def _run_guarded(name: str, job: SolverJob, say: Callable[[Message], None], work: Callable[[], None]) -> None:
    """Run `work` under the memory limit, and report its peak memory or error. Assignors in a JVM have no limit and no peak."""
    # For the recorded answer no assignor is called.
    in_a_jvm = name != RECORDED and find_traits(name).needs_jdk
    _reset_peak()
    try:
        with _LimitedMemory(0 if in_a_jvm else job.limits.memory_limit):
            work()
        if not in_a_jvm:
            say(SolvedRow(name, {"peak_memory": _read_peak()}))
    except MemoryError:
        say(Failed(name, "out-of-memory", _describe_limit(job)))
    except Exception as error:  # an assignor may raise anything; the error becomes that of the row
        say(Failed(name, "failed", _to_line(error)))


def _reset_peak() -> None:
    """Reset the measured peak of resident memory (Linux: proc(5), clear_refs)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _read_peak() -> float | None:
    """Return the peak of resident memory since `_reset_peak` in MiB; None if the system does not provide it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    return None


class _LimitedMemory:
    """A context with an address space limited to this many MiB; 0 for no change."""

    def __init__(self, limit: int) -> None:
        self._limit = limit * _MIB
        self._before = resource.getrlimit(resource.RLIMIT_AS)

    def __enter__(self) -> None:
        if self._limit:
            hard = self._before[1]
            limit = self._limit if hard == resource.RLIM_INFINITY else min(self._limit, hard)
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)


def _describe_limit(job: SolverJob) -> str:
    return f"more than {job.limits.memory_limit} MiB of address space"


def _to_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
