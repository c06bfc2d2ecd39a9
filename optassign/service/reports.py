"""Reports of applied answers: each becomes a recording, with the service's own answer next to the applied one
(docs/reference/http.md).

No client waits for a report, so reports are handled one at a time and never occupy more than one worker.
"""

import asyncio
import json
import logging
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from optassign import __version__
from optassign.recordings.recording import NotApplied, RecordingHead, Summary
from optassign.service.clock import format_utc
from optassign.service.http.refusals import RequestRefusedError, make_unavailable
from optassign.service.http.request import ReportHead, find_application
from optassign.service.logs import log_event
from optassign.service.memory import Memory, Remembered
from optassign.service.operators.last_rebalance import make_last_rebalance
from optassign.service.rebalances import FoundAnswer, NoAnswerError, Rebalances, Shared
from optassign.service.settings import Settings
from optassign.service.workers.messages import Applied, AssignJob, Details
from optassign.service.workers.pool import Schedule, make_schedule

__all__ = ["Reports"]

_REPORT_WAITS_S = 20.0  # seconds that a report waits for those before it: plug-ins send reports in order, within seconds
_UNANSWERED_REBALANCES = 1_000  # remembered rebalances without an answer: plug-ins hold back fewer reports


@dataclass(frozen=True)
class _Read:
    """A report as a worker read it."""

    found: FoundAnswer
    details: Details
    applied: Applied
    in_time: bool
    """Whether the service's answer was ready by the deadline that the report names."""


class Reports:
    """A handler of reports: it remembers the applied answer, computes the service's answer, and records both."""

    def __init__(self, settings: Settings, rebalances: Rebalances, shared: Shared) -> None:
        self._assignor, self._limits, self._rebalances = settings.assignor, settings.limits, rebalances
        self._default_deadline = settings.default_deadline
        self._finder, self._memory, self._turns = shared.finder, shared.memory, shared.turns
        self._metrics, self._recorder, self._requests = shared.metrics, shared.recorder, shared.operator_requests
        self._clocks, self._read_seconds = shared.clocks, shared.read_seconds
        self._observed = Memory(settings.limits.applications)
        """The last answers applied in shadow mode, from which restore rates are learnt; they never become `remembered`."""
        self._one_at_a_time = asyncio.Semaphore(1)
        self._unanswered: deque[str] = deque(maxlen=_UNANSWERED_REBALANCES)
        """Ids of rebalances for which the assignor had no answer; a repeated report is recorded without one."""

    def restore(self, application: str, remembered: Remembered) -> None:
        """Keep the last answer that was applied in shadow mode before a restart, unless a report has already replaced it."""
        self._observed.put(application, remembered)

    async def take(self, head: ReportHead, body: bytes) -> bytes:
        """Take a report, and return the response to the plug-in: JSON with the main figures of both answers.

        RequestRefusedError for a bad report, or if it cannot be handled now.
        """
        try:
            async with asyncio.timeout(_REPORT_WAITS_S):
                await self._one_at_a_time.acquire()
        except TimeoutError:
            raise make_unavailable("the service is busy with other reports", 5, "reports") from None
        try:
            return await self._take(head, body)
        finally:
            self._one_at_a_time.release()

    async def _take(self, head: ReportHead, body: bytes) -> bytes:
        begun, order = asyncio.get_running_loop().time(), self._memory.next_order()
        applied_at = self._read_seconds() * 1000 - head.age_ms
        times = make_schedule(body, begun, head.find_deadline(self._default_deadline))
        application = find_application(body)
        remembering = application if head.mode == "active" else None
        self._memory.check_date("Optassign-Applied-At", head.applied_at)
        async with self._turns.take(remembering, times.latest_start):  # the answer that came too late may still be under way
            answered = await self._rebalances.await_recording(head.rebalance)
            # In active mode no page shows the service's own answer unless it is recorded. If the service was asked and missed
            # the deadline, solving again would take time from other requests.
            solves = not (answered or self._rebalances.was_asked(head.rebalance))
            solves = solves and (self._recorder is not None or head.mode == "shadow")
            last = self._memory.get(remembering)
            observed = self._observed.get(application) if remembering is None else None
            since = head.remembered_at
            job = AssignJob(
                body=body,
                limits=self._limits,
                remembering=(application,),
                assignor=self._assignor,
                remembered=None if last is None or last.at >= head.applied_at else last.answer,
                remembered_newer=last is not None and since is not None and last.at > since,
                keep_snapshot=self._recorder is not None,
                report=True,
                observed=None if remembering is not None else b"" if observed is None else observed.answer,
                options=self._requests.get_options(application, is_applied=head.runs_followups),
                application=application,
                solve=solves and remembering is None,
            )
            read = await self._find(job, times, head.rebalance)
            before = last if remembering is not None else observed
            is_newest = before is None or before.rebalance == head.rebalance or before.at < head.applied_at
            if remembering is not None and is_newest:
                remembered = Remembered(head.applied_at, read.applied.content, order, head.rebalance)
                self._memory.put(remembering, remembered)
        if solves and remembering is not None:
            # The next rebalance does not wait for this: it needs only the memory.
            read = await self._find(replace(job, solve=True), times, head.rebalance)
            newest = self._memory.get(remembering)
            is_newest = is_newest and newest is not None and newest.rebalance == head.rebalance
        if remembering is None and application is not None and is_newest:
            self._observed.put(application, Remembered(head.applied_at, read.applied.content, order, head.rebalance))
        not_applied = _make_not_applied(read)
        recorded = _make_head(application, head, applied_at, read, not_applied)
        if application is not None:
            await self._requests.note_rebalance(application)
        if is_newest:  # after an outage reports come later than newer rebalances
            recorded = self._clocks.advance(recorded)
            self._metrics.show_applied(recorded)
        if remembering is not None and is_newest:
            outcome = read.applied.requests_outcome
            self._requests.note_last_rebalance(remembering, make_last_rebalance(recorded))
            self._requests.clients.note(remembering, outcome.clients)
            await self._requests.note_outcome(remembering, outcome.drains, has_forgotten=False)
        is_recorded = False
        if self._recorder is not None and read.details.snapshot is not None:
            is_recorded = self._recorder.put(
                recorded, read.applied.content, read.details.snapshot, read.found.answer.content or None
            )
        self._count(head, read, not_applied)
        _log_report(application, head, read.applied, not_applied, answered)
        return _encode_reply(is_recorded, read.applied, not_applied)

    async def _find(self, job: AssignJob, times: Schedule, rebalance: str) -> _Read:
        """Return the report as a worker read it, with the service's answer if the job solves. Do not solve after a failure."""
        asked = replace(job, solve=job.solve and rebalance not in self._unanswered)
        try:
            found = await self._finder.find(asked, times)
        except RequestRefusedError as error:
            if isinstance(error, NoAnswerError) or error.refusal.reason == "worker died":
                self._unanswered.append(rebalance)
            raise
        in_time = asyncio.get_running_loop().time() <= times.deadline
        details = await found.job.details
        if details is None or details.applied is None:
            self._unanswered.append(rebalance)
            raise self._finder.give_up_on(asked, "the worker process died after its answer")
        return _Read(found, details, details.applied, in_time)

    def _count(self, head: ReportHead, read: _Read, not_applied: NotApplied | None) -> None:
        self._metrics.reports.labels(head.mode).inc()
        if not_applied is not None and head.mode == "shadow":
            self._metrics.count_rebalance("shadow", not_applied.summary)
            answer = read.found.answer
            self._metrics.solve_seconds.observe(answer.solve_seconds)
            self._metrics.show_last_answer(answer.application, not_applied.summary, read.details.requests_outcome)


