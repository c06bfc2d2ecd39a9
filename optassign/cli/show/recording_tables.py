"""Recordings as tables: a list of them, or one with its answer."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from optassign.cli.show.answer_tables import render_assignment
from optassign.cli.show.style import make_headline, make_table
from optassign.judging.explanation_text import format_minutes, pluralize
from optassign.printable import escape_unprintable
from optassign.recordings.recording import Beside, Recording, RecordingHead, Summary

__all__ = ["render_recording", "render_recordings"]


def render_recordings(rows: Sequence[tuple[str, RecordingHead]]) -> Iterator[RenderableType]:
    """Render `optassign record ls`, a line for each recording. `rows`: id and head."""
    if not rows:
        yield Text("no recordings")
        return
    table = make_table("time (UTC)", "application")
    table.add_column("tasks × clients", justify="right", no_wrap=True)
    for name in ("what was done", "id"):
        table.add_column(name, overflow="fold")
    for name, head in rows:
        summary = head.summary
        table.add_row(
            head.recorded_at.replace("T", " ").removesuffix("Z"),
            escape_unprintable(head.application or "–"),
            f"{summary.tasks:,} × {summary.clients:,}",
            _describe_answer(head),
            name,
        )
    yield table


def render_recording(recording: Recording, width: int) -> Iterator[RenderableType]:
    """Render `optassign record show`: when and for whom, the applied answer, then the tables of `optassign assign` for it."""
    versions = f"plug-in {recording.plugin or '–'}, service {recording.service}"
    about = [recording.mode, f"memory: {recording.memory}", versions]
    yield make_headline(f"{recording.application or 'no application'} at {recording.recorded_at}")
    yield Text("; ".join(about) + ("" if recording.in_time else "; sent after its deadline, so it is not remembered"))
    yield Text(_describe_origin(recording))
    if recording.beside is not None:
        yield _compare(recording, recording.beside)
    yield from render_assignment(recording.snapshot, recording.assignment, width)


def _describe_origin(head: RecordingHead) -> str:
    """Whether the answer was applied, and how that is known."""
    if head.reported:
        why = f": {head.why}" if head.why else ""
        return f"the plug-in reported that {head.assignor} was applied, and not the service's assignment{why}"
    if head.applied:
        return "the service's assignment; the plug-in reported no other"
    return "the service's assignment, which was not applied; the applied one is not recorded"


def _compare(head: RecordingHead, beside: Beside) -> Table:
    """Compare the applied answer with the one that was not, in the numbers of their summaries."""
    applied, ours = head.summary, beside.summary
    table = make_table("")
    names = [f"{head.assignor} (applied)", f"{beside.assignor} (not applied)", "saved"]
    for name in names:
        table.add_column(name, justify="right")
    rows: list[tuple[str, int | None, int | None]] = [
        ("active tasks moved", applied.moved_active, ours.moved_active),
        ("offsets to restore", applied.restored, ours.restored),
        ("warm-ups", applied.warmups, ours.warmups),
    ]
    for what, then, instead in rows:
        saved = None if then is None or instead is None else then - instead
        table.add_row(what, *("–" if number is None else f"{number:,}" for number in (then, instead, saved)))
    return table


def _describe_answer(head: RecordingHead) -> str:
    parts = list(_describe_summary(head.summary))
    if head.mode == "shadow":
        parts.insert(0, "shadow")
    if head.reported:
        parts.insert(0, f"by {head.assignor}")
        if head.beside is not None:
            instead = ", ".join(_describe_summary(head.beside.summary))
            parts.append(f"not by {head.beside.assignor} ({instead})")
    elif head.summary.why_greedy:
        parts.append("by greedy")
    if not head.in_time:
        parts.append("too late")
    return ", ".join(parts)


def _describe_summary(summary: Summary) -> Iterator[str]:
    yield f"{pluralize(summary.moved_active, 'active task')} moved" if summary.moved_active else "nothing moved"
    if summary.warmups:
        yield pluralize(summary.warmups, "warm-up")
    if summary.followup_ms is not None:
        more = ""
        if summary.followups is not None and summary.followups > 1:
            time = "" if summary.plan_ms is None else f" in {format_minutes(summary.plan_ms)}"
            more = f", about {summary.followups:,} in all{time}"
        yield f"follow-up in {summary.followup_ms / 1000:g} s{more}"
    if summary.stalled:
        yield "stalled"
