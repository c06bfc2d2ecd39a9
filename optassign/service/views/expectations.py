"""Texts about the expected end of an application's rebalances, and about the reasons of its waits."""

from optassign.judging.explanation_text import pluralize
from optassign.service.views.types import ApplicationRow

__all__ = ["describe_awaited", "describe_end", "describe_followup"]


def describe_end(row: ApplicationRow, now: str) -> tuple[str, str]:
    """Return when the application is expected to reach its target, as a word or two, and a remark.

    Both are empty if an end is estimated that is later than `now`: the page shows that time.
    """
    word = row.status.word
    if word in ("paused", "stopped"):
        return f"not while it is {word}", ""
    if row.expected_end is not None:
        return ("likely by now", "the next rebalance tells") if row.expected_end <= now else ("", "")
    if word == "unknown":
        return "not known", ""
    if word == "not balanced":
        return "nothing moves", "and tasks are not balanced"
    if _measures_rates(row):
        return "done", "by numbers of tasks; input rates count once they were measured for a minute"
    if word == "at rest" or row.next_followup is None:
        return "done", ""
    return "not known", f"{row.last.answered_by} tells no plan"


def describe_followup(row: ApplicationRow) -> str:
    """Return what the next follow-up waits for."""
    if row.waiting:
        return f"waits for {row.waiting:,} {'copy' if row.waiting == 1 else 'copies'}"
    if row.last.warmups:
        return f"waits for {pluralize(row.last.warmups, 'warm-up')}"
    if row.rates_count_from is not None:
        return "measures what tasks read"
    return f"waits for {row.awaited}" if row.awaited else "for an unknown reason"


def describe_awaited(row: ApplicationRow) -> str:
    """Return what an application without awaited copies waits for, as a sentence."""
    word, about = row.status.word, row.status.about
    unbalanced = "" if row.balanced else ", and tasks are not balanced"
    if word == "stopped":
        return f"Nothing: it is stopped, {about}."
    if word == "unknown":
        return f"Unknown: {about}."
    if _measures_rates(row):
        return "The rates of the input, which count once they were measured for a minute. Every copy is where it should be."
    if word == "paused":
        return f"The end of the pause, {about}{unbalanced}."
    if word == "waiting" and row.last.status == "paused":
        return f"Its next rebalance: {about}."
    if word == "waiting" and row.awaited:
        return f"It waits for {row.awaited}."
    if row.next_followup is not None and word not in ("at rest", "not balanced"):
        return f"Unknown: {row.last.answered_by} asks for a follow-up without a reason."
    if word == "stuck":
        return "Nothing: no warm-up slot can help."
    return "Nothing: every copy is where it should be." if row.balanced else "Nothing, though tasks are not balanced."


def _measures_rates(row: ApplicationRow) -> bool:
    """Return whether the group is at its target by numbers of tasks, and only waits for input rates."""
    is_there = row.balanced and not row.waiting and not row.last.warmups
    return is_there and row.next_followup is not None and row.rates_count_from is not None