def _make_not_applied(read: _Read) -> NotApplied | None:
    """Return the service's answer for the recording, or None if nothing was solved."""
    if read.details.summary is None:
        return None
    return NotApplied(
        assignor=read.found.answer.assignor,
        time_limit=read.found.answer.time_limit,
        in_time=read.in_time,
        after_the_fact=True,
        summary=read.details.summary,
    )


def _make_head(
    application: str | None, head: ReportHead, applied_at: float, read: _Read, not_applied: NotApplied | None
) -> RecordingHead:
    """Return the head of the recording. applied_at: milliseconds since 1970, by the service's clock."""
    applied = read.applied
    return RecordingHead(
        format=1,
        application=application,
        recorded_at=format_utc(applied_at / 1000),
        answered_at=head.applied_at,
        mode=head.mode,
        assignor=applied.assignor,
        time_limit=0.0,
        memory=read.found.answer.memory,
        service=__version__,
        plugin=head.plugin,
        rebalance=head.rebalance,
        reported=True,
        why=applied.why,
        not_applied=not_applied,
        summary=applied.summary,
        overview=applied.overview,
    )


def _log_report(
    application: str | None, head: ReportHead, applied: Applied, not_applied: NotApplied | None, answered: bool
) -> None:
    log_event(
        "report",
        logging.INFO if head.mode == "shadow" else logging.WARNING,
        application=application,
        mode=head.mode,
        assignor=applied.assignor,
        why=applied.why,
        age=round(head.age_ms / 1000, 1),
        **applied.summary.model_dump(),
        not_applied=None if not_applied is None else {"assignor": not_applied.assignor, **not_applied.summary.model_dump()},
        answered_before=answered,
        rebalance=head.rebalance,
        plugin=head.plugin,
    )


def _encode_reply(recorded: bool, applied: Applied, not_applied: NotApplied | None) -> bytes:
    def describe(assignor: str, summary: Summary, **more: Any) -> dict[str, Any]:
        return {"assignor": assignor, **more, **summary.model_dump()}

    fields = {
        "recorded": recorded,
        "applied": describe(applied.assignor, applied.summary),
        "not_applied": None
        if not_applied is None
        else describe(not_applied.assignor, not_applied.summary, in_time=not_applied.in_time),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
