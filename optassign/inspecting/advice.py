"""Recommend next steps from the figures of a report; each piece of advice says what it is worth."""

from __future__ import annotations

from collections.abc import Iterator

from optassign.inspecting.outlook import OPTASSIGN, EventCost
from optassign.inspecting.report import GroupReport
from optassign_models.policy.constants import WORTH_SAYING

__all__ = ["format_seconds", "list_advice"]


def list_advice(report: GroupReport) -> Iterator[str]:
    """Sentences, the most important first."""
    yield from _advise_on_sizes(report)
    yield from _advise_on_copies(report)
    yield from _advise_on_warmups(report)
    yield from _advise_on_restarts(report)
    yield from _advise_on_optassign(report)


def format_seconds(seconds: float | None) -> str:
    """A time for people: `40 s`, `12 min`, `3.5 h`; of None: `> 48 h`, the longest time that is played."""
    if seconds is None:
        return "> 48 h"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _advise_on_sizes(report: GroupReport) -> Iterator[str]:
    unknown = [each.name for each in report.subtopologies if each.kind == "logged" and each.state is None]
    if unknown:
        yield (
            f"The state of subtopology {', '.join(unknown)} counts as nearly empty, so its costs are too low. "
            "Save the text of Topology#describe() and repeat with --topology FILE."
        )


def _advise_on_copies(report: GroupReport) -> Iterator[str]:
    state = report.inspected.snapshot
    logged = sum(task.logged for task in state.tasks)
    if logged and not state.configs.num_standby_replicas and len(state.clients) > 1:
        lost = None if report.outlook is None else report.outlook.find("loss", report.played_assignor)
        cost = "" if lost is None else f": today a loss stops a task for up to {format_seconds(lost.longest_down_s)}"
        yield f"Set num.standby.replicas=1, so that the loss of an instance does not wait for restoring{cost}."
    for zone in report.zones:
        if zone.tasks_in_one and len(zone.values) > 1:
            yield (
                f"{zone.tasks_in_one} of {logged} logged tasks have all copies in one {zone.tag}. "
                f"Set rack.aware.assignment.tags={zone.tag}."
            )


def _advise_on_warmups(report: GroupReport) -> Iterator[str]:
    if report.outlook is None:
        return
    choice = report.outlook.warmups[0]
    now, best = choice.seconds.get(choice.now), choice.seconds.get(choice.best)
    if choice.best > choice.now and best is not None and (now is None or best <= WORTH_SAYING * now):
        yield (
            f"Set max.warmup.replicas={choice.best}: a scale-out then takes {format_seconds(best)} in place of "
            f"{format_seconds(now)} under {choice.assignor}. More warm-ups do not pay."
        )


def _advise_on_restarts(report: GroupReport) -> Iterator[str]:
    if report.outlook is None or report.inspected.static_members or report.inspected.protocol != "classic":
        return
    cost = report.outlook.find("restart", report.played_assignor)
    if cost is not None and cost.moves:
        yield f"A rolling restart moves {cost.moves} tasks. Set group.instance.id, so that instances keep theirs."


def _advise_on_optassign(report: GroupReport) -> Iterator[str]:
    if report.outlook is None:
        return
    saved = []
    for event, what in (("scale-out", "a scale-out"), ("loss", "a loss"), ("restart", "a rolling restart")):
        theirs, own = report.outlook.find(event, report.played_assignor), report.outlook.find(event, OPTASSIGN)
        if theirs is not None and own is not None:
            saved += [f"{what} {text}" for text in _compare(theirs, own)]
    if saved:
        yield f"With optassign {'; '.join(saved)}. Try shadow mode (docs/how-to/adopt.md), or follow the group with --watch."
    else:
        yield "optassign would save nothing worth mentioning here, as the group is now."


def _compare(theirs: EventCost, own: EventCost) -> Iterator[str]:
    if own.moves <= WORTH_SAYING * theirs.moves and theirs.moves:
        yield f"moves {own.moves} tasks in place of {theirs.moves}"
    if theirs.restored and own.restored <= WORTH_SAYING * theirs.restored:
        yield f"restores {own.restored:,} offsets in place of {theirs.restored:,}"
    if own.seconds is not None and (theirs.seconds is None or own.seconds <= WORTH_SAYING * theirs.seconds):
        yield f"takes {format_seconds(own.seconds)} in place of {format_seconds(theirs.seconds)}"
