"""The process that solves: `python -m optassign.benchmarks.spark.solving.solver_main FD`, started and watched by `solver_process.py`.

It takes one job after another from its connection and says what it does, so that whoever watches knows which assignor to
blame when it is killed. It ends when the connection does, whatever it is doing: nothing is left behind by a killed executor.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from optassign.assignor import NEED_A_JDK, TaskAssignor, assign, create, register
from optassign.benchmarks.grid import Spec
from optassign.benchmarks.spark.recordings.decoder import RECORDED, read_recorded
from optassign.benchmarks.spark.solving.jobs import Done, Failed, Job, Message, Phase, Ready, Row, Unreadable
from optassign.benchmarks.spark.solving.answer_columns import convergence_columns, measure_columns
from optassign.formats.input_errors import InputError
from optassign.formats.state import ApplicationState
from optassign.generate.dealing import NotBalancedError
from optassign.simulation.convergence import converge

MEASURING = 600.0
"""Seconds that measuring an answer, or making a snapshot, may take: a guard, not a limit to be met."""
_MIB = 1 << 20


def main(connection: Connection) -> None:
    """Do jobs until the connection ends."""
    with suppress(OSError):  # where memory runs short on the machine, this process goes, not the executor (Linux)
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    jobs: SimpleQueue[Job] = SimpleQueue()
    threading.Thread(target=_take, args=(connection, jobs), daemon=True).start()
    while True:
        _do(jobs.get(), connection.send)


def _take(connection: Connection, jobs: SimpleQueue[Job]) -> None:
    """Take jobs as they come; end the process, and what it has started, when nobody listens any more."""
    try:
        while True:
            jobs.put(connection.recv())
    except (EOFError, OSError):
        os.killpg(0, signal.SIGKILL)


def _do(job: Job, say: Callable[[Message], None]) -> None:
    for name, target in job.registered:
        register(name, target, replace=True)
    try:
        with _Memory(job.limits.memory_limit):
            state, about, recorded = _snapshot(job)
    except MemoryError:
        say(Unreadable(_too_much(job), "out-of-memory"))
        return
    except (InputError, NotBalancedError, ValueError) as error:
        say(Unreadable(_line(error)))
        return
    say(Ready(about))
    if job.recorded and recorded is not None:
        say(Phase(RECORDED, "measuring", MEASURING))
        _guarded(RECORDED, job, say, lambda: say(Row(RECORDED, {"seconds": None, **measure_columns(state, recorded)})))
    for name in job.assignors:
        say(Phase(name, "loading", MEASURING))
        _guarded(name, job, say, lambda name=name: _ask(name, job, state, say))  # type: ignore[misc]
    say(Done())


def _snapshot(job: Job) -> tuple[ApplicationState, dict[str, Any], Any]:
    if isinstance(job.source, Spec):
        return job.source.generate(), {}, None
    return read_recorded(job.source, job.scale)


def _ask(name: str, job: Job, state: ApplicationState, say: Callable[[Message], None]) -> None:
    assignor: TaskAssignor = create(name, time_limit=job.limits.time_limit)  # loads the solver, which is not its time
    if job.answer:
        say(Phase(name, "answering", job.limits.answer_limit))
        start = time.perf_counter()
        answer = assign(state, assignor)
        seconds = answer.seconds_elsewhere or time.perf_counter() - start
        say(Phase(name, "measuring", MEASURING))
        say(Row(name, {"seconds": seconds, **measure_columns(state, answer)}))
    if job.converge:
        say(Phase(name, "converging", job.limits.convergence_limit))
        say(Row(name, convergence_columns(converge(state, assignor))))


def _guarded(name: str, job: Job, say: Callable[[Message], None], work: Callable[[], None]) -> None:
    limit = 0 if name.partition(":")[0] in NEED_A_JDK else job.limits.memory_limit
    try:
        with _Memory(limit):
            work()
    except MemoryError:
        say(Failed(name, "out-of-memory", _too_much(job)))
    except Exception as error:  # whatever an assignor may raise is what is to be told
        say(Failed(name, "failed", _line(error)))


class _Memory:
    """While in the context the address space is limited to so many MiB; 0: as before."""

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


def _too_much(job: Job) -> str:
    return f"more than {job.limits.memory_limit} MiB of address space"


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
