"""Answers as short texts, for tests that follow an assignor by hand: the way back from `judging.answer`."""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment


def describe(found: TaskAssignment) -> dict[str, str]:
    """What each client gets, as "active | standby | warm-ups" with empty ends left out; a final "!" asks for a follow-up."""
    return {
        client.process_id: " | ".join(" ".join(tasks) for tasks in (client.active, client.standby, client.warmup)).rstrip(" |")
        + ("!" if client.followup_rebalance_ms is not None else "")
        for client in found.clients
    }


def running(tasks: str) -> dict[str, object]:
    """A client, for `judging.snapshot`, that runs these tasks, which have changelogs."""
    return {"active": tasks, "lags": dict.fromkeys(tasks.split(), -2)}
