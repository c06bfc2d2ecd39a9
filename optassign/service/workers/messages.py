"""The messages between the service and its worker processes. No web framework: workers never load it."""

from dataclasses import dataclass

from optassign.recordings.recording import MemorySource, Overview, Summary
from optassign.service.http.refusals import Refusal
from optassign.service.operators.requested_options import NO_REQUESTS, RequestedOptions, RequestsOutcome
from optassign.service.settings import Limits

__all__ = ["Answer", "Applied", "AssignJob", "CompareJob", "Details", "Failure", "Outcome", "Spare"]


@dataclass(frozen=True)
class AssignJob:
    """A job that answers one rebalance."""

    body: bytes
    """The snapshot as JSON, unchanged from the request; for a report, the whole report."""
    limits: Limits
    assignor: str
    remembered: bytes | None
    """The service's last answer for the application, as JSON."""
    remembered_newer: bool
    """Whether `remembered` replaces the remembered answer in the body."""
    keep_snapshot: bool
    """Whether the details include the snapshot."""
    remembering: tuple[str | None] | None = None
    """The application under which the request was accepted, in a tuple, to check the body against it; None for no check."""
    seconds: float = 0.0
    """Seconds from sending the job until the assignor must end; set when a worker takes the job."""
    report: bool = False
    """Whether the body is a report: a snapshot and the answer that was applied."""
    observed: bytes | None = None
    """For a report about a group that another assignor runs: the previously applied answer as JSON, empty if unknown. None if
    the service runs the group."""
    options: RequestedOptions | None = None
    """Operators' requests for the snapshot."""
    solve: bool = True
    """Whether to solve; False if only the details of a report are needed."""
    application: str | None = None
    """The application's name, for the log."""
    spare_seconds: float = 0.0
    """Seconds from the start of the job until the spare answer is sent instead of the solver's."""


@dataclass(frozen=True)
class CompareJob:
    """A job that answers one rebalance under several assignors."""

    body: bytes
    """The snapshot as JSON, unchanged from the request."""
    limits: Limits
    assignors: tuple[str, ...]
    """Assignors; empty for all that need no JDK."""
    seconds: float
    """Seconds of solving for each assignor."""


@dataclass(frozen=True)
class Answer:
    """The answer to a job, and fields for the log."""

    content: bytes
    """The answer as JSON."""
    application: str | None = None
    assignor: str = ""
    time_limit: float = 0.0
    """The assignor's time limit in seconds."""
    memory: MemorySource = "none"
    solve_seconds: float = 0.0
    """Seconds of solving and of encoding the answer."""
    ignored: tuple[str, ...] = ()
    """The first unknown fields of the request."""


@dataclass(frozen=True)
class Applied:
    """The applied answer of a report."""

    content: bytes
    """The TaskAssignment as JSON."""
    assignor: str
    why: str
    """Why the service's answer was not applied."""
    summary: Summary
    overview: Overview | None
    """None if rebalances are not recorded."""
    requests_outcome: RequestsOutcome = NO_REQUESTS
    """The drains in the applied answer."""


@dataclass(frozen=True)
class Details:
    """An answer's data for log, metrics and recording, computed after the answer is sent."""

    summary: Summary | None
    """The answer's summary; None if nothing was solved."""
    dropped: dict[str, int]
    """The snapshot's entries about unknown tasks: kind → number of entries."""
    log_fields: dict[str, str | list[str] | None]
    """Field of the log → text."""
    snapshot: bytes | None
    """The snapshot as JSON, with memory and operators' requests; None unless `keep_snapshot`."""
    applied: Applied | None = None
    """The applied answer of a report."""
    requests_outcome: RequestsOutcome = NO_REQUESTS
    overview: Overview | None = None
    """The overview of the answer, if the snapshot was requested."""


@dataclass(frozen=True)
class Failure:
    """The failure of an assignor to answer."""

    why: str
    died: bool = False
    """Whether its process has ended, which may have other causes than the job."""


Outcome = Answer | Refusal | Failure
"""A worker's result of a job, which it sends once, before the details."""


@dataclass(frozen=True)
class Spare:
    """An answer that is ready before the solver starts, for a solver that is late or dies."""

    answer: Answer
