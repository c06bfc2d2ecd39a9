"""The details of rebalances in a list: joins and leaves, loads, standbys, the clients that the follow-up awaits."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import Count, Frozen, to_ms
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import staying_clients
from optassign.measuring.client_names import ClientNames
from optassign.measuring.load import balances_load, measure_shown_loads
from optassign.measuring.placement import TaskPlacement, standbys_per_task
from optassign.measuring.ranks import Ranks
from optassign_models.policy.constants import EARLY_MS, RECORDED_CHARACTERS, RECORDED_NAMES

__all__ = ["TRIGGERS", "LoadUnit", "Overview", "Trigger", "find_load_unit", "make_overview"]

LoadUnit = Literal["weight per thread", "even spreads"]
Trigger = Literal["joined", "left", "joined and left", "second pass", "follow-up", "other"]
TRIGGERS: dict[Trigger, str] = {
    "joined": "instances joined",
    "left": "instances left",
    "joined and left": "instances joined and left",
    "second pass": "second pass",
    "follow-up": "follow-up",
    "other": "restart or new topics",
}
"""Why a group rebalanced -> the same in words. Kafka does not tell it: it follows from what has changed."""
_Names = Annotated[tuple[str, ...], Field(strict=False)]


class Overview(Frozen):
    """A rebalance in a list of rebalances, in addition to its summary; clients by the names that people know them by."""

    joined: Count | None = Field(default=None, description="clients that the remembered answer did not know; null: no memory")
    joined_clients: _Names = Field(default=(), description="the first of them")
    left: Count | None = Field(default=None, description="clients of the remembered answer that are gone; null: no memory")
    left_clients: _Names = Field(default=(), description="the first of them")
    trigger: Trigger | None = Field(default=None, description="why the group rebalanced; null: no memory, or an older service")
    draining: Count = Field(default=0, description="clients that are about to leave and have active tasks")
    load_least: float = Field(description="least load of a client that stays")
    load_most: float = Field(description="greatest load of a client that stays")
    load_unit: LoadUnit = Field(
        default="weight per thread",
        description="weight of active tasks per thread × capacity; even spreads where load is what is balanced",
    )
    standbys_wanted: Count = Field(description="standbys of all logged tasks")
    standbys_caught_up: Count = Field(description="of those in the answer, how many are caught up")
    waits_on: _Names = Field(default=(), description="the clients on whose copies the follow-up waits, the first of them")


def make_overview(state: ApplicationState, answer: TaskAssignment) -> Overview:
    """The overview of an answer."""
    label, placement, ranks = ClientNames(state).label, TaskPlacement.of(state, answer), Ranks(state)
    joined: list[str] | None = None
    left: list[str] | None = None
    if state.remembered is not None:
        known = {client.process_id for client in state.remembered.clients}
        joined = [label(name) for name in state.kafka_streams_states if name not in known]
        left = [name for name in sorted(known) if name not in state.kafka_streams_states]
    has_active = {client for clients in placement.active.values() for client in clients}
    waits = Counter(entry.process_id for entry in answer.report.waiting)
    shown = measure_shown_loads(state, placement)
    loads = [shown[client.process_id] for client in staying_clients(state)]
    logged = [task.id for task in state.tasks if task.logged]
    return Overview(
        joined=None if joined is None else len(joined),
        joined_clients=_cut(joined or ()),
        left=None if left is None else len(left),
        left_clients=_cut(left or ()),
        trigger=_find_trigger(state, bool(joined), bool(left)),
        draining=sum(client.draining and client.process_id in has_active for client in state.clients),
        load_least=min(loads),
        load_most=max(loads),
        load_unit=find_load_unit(state),
        standbys_wanted=len(logged) * standbys_per_task(state),
        standbys_caught_up=sum(ranks.of(task, client) == 0 for task in logged for client in placement.standby[task]),
        waits_on=_cut([f"{label(name)}: {number:,}" for name, number in waits.most_common()]),
    )


def _find_trigger(state: ApplicationState, has_joined: bool, has_left: bool) -> Trigger | None:
    """None: nothing is remembered."""
    before = state.remembered
    if before is None:
        return None
    if has_joined or has_left:
        return "joined and left" if has_joined and has_left else "joined" if has_joined else "left"
    owned = {task for client in state.clients for task in client.previous_active}
    given = {task for client in before.clients for task in client.active}
    if any(task.id in given and task.id not in owned for task in state.tasks):
        return "second pass"
    asked = min((c.followup_rebalance_ms for c in before.clients if c.followup_rebalance_ms is not None), default=None)
    pace = before.report.pace
    if asked is None:
        return "other"
    if state.taken_at is None or pace is None:
        return None
    return "follow-up" if to_ms(state.taken_at) - to_ms(pace.taken_at) + EARLY_MS >= asked else "other"


def find_load_unit(state: ApplicationState) -> LoadUnit:
    """The unit of clients' loads."""
    return "even spreads" if balances_load(state) else "weight per thread"


def _cut(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name[:RECORDED_CHARACTERS] for name in names[:RECORDED_NAMES])
