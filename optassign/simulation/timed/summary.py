"""The figures of a run, by name, as JSON and tables have them."""

from __future__ import annotations

import json
import math
from hashlib import sha256

from optassign.simulation.timed.simulator import Played

__all__ = ["FIGURES", "digest", "summarise"]

FIGURES = {
    "down_task_s": "task-seconds in which a task was not processed",
    "longest_down_s": "the longest that one task was not processed, seconds",
    "unbalanced_s": "seconds in which the actives were outside of a share",
    "active_imbalance_s": "imbalance of the actives' shares x seconds",
    "client_imbalance_s": "of it, imbalance of the clients' shares of all active tasks x seconds",
    "balanced_at_s": "when the actives came into their shares for good, seconds from the start; null: they did not",
    "last_change_at": "when the last rebalance or restoration came to its end, seconds from the start",
    "without_standby_task_s": "missing copies in sync of logged tasks x seconds",
    "without_copy_task_s": "logged tasks without any copy in sync x seconds",
    "backlog_s": "records that waited x seconds",
    "most_backlog": "records that waited at most",
    "restored": "offsets restored",
    "rebalances": "passes of rebalances",
    "followups": "rebalances that a timer asked for",
    "moves": "active tasks that went from a living client to another",
    "moves_logged": "of them, logged ones",
}
"""Name -> what it is."""


def summarise(played: Played) -> dict[str, float | int | None]:
    """Figure -> value; seconds to the millisecond."""
    since = played.felt.balanced_since()
    values = {**vars(played.felt), "balanced_at_s": None if math.isinf(since) else since}
    return {name: round(value, 3) if isinstance(value := values[name], float) else value for name in FIGURES}


def digest(played: Played) -> str:
    """Digest the whole timeline: every event, and every point of the curves, to the thousandth."""
    curve = [[round(float(value), 3) for value in vars(point).values()] for point in played.felt.curve]
    return sha256(json.dumps([played.events, curve]).encode()).hexdigest()[:16]
