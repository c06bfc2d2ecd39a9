"""The jobs that the solving process is given, and the messages that it sends while it works; both are pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optassign_benchmarks.grid import HistorySpec, Spec

__all__ = ["Done", "Failed", "Message", "Phase", "Ready", "SolvedRow", "SolverJob", "SolverLimits", "Unreadable"]


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """The most time and memory of one answer."""

    time_limit: float = 10.0
    """Seconds of solving, which an assignor keeps itself."""
    answer_limit: float = 60.0
    """Seconds after which the process is killed while it answers."""
    convergence_limit: float = 60.0
    """Seconds after which it is killed while it plays a convergence."""
    memory_limit: int = 4096
    """MiB of address space; 0: unlimited. Assignors that run in a JVM are not limited by it."""


@dataclass(frozen=True, slots=True)
class SolverJob:
    """A snapshot, to be generated or read, or a history, to be drawn; and the assignors that are to answer it."""

    source: Spec | HistorySpec | bytes
    """Arguments of a generator, or the content of a recording."""
    assignors: tuple[str, ...]
    limits: SolverLimits
    parts: tuple[str, ...] = ("answer",)
    """The parts of the runner that are measured (`optassign_benchmarks.runner.PARTS`)."""
    recorded: bool = False
    """Measure the recorded answer, too, under the name `recorded` in place of an assignor's."""
    scale: int = 1
    """How many times the recorded size the snapshot is to have."""
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:attribute") of assignors that are not optassign's own."""
    threads: int = 1
    """Threads that numerical libraries may use."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The snapshot has been generated or read; `about` are its columns, where it was read."""

    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Phase:
    """The assignor begins a step that may take this many seconds; after these the process may be killed."""

    assignor: str
    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SolvedRow:
    """Columns of the assignor's row that are known by now."""

    assignor: str
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """The assignor has failed; the process goes on with the next."""

    assignor: str
    status: str
    error: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """There is no snapshot: the recording is none, or the generator cannot make one."""

    reason: str
    status: str = "failed"


@dataclass(frozen=True, slots=True)
class Done:
    """The whole job is done."""


Message = Ready | Phase | SolvedRow | Failed | Unreadable | Done
