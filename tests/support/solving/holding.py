"""Plays of groups with pauses, drains and limits, until the assignor asks for no further rebalance."""

from __future__ import annotations

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign.simulation.successors import make_restored_snapshot

ASSIGNORS = ("cp-sat", "greedy")


def list_actives(answer: TaskAssignment) -> dict[str, str]:
    return {task: client.process_id for client in answer.clients for task in client.active}


def list_owners(state: ApplicationState) -> dict[str, str]:
    return {task: client.process_id for client in state.clients for task in client.previous_active}


def list_standbys(answer: TaskAssignment) -> set[tuple[str, str]]:
    return {(task, client.process_id) for client in answer.clients for task in client.standby}


def find_followups(answer: TaskAssignment) -> list[int]:
    return [c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None]


def play(state: ApplicationState, assignor: str, most: int = 60) -> list[tuple[ApplicationState, TaskAssignment]]:
    """Return snapshot and answer of each rebalance until the group is stable; AssertionError after `most` rebalances."""
    played = []
    for _ in range(most):
        answer = assign(state, assignor)
        assert validate(state, answer) == []
        played.append((state, answer))
        if not find_followups(answer) and list_actives(answer) == list_owners(state):
            return played
        state = make_restored_snapshot(state, answer)
    raise AssertionError("it does not come to an end")
