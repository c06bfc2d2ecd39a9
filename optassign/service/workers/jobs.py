"""What worker processes are asked and what they say. No web framework: workers never load it.

The body of a request goes to a worker as it came and is parsed there, once; the answer comes back as JSON. What only logs,
metrics and recordings need follows in a second message, so that the answer does not wait for it.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from optassign.assignor import AssignorError, assign, create, names_without_jdk
from optassign.formats.assignment import Termination
from optassign.formats.input_errors import InputError, shorten
from optassign.formats.reading import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import Memory, Summary, summarise, with_fallback
from optassign.service.http.problem import Refusal
from optassign.service.settings import Limits

__all__ = ["Answer", "AssignJob", "CompareJob", "Details", "Failure", "Outcome", "run_assign", "run_compare"]

_MOST_NAMES = 20
_SMALL = 1e-3


@dataclass(frozen=True)
class AssignJob:
    """One rebalance."""

    body: bytes
    limits: Limits
    assignor: str
    seconds: float
    """Until the assignor has to be done, from when the job is sent."""
    remembered: bytes | None
    """The service's last answer for the application, JSON."""
    remembered_newer: bool
    """Whether it takes the place of one that the body carries."""
    keep_snapshot: bool
    fallback: Termination | None = None


@dataclass(frozen=True)
class CompareJob:
    """One rebalance under several assignors; no names: all that need no JDK."""

    body: bytes
    limits: Limits
    assignors: tuple[str, ...]
    seconds: float
    """Of solving, for each."""


@dataclass(frozen=True)
class Answer:
    """What goes out."""

    content: bytes
    """JSON."""
    application: str | None = None
    assignor: str = ""
    time_limit: float = 0.0
    memory: Memory = "none"
    solve_seconds: float = 0.0
    """From after reading to before writing."""
    ignored: tuple[str, ...] = ()
    """Unknown fields of the request, the first few."""


@dataclass(frozen=True)
class Details:
    """What is known once the answer has gone out."""

    summary: Summary
    dropped: dict[str, int]
    """Entries about tasks that do not exist."""
    snapshot: bytes | None
    """JSON of what was solved, if asked for."""


@dataclass(frozen=True)
class Failure:
    """The assignor has no answer."""

    why: str
    died: bool = False
    """Its process is gone, which need not be the job's fault."""


Outcome = Answer | Refusal | Failure


def run_assign(job: AssignJob, say: Callable[[Outcome], None]) -> Details | None:
    """Solve, `say` what comes of it as soon as it is there, then tell the details."""
    end = time.monotonic() + job.seconds
    try:
        data = _parsed(job.body, job.limits)
        memory = _remember(data, job)
        state, ignored = to_model(data, ApplicationState, "request", unknown="ignore")
    except InputError as error:
        say(_bad_request(error))
        return None
    except _TooLargeError as error:
        say(error.refusal)
        return None
    start = time.monotonic()
    time_limit = max(_SMALL, end - start)
    try:
        answer = with_fallback(assign(state, job.assignor, time_limit), job.fallback)
        content = answer.model_dump_json().encode()
    except AssignorError as error:
        say(Failure(str(error)))
        return None
    some = tuple(shorten(name) for name in ignored[:_MOST_NAMES])
    solved = time.monotonic() - start
    say(Answer(content, state.application, job.assignor, time_limit, memory, solved, some))
    snapshot = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() if job.keep_snapshot else None
    return Details(summarise(state, answer), state.dropped.model_dump(), snapshot)


def run_compare(job: CompareJob, say: Callable[[Outcome], None]) -> None:
    """`optassign compare` on one snapshot, without --converge."""
    from optassign.judging.comparison import compare

    try:
        state, ignored = to_model(_parsed(job.body, job.limits), ApplicationState, "request", unknown="ignore")
    except InputError as error:
        return say(_bad_request(error))
    except _TooLargeError as error:
        return say(error.refusal)

    def ask(name: str) -> tuple[Any, float]:
        assignor = create(name, time_limit=job.seconds)  # loads what it needs, which is not its time
        start = time.perf_counter()
        answer = assign(state, assignor)
        return answer, time.perf_counter() - start

    chosen = job.assignors or names_without_jdk()
    comparison = compare(state, chosen, ask)
    content = json.dumps(comparison.as_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return say(Answer(content.encode(), state.application, ignored=tuple(shorten(name) for name in ignored[:_MOST_NAMES])))


class _TooLargeError(Exception):
    def __init__(self, error: str, where: str, found: str, allowed: str) -> None:
        super().__init__(error)
        self.refusal = Refusal(413, error, where, found, allowed)


def _parsed(body: bytes, limits: Limits) -> Any:
    """The JSON value, its sizes within the limits; anything else about it is checked later."""
    data = read_value(body, "request")
    if not isinstance(data, dict):
        return data
    tasks, clients = (data[name] if isinstance(data.get(name), list) else [] for name in ("tasks", "clients"))
    if len(tasks) * len(clients) > limits.cells:
        found = f"{len(tasks)} × {len(clients)}"
        raise _TooLargeError("too many tasks × clients", "tasks", found, f"at most {limits.cells} in all")
    named = [("application", data.get("application"))]
    named += [(f"clients[{i}].process_id", c.get("process_id")) for i, c in enumerate(clients) if isinstance(c, dict)]
    for where, name in named:
        if isinstance(name, str) and len(name) > limits.name_length:
            allowed = f"at most {limits.name_length}"
            raise _TooLargeError("the name is too long", where, f"{len(name)} characters", allowed)
    return data


def _remember(data: Any, job: AssignJob) -> Memory:
    """Put the service's answer into the request where it is newer, or the only one; whose answer is in it then."""
    if not isinstance(data, dict):
        return "none"
    has_own = data.get("remembered") is not None
    if job.remembered is not None and (job.remembered_newer or not has_own):
        data["remembered"] = read_value(job.remembered)
        return "service"
    return "plug-in" if has_own else "none"


def _bad_request(error: InputError) -> Refusal:
    where: Literal["request"] | str = error.place or "request"
    return Refusal(400, "the request cannot be read", where, error.found, error.allowed)
