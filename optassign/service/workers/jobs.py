"""The jobs of worker processes: answer a rebalance, or compare several answers. No web framework: workers never load it.

A worker receives the body of a request unchanged and parses it once; the answer returns as JSON. The data for logs, metrics and
recordings follow in a second message, so that the answer does not wait for them.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from optassign.assignor import AssignorError, assign, create, list_names_without_jdk
from optassign.assignors.cp_sat import CpSatAssignor
from optassign.formats.assignment import TaskAssignment
from optassign.formats.input_errors import InputError, shorten
from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.goals.order import note_unknown_to_planner
from optassign.judging.explanation_text import outlook_to_text
from optassign.measuring.client_names import ClientNames
from optassign.measuring.outlook import estimate_outlook
from optassign.recordings.recording import MemorySource, Overview, Summary, make_overview, summarise
from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal
from optassign.service.operators.requested_options import NO_REQUESTS, summarise_applied, summarise_requests
from optassign.service.settings import Limits
from optassign.service.workers.messages import Answer, Applied, AssignJob, CompareJob, Details, Failure, Outcome, Spare

__all__ = ["run_assign", "run_compare"]

_DESCRIBED_CLIENTS = 5
"""The number of clients that a line of the log names, so that the line stays readable."""

_UNKNOWN_FIELDS = 20  # unknown fields that the log names: the line stays readable
_MOST_OBJECTS = 4_000_000  # lists and objects in a body: each takes memory of the worker
_LEAST_LIMIT_S = 0.001  # seconds of solving, at least: an assignor needs a limit above 0


def run_assign(
    job: AssignJob, send: Callable[[Outcome | Spare], None], note_read: Callable[[], None] = lambda: None
) -> Details | None:
    """Solve, `send` the outcome when it is known, and return the details, or None without an answer.

    `job.seconds` cover reading and solving. `note_read` is called after the body is read and checked.
    """
    start = time.monotonic()
    try:
        _check_size(job.body)
        data = read_value(job.body, "request")
        report, data = _take_snapshot(data) if job.report else (None, data)
        _check_limits(data, job.limits)
        if job.remembering is not None:
            _check_application(report or data, job.remembering[0])
        memory = _insert_memory(data, job)
        if job.observed:
            _add_pace(data, job.observed)
        if job.options is not None:
            job.options.put_into(data)
        state, ignored = to_model(data, ApplicationState, "request", unknown="ignore")
        applied = None if report is None else _read_applied(report, state, job)
    except (InputError, RequestRefusedError) as error:
        send(_get_refusal(error))
        return None
    note_read()
    summary: Summary | None = None
    overview: Overview | None = None
    log_fields: dict[str, str | list[str] | None] = {}
    requests_outcome = NO_REQUESTS
    if job.solve:
        answer = _solve(job, state, start, send, Answer(b"", memory=memory, ignored=_list_ignored(ignored)))
        if answer is None:
            return None
        summary, log_fields = summarise(state, answer), _describe_rebalance(state, answer)
        requests_outcome = summarise_requests(state, answer)
        overview = make_overview(state, answer) if job.keep_snapshot else None
    else:
        send(Answer(b"", state.application, job.assignor, memory=memory, ignored=_list_ignored(ignored)))
    snapshot = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() if job.keep_snapshot else None
    return Details(
        summary,
        state.dropped.model_dump(),
        {**log_fields, **requests_outcome.log_fields},
        snapshot,
        applied,
        requests_outcome,
        overview,
    )


def _solve(
    job: AssignJob, state: ApplicationState, start: float, send: Callable[[Outcome | Spare], None], known: Answer
) -> TaskAssignment | None:
    """Solve, `send` the outcome (`known` with the answer's fields), and return the answer, or None if the assignor has none.

    If solving ends after `job.spare_seconds`, the service has used the spare answer already, which is then returned.

    Args:
        start: when the worker began the job, by the monotonic clock.
    """
    begun = time.monotonic()
    time_limit = max(_LEAST_LIMIT_S, start + job.seconds - begun)
    spares: list[TaskAssignment] = []

    def complete(answer: TaskAssignment) -> Answer:
        return replace(
            known,
            content=answer.model_dump_json().encode(),
            application=state.application,
            assignor=job.assignor,
            time_limit=time_limit,
            solve_seconds=time.monotonic() - begun,
        )

    def offer(spare: TaskAssignment) -> None:
        spares.append(spare)
        send(Spare(complete(spare)))

    try:
        assignor = create(job.assignor, time_limit=time_limit)
        if isinstance(assignor, CpSatAssignor) and not job.report:
            assignor.offer_spare = offer
        answer = assign(state, assignor)
        if spares and time.monotonic() > start + job.spare_seconds:
            answer = spares[0]
        send(complete(answer))
    except AssignorError as error:
        send(Failure(str(error)))
        return None
    return answer


def _take_snapshot(data: Any) -> tuple[dict[str, Any], Any]:
    """Return the report and its snapshot from the body. InputError without a snapshot."""
    if not isinstance(data, dict) or not isinstance(data.get("snapshot"), dict):
        raise InputError("request", "snapshot", "no object", "an object, as in a report with snapshot, applied and why")
    return data, data["snapshot"]


def _read_applied(report: dict[str, Any], state: ApplicationState, job: AssignJob) -> Applied:
    """Return the applied answer of the report. InputError if it is missing or invalid, or has other clients than `state`."""
    if not isinstance(report.get("applied"), dict):
        raise InputError("request", "applied", "no object", "the answer that was applied")
    try:
        answer, _ = to_model(report["applied"], TaskAssignment, "request", unknown="ignore")
    except InputError as error:
        raise InputError("request", f"applied.{error.place}".rstrip("."), error.found, error.allowed) from None
    if set(answer.by_process_id) != {client.process_id for client in state.clients}:
        found = "other clients than in the snapshot"
        raise InputError("request", "applied.clients", found, "one entry for each of its clients")
    from optassign.translating.answer import observe_pace

    before = None if not job.observed else TaskAssignment.model_validate_json(job.observed)
    answer = _complete_applied(answer, state)
    if job.observed is not None:
        answer = observe_pace(state, answer, before)
    why = report.get("why")
    return Applied(
        answer.model_dump_json().encode(),
        answer.assignor,
        why if isinstance(why, str) else "",
        summarise(state, answer),
        make_overview(state, answer) if job.keep_snapshot else None,
        summarise_applied(state, answer),
    )


def _complete_applied(answer: TaskAssignment, state: ApplicationState) -> TaskAssignment:
    """Return the applied answer with input rates, and notes on requests and goals that its assignor does not serve."""
    from optassign.translating.answer import note_unserved_holding

    unserved = (*note_unserved_holding(state, answer.assignor), *note_unknown_to_planner(state, answer.assignor))
    report = answer.report
    notes = tuple(note for note in unserved if note not in report.notes)
    rates = report.rates or state.rates
    if not notes and rates is report.rates:
        return answer
    return answer.model_copy(update={"report": report.model_copy(update={"notes": (*report.notes, *notes), "rates": rates})})


def run_compare(job: CompareJob, send: Callable[[Outcome], None]) -> None:
    """Compare assignors, and `send` the result as JSON, as `optassign compare --format json` without --converge prints it."""
    from optassign.judging.comparison import compare

    try:
        _check_size(job.body)
        data = read_value(job.body, "request")
        _check_limits(data, job.limits)
        state, ignored = to_model(data, ApplicationState, "request", unknown="ignore")
    except (InputError, RequestRefusedError) as error:
        return send(_get_refusal(error))

    def ask(name: str) -> tuple[TaskAssignment, float]:
        assignor = create(name, time_limit=job.seconds)  # loading is not part of the assignor's time
        start = time.perf_counter()
        answer = assign(state, assignor)
        return answer, time.perf_counter() - start

    chosen = job.assignors or list_names_without_jdk()
    comparison = compare(state, chosen, ask)
    content = json.dumps(comparison.as_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return send(Answer(content.encode(), state.application, ignored=_list_ignored(ignored)))


def _check_size(body: bytes) -> None:
    """Raise RequestRefusedError with status 413 for more lists and objects than any snapshot has, since each takes memory."""
    count = body.count(b"[") + body.count(b"{")
    if count > _MOST_OBJECTS:
        found = f"{count} opening brackets and braces"
        raise make_refusal(413, "too many lists and objects", "body", found, f"at most {_MOST_OBJECTS}")


def _check_application(data: Any, known: str | None) -> None:
    """Raise InputError if the application is not the one under which the request was accepted.

    `known`: None if the beginning of the request had none; then any later application is refused. A missing application is
    accepted.
    """
    found = data.get("application") if isinstance(data, dict) else None
    if isinstance(found, str) and found != known:
        found = "it after more than 256 KiB of other fields" if known is None else "it twice"
        raise InputError("request", "application", found, "one field, before the large fields")


def _check_limits(data: Any, limits: Limits) -> None:
    """Raise RequestRefusedError with status 413 if a snapshot exceeds a limit. Other checks come later."""
    if not isinstance(data, dict):
        return
    tasks, clients = (data[name] if isinstance(data.get(name), list) else [] for name in ("tasks", "clients"))
    if len(tasks) * len(clients) > limits.cells:
        found = f"{len(tasks)} × {len(clients)}"
        raise make_refusal(413, "too many tasks × clients", "tasks", found, f"at most {limits.cells} in all")
    named = [("application", data.get("application"))]
    named += [(f"clients[{i}].process_id", c.get("process_id")) for i, c in enumerate(clients) if isinstance(c, dict)]
    for where, name in named:
        if isinstance(name, str) and len(name) > limits.name_length:
            allowed = f"at most {limits.name_length}"
            raise make_refusal(413, "the name is too long", where, f"{len(name)} characters", allowed)


def _insert_memory(data: Any, job: AssignJob) -> MemorySource:
    """Put the service's last answer into the snapshot if it is newer or the only one, and return the source of the memory."""
    if not isinstance(data, dict):
        return "none"
    has_own = data.get("remembered") is not None
    if job.remembered is not None and (job.remembered_newer or not has_own):
        data["remembered"] = read_value(job.remembered)
        return "service"
    if job.remembered is not None and has_own:
        _add_rates(data["remembered"], job.remembered)
    return "plug-in" if has_own else "none"


def _add_rates(own: Any, ours: bytes) -> None:
    """Add the rates of the service's last answer to the plug-in's memory, since a plug-in keeps only the parts of a report that
    it needs."""
    report = own.get("report") if isinstance(own, dict) else None
    if b'"rates"' not in ours or not isinstance(report, dict) or report.get("rates") is not None:
        return
    rates = read_value(ours)["report"].get("rates")
    if rates is not None:
        report["rates"] = rates


def _add_pace(data: Any, observed: bytes) -> None:
    """Add observed restore rates to the plug-in's memory of another assignor's answer."""
    own = data.get("remembered") if isinstance(data, dict) else None
    report = own.setdefault("report", {}) if isinstance(own, dict) else None
    if not isinstance(report, dict) or report.get("pace") is not None:
        return
    known = read_value(observed)["report"]
    report |= {"pace": known["pace"], "warmup_progress": known["warmup_progress"]}


def _get_refusal(error: InputError | RequestRefusedError) -> Refusal:
    if isinstance(error, RequestRefusedError):
        return error.refusal
    return Refusal(400, "the request cannot be read", error.place or "request", error.found, error.allowed)


def _list_ignored(ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the first unknown fields, each cut to fit a log line."""
    return tuple(shorten(name) for name in ignored[:_UNKNOWN_FIELDS])


def _describe_rebalance(state: ApplicationState, answer: TaskAssignment) -> dict[str, str | list[str] | None]:
    """Return field of the log → text; clients by process id and name, as on the command line."""
    label = ClientNames(state).label
    outlook = estimate_outlook(state, answer)
    known = {client.process_id for client in state.remembered.clients} if state.remembered is not None else None
    joined = [label(name) for name in state.kafka_streams_states if known is not None and name not in known]
    waits = Counter(entry.process_id for entry in answer.report.waiting)
    return {
        "outlook": None if outlook is None else outlook_to_text(outlook),
        "joined": _shorten(joined),
        "waits_on": _shorten([f"{label(name)}: {number:,}" for name, number in waits.most_common()]),
    }


def _shorten(names: list[str]) -> list[str]:
    more = len(names) - _DESCRIBED_CLIENTS
    return [*names[:_DESCRIBED_CLIENTS], f"and {more:,} more"] if more > 0 else names
