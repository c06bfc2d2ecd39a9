"""Answers as short texts, for tests that follow an assignor by hand: the inverse of `judging.make_answer`."""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment


def describe(found: TaskAssignment) -> dict[str, str]:
    """Return client → its tasks as "active | standby | warm-ups" without empty ends; a final "!" stands for a follow-up."""
    return {
        client.process_id: " | ".join(" ".join(tasks) for tasks in (client.active, client.standby, client.warmup)).rstrip(" |")
        + ("!" if client.followup_rebalance_ms is not None else "")
        for client in found.clients
    }


def make_running_client(tasks: str) -> dict[str, object]:
    """Return a client for `judging.make_snapshot` that runs these logged tasks."""
    return {"active": tasks, "lags": dict.fromkeys(tasks.split(), -2)}
