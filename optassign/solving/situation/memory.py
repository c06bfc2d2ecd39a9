"""The second reader: the remembered answer, as far as its tasks and clients are here.

Keys are task × C + client, C clients. Names of clients or tasks that are not here are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optassign.formats.assignment import KafkaStreamsAssignment, Report, TargetAssignment, TaskAssignment
from optassign.solving.situation.inventory import Inventory, list_keys
from optassign_models.problem import BoolArray, IntArray, Placement, make_placement, sort_unique
from optassign_models.warmups import Progress

_NOTHING = TaskAssignment(assignor="none", clients=())
"""Read where there is no remembered answer."""


@dataclass(frozen=True, eq=False)
class Memory:
    """The remembered answer in keys, and what its report says."""

    known: bool
    active: IntArray
    """(T,) key of each task's remembered active copy, or −1."""
    active_client: IntArray
    """(T,) its client, or −1."""
    standby: IntArray
    """(n,) keys of the remembered standbys of logged tasks, sorted."""
    warmup: IntArray
    """(n,) keys of the remembered warm-ups, sorted."""
    plan_keys: IntArray
    """(n,) keys of all copies of its plan; where the answer was its own plan, of the answer."""
    seen: BoolArray
    """(T,) some client had a copy of the task, be it here or gone."""
    in_transit: BoolArray
    """(T,) tasks without an owner that it gave to a client that is here."""
    answer: Placement | None
    """The answer, if all its clients and tasks are these and no client owns a task that it gave to another (R10)."""
    plan: Placement | None
    """Its plan, or the answer that is its own plan, where that has every copy of every task on clients that are here."""
    plan_differs: bool
    """Its plan is another than the answer itself."""
    same_clients: bool
    """It names exactly the clients that are here."""
    progress: Progress
    asked_ms: int | None
    """The follow-up that it asked for."""
    report: Report
    new_drains: frozenset[str]
    """The process ids of draining clients that have copies by it and did not drain then. A second pass (KIP-429) repeats the
    answer, so that it says nothing about the room that the others have for their tasks."""

    @property
    def assigned(self) -> IntArray:
        """(n,) keys of all its copies and warm-ups, sorted."""
        return sort_unique(np.concatenate([self.active[self.active >= 0], self.standby, self.warmup]))


def read_memory(remembered: TaskAssignment | None, inventory: Inventory) -> Memory:
    """Read the remembered answer; nothing is known where there is none."""
    given = remembered if remembered is not None else _NOTHING
    C, logged = inventory.C, inventory.logged
    active, standby = _read_copies(given.clients, inventory)
    standby = standby[logged[standby // C]]
    plan_active, plan_standby = (active, standby) if given.plan is None else _read_copies(given.plan, inventory)
    seen = np.zeros(inventory.T, dtype=np.bool_)
    seen[[inventory.task_at[task] for client in given.clients for task in (*client.active, *client.standby)]] = True
    owned = inventory.count_owners() > 0
    draining = {inventory.clients[c] for c in np.flatnonzero(inventory.draining).tolist()}
    known = {row.process_id for row in given.report.drains}
    is_owned_as_given = bool(np.isin(active[owned], inventory.owned).all())
    here = [(inventory.client_at[c.process_id], c.warmup) for c in given.clients if c.process_id in inventory.client_at]
    return Memory(
        known=remembered is not None,
        active=active,
        active_client=np.where(active >= 0, active % C, -1),
        standby=sort_unique(standby),
        warmup=sort_unique(list_keys(inventory.task_at, here, C)),
        plan_keys=np.concatenate([plan_active[plan_active >= 0], plan_standby]),
        seen=seen,
        in_transit=~owned & (active >= 0),
        answer=_whole(active, standby, inventory) if is_owned_as_given else None,
        plan=_whole(plan_active, plan_standby, inventory),
        plan_differs=given.plan is not None,
        same_clients=remembered is not None and tuple(c.process_id for c in given.clients) == inventory.clients,
        progress=_read_progress(given.report, inventory),
        asked_ms=min((c.followup_rebalance_ms for c in given.clients if c.followup_rebalance_ms is not None), default=None),
        report=given.report,
        new_drains=frozenset({c.process_id for c in given.clients if c.active or c.standby} & draining - known),
    )


def _read_copies(
    clients: Sequence[KafkaStreamsAssignment] | Sequence[TargetAssignment], inventory: Inventory
) -> tuple[IntArray, IntArray]:
    """(T,) the keys of actives, −1 for none, and (n,) those of standbys."""
    here = [(inventory.client_at[c.process_id], c) for c in clients if c.process_id in inventory.client_at]
    active = np.full(inventory.T, -1, dtype=np.int64)
    keys = list_keys(inventory.task_at, ((c, client.active) for c, client in here), inventory.C)[::-1]
    active[keys // inventory.C] = keys  # the last written: of several, in a broken answer, the least client, as for the judge
    return active, list_keys(inventory.task_at, ((c, client.standby) for c, client in here), inventory.C)


def _read_progress(report: Report, inventory: Inventory) -> Progress:
    task_at, client_at, C = inventory.task_at, inventory.client_at, inventory.C
    rows = [
        (task_at[w.task] * C + client_at[w.process_id], -1 if w.lag is None else w.lag, w.answers_without_progress)
        for w in report.warmup_progress
        if w.task in task_at and w.process_id in client_at
    ]
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
    return Progress(table[:, 0], table[:, 1], table[:, 2])


def _whole(active: IntArray, standby: IntArray, inventory: Inventory) -> Placement | None:
    """A placement, if it has every copy of every task on clients that are here."""
    number = np.bincount(standby // inventory.C, minlength=inventory.T)
    wanted = np.where(inventory.logged, inventory.standbys, 0)
    if np.any(active < 0) or np.any(number != wanted) or np.isin(active, standby).any():
        return None
    return make_placement(active % inventory.C, standby, inventory.C)
