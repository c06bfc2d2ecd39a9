"""Why a task moves, in words, and which share it moves for."""

from optassign.judging.explanation import ShareCount, Why
from optassign.judging.rule_names import name_rule

__all__ = ["REASONS", "name_share", "reason_to_text", "show_range"]

_SHARES = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active tasks of subtopology",
    "subtopology_copies": "copies of subtopology",
}
REASONS: dict[Why, str] = {
    "gone": "its client has left the group",
    "draining": "its client drains",
    "lags": f"another client is more caught up: {name_rule('R3')}",
    "planned": "its target client has caught up",
    "load": "its client had more load than is balanced",
    "above its share": "its client was above its share",
    "to one below its share": "another client was below its share",
    "goals": "a goal, or another task that moves, requires it",
}


def reason_to_text(why: Why, share: ShareCount | None) -> str:
    """Why a task moves, with the share and what its client had of it: `…: 8 active tasks, share 5–6`."""
    if share is None:
        return REASONS[why]
    return f"{REASONS[why]}: {share.before:,} {name_share(share)}, share {show_range(share)}"


def name_share(count: ShareCount) -> str:
    """What is counted: `active tasks of subtopology 3`."""
    return _SHARES[count.share] + ("" if count.subtopology is None else f" {count.subtopology}")


def show_range(count: ShareCount) -> str:
    """The bounds of the share: `1–2`."""
    return str(count.low) if count.low == count.high else f"{count.low}–{count.high}"
