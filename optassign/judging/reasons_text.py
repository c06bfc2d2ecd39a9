"""Why a task moves, in words, and which window it moves for."""

from optassign.judging.explanation import Why, WindowCount

__all__ = ["REASONS", "name_window", "reason_to_text", "show_range"]

_WINDOWS = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active tasks of subtopology",
    "subtopology_copies": "copies of subtopology",
}
REASONS: dict[Why, str] = {
    "gone": "its client has gone",
    "draining": "its client is about to leave",
    "lags": "another client is more caught up (R3)",
    "planned": "planned here, now caught up",
    "load": "its client carried more than is balanced",
    "above its window": "its client had more than its window allows",
    "to one below its window": "another client had less than its window allows",
    "goals": "the goals, or other tasks that move, made it so",
}


def reason_to_text(why: Why, window: WindowCount | None) -> str:
    """Why a task moves, with the window and what its client had of it, as a client may be within all others."""
    if window is None:
        return REASONS[why]
    return f"{REASONS[why]}: {window.before:,} {name_window(window)}, window {show_range(window)}"


def name_window(count: WindowCount) -> str:
    """What is counted: `active tasks of subtopology 3`."""
    return _WINDOWS[count.window] + ("" if count.subtopology is None else f" {count.subtopology}")


def show_range(count: WindowCount) -> str:
    """The window: `1–2`."""
    return str(count.low) if count.low == count.high else f"{count.low}–{count.high}"
