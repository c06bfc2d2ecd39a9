"""Restore rates of a group that another assignor runs, by its rebalances (docs/reference/rules.md, "The follow-up")."""

from __future__ import annotations

from optassign.formats.assignment import TaskAssignment, WarmupProgress
from optassign.formats.state import ApplicationState
from optassign.measuring.facts import list_pairs
from optassign.measuring.placement import Placement
from optassign.measuring.ranks import Ranks
from optassign.solving.situation.situation import read_situation

__all__ = ["observe_pace"]


def observe_pace(state: ApplicationState, applied: TaskAssignment, before: TaskAssignment | None) -> TaskAssignment:
    """The applied answer, whose report tells how fast clients restored since the one before it and which copies restore now.

    Args:
        state: the snapshot that `applied` answers.
        before: the answer that was applied before, as this function returned it; None: not known.

    If the snapshot carries no time, or the report has a pace of its own, the answer comes back unchanged.
    """
    if applied.report.pace is not None:
        return applied
    situation = read_situation(state.model_copy(update={"remembered": before}))
    pace = situation.pace.report(situation.inventory.clients)
    if pace is None:
        return applied
    ranks, placement = Ranks(state), Placement.of(state, applied)
    logged = {task.id for task in state.tasks if task.logged}
    warming = ((task, client) for task, clients in placement.warmup.items() for client in clients)
    restoring = sorted({pair for pair in (*list_pairs(placement), *warming) if pair[0] in logged and ranks.of(*pair)})
    progress = tuple(
        WarmupProgress(task=task, process_id=client, lag=ranks.lag(task, client), answers_without_progress=0)
        for task, client in restoring
    )
    report = applied.report.model_copy(update={"pace": pace, "warmup_progress": progress})
    return applied.model_copy(update={"report": report})
