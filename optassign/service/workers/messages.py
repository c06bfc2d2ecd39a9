"""The messages between the service and its worker processes. No web framework: workers never load it."""

from dataclasses import dataclass

from optassign.recordings.recording import MemorySource, Overview, Summary
from optassign.service.held import NOTHING, Held, HoldingOutcome
from optassign.service.http.refusals import Refusal
from optassign.service.settings import Limits

__all__ = ["Answer", "Applied", "AssignJob", "CompareJob", "Details", "Failure", "Outcome", "Spare"]


@dataclass(frozen=True)
class AssignJob:
    """Answer one rebalance."""

    body: bytes
    """The snapshot as JSON, as it came; the whole report, if it is one."""
    limits: Limits
    assignor: str
    remembered: bytes | None
    """The service's last answer for the application, JSON."""
    remembered_newer: bool
    """Whether it takes the place of one that the body carries."""
    keep_snapshot: bool
    """Whether the details carry the snapshot."""
    remembering: tuple[str | None] | None = None
    """The application in whose name it was taken; None where that does not matter."""
    seconds: float = 0.0
    """Until the assignor has to be done, from when the job is sent; set when a worker takes it."""
    report: bool = False
    """Whether the body is a report: the snapshot and what was applied to it."""
    observed: bytes | None = None
    """For a report where another assignor runs the group, JSON of the answer that was applied before, empty if that is not
    known; None: the service runs it."""
    held: Held | None = None
    """Operators' requests for the snapshot."""
    solve: bool = True
    """False: only the details of a report are wanted."""
    application: str | None = None
    """The application's name, for the log."""
    spare_seconds: float = 0.0
    """Seconds from the start of the job until the spare answer goes out in place of the solver's."""


@dataclass(frozen=True)
class CompareJob:
    """Answer one rebalance under several assignors."""

    body: bytes
    """The snapshot as JSON, as it came."""
    limits: Limits
    assignors: tuple[str, ...]
    """Empty: all that need no JDK."""
    seconds: float
    """Seconds of solving for each."""


@dataclass(frozen=True)
class Answer:
    """The message to the plug-in, and the log's fields."""

    content: bytes
    """JSON."""
    application: str | None = None
    assignor: str = ""
    time_limit: float = 0.0
    """Seconds of solving that the assignor had."""
    memory: MemorySource = "none"
    solve_seconds: float = 0.0
    """From after reading to before writing."""
    ignored: tuple[str, ...] = ()
    """Unknown fields of the request, the first few."""


@dataclass(frozen=True)
class Applied:
    """The applied answer of a report."""

    content: bytes
    """JSON of the TaskAssignment."""
    assignor: str
    why: str
    """Why the service's answer was not applied."""
    summary: Summary
    overview: Overview | None
    """None where nothing is recorded."""


@dataclass(frozen=True)
class Details:
    """An answer's data for log, metrics and recording; computed once the answer has gone out."""

    summary: Summary | None
    """Of the answer; None where nothing was solved."""
    dropped: dict[str, int]
    """The snapshot's entries about tasks that do not exist: kind -> number of entries."""
    said: dict[str, str | list[str] | None]
    """The log's words: field -> text."""
    snapshot: bytes | None
    """JSON of what was solved, if asked for."""
    applied: Applied | None = None
    """Of a report."""
    holding: HoldingOutcome = NOTHING
    overview: Overview | None = None
    """The overview of the answer, if the snapshot was asked for."""


@dataclass(frozen=True)
class Failure:
    """The assignor has no answer."""

    why: str
    died: bool = False
    """Whether its process is gone, which need not be the job's fault."""


Outcome = Answer | Refusal | Failure
"""The first thing that a worker says of a job."""


@dataclass(frozen=True)
class Spare:
    """An answer that is ready before the solver starts, for a solver that is late or dies."""

    answer: Answer
