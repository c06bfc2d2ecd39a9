"""Views of one rebalance: the reasons for its answer, the other assignors' answers, and its snapshot for download."""

import time
from collections import Counter

from optassign.assignor import assign, create, list_names_without_jdk
from optassign.formats.assignment import TaskAssignment
from optassign.judging.comparison import Comparison, compare
from optassign.judging.explain import ExplainedAnswer
from optassign.judging.explanation_text import REASONS, answer_to_lines, client_to_lines, reason_to_text, task_to_lines
from optassign.measuring.client_names import ClientNames, UnknownClientError
from optassign.recordings.anonymise import anonymise
from optassign.recordings.recording import Recording
from optassign.service.clock import format_utc
from optassign.service.views.heat_map import make_heat_map, order_clients
from optassign.service.views.index import Entry, RecordingIndex
from optassign.service.views.lists import IN_TIMELINE, make_rebalance_row
from optassign.service.views.types import GoalRow, MoveRow, RebalanceView

__all__ = ["compare_rebalance", "dump_snapshot", "view_rebalance"]

_ALL_MOVES = 20_000
"""The number of moves on the page that has all of them. A browser shows as many within a second."""


def view_rebalance(
    index: RecordingIndex,
    entry: Entry,
    now: float,
    *,
    task: str = "",
    client: str = "",
    first: int = 0,
    all_moves: bool = False,
) -> RebalanceView:
    """Return the view of a rebalance at `now`, seconds since 1970. InputError if its recording is unreadable.

    `task`, `client`: a task and a client to explain, the client by any of its names. `first`: position of the first client
    shown.
    """
    recording = index.read(entry)
    state, answer = recording.snapshot, recording.assignment
    names, context, report = ClientNames(state), ExplainedAnswer(state, answer), answer.report
    explanation = context.explain_all()
    earlier, later = index.find_neighbours(entry)
    first = first if 0 <= first < len(state.clients) else 0
    heat, counts = make_heat_map(context, names, order_clients(context, first), first)
    about, not_found = _explain(context, names, task, client)
    lines = answer_to_lines(explanation, names.label, moves=False)
    moves = explanation.moves[: _ALL_MOVES if all_moves else IN_TIMELINE]
    return RebalanceView(
        now=format_utc(now),
        folder=entry.folder,
        application=recording.application,
        row=make_rebalance_row(entry, recording),
        earlier=None if earlier is None else earlier.id,
        later=None if later is None else later.id,
        why_not_applied=recording.why,
        not_applied=_describe_service_answer(recording),
        summary=tuple(lines),
        moves=tuple(
            MoveRow(
                task=move.task,
                from_client=names.title(move.from_client),
                to_client=names.title(move.to_client),
                why=reason_to_text(move.why, move.share),
            )
            for move in moves
        ),
        more_moves=len(explanation.moves) - len(moves),
        reasons=tuple((REASONS[why], number) for why, number in Counter(m.why for m in explanation.moves).most_common()),
        goals=tuple(
            GoalRow(stage=g.stage, name=g.name, value=g.value, bound=g.bound, gap=g.gap, proven=g.proven) for g in report.goals
        ),
        found_by=report.found_by,
        termination=" ".join(filter(None, (report.termination.reason, report.termination.detail))),
        stages=tuple(sorted(report.seconds.items())),
        heat=heat,
        counts=counts,
        about=about,
        not_found=not_found,
    )


def compare_rebalance(recording: Recording, seconds: float) -> Comparison:
    """Compare the recorded answers with those of all assignors that need no JDK; each assignor solves for `seconds`."""
    state = recording.snapshot

    def ask(name: str) -> tuple[TaskAssignment, float]:
        assignor = create(name, time_limit=seconds)
        start = time.perf_counter()
        answer = assign(state, assignor)
        return answer, time.perf_counter() - start

    chosen = sorted(list_names_without_jdk())
    return compare(state, chosen, ask, recorded=recording.assignment, not_applied=recording.not_applied_assignment)


def dump_snapshot(recording: Recording, anonymised: bool) -> bytes:
    """Return the snapshot as JSON; `anonymised`: with names replaced or left out."""
    state = anonymise(recording.snapshot) if anonymised else recording.snapshot
    return state.model_dump_json(indent=1).encode()


def _explain(context: ExplainedAnswer, names: ClientNames, task: str, client: str) -> tuple[tuple[str, ...], str]:
    """Return (lines, not found): the explanation of the requested task or client, and the request if it fits no single one."""
    if task:
        if task not in context.state.all_tasks:
            return (), f"task {task}"
        return tuple(task_to_lines(context.explain_task(task), names.label)), ""
    if client:
        try:
            found = names.find(client)
        except UnknownClientError as error:
            return (), f"client {client}" + (f", which {len(error.fits)} clients go by" if error.fits else "")
        return tuple(client_to_lines(context.explain_client(found), names.label)), ""
    return (), ""


def _describe_service_answer(recording: Recording) -> str:
    not_applied = recording.not_applied
    if not_applied is None:
        return ""
    own, applied = not_applied.summary, recording.summary
    parts = [f"{not_applied.assignor} would have moved {own.moved_active:,} active tasks in place of {applied.moved_active:,}"]
    if own.restored is not None and applied.restored is not None:
        parts.append(f"and restored {own.restored:,} offsets in place of {applied.restored:,}")
    return " ".join(parts)
