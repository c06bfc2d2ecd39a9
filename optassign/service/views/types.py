"""The pages' content as data: templates render the data as HTML, and machines read it as JSON.

Times are ISO 8601 in UTC, lags are offsets, and null is an unknown value, such as a field that an older service did not record.
"""

from typing import Literal

from optassign.formats.base import Frozen
from optassign.recordings.recording import LoadUnit
from optassign.service.views.heat_map import CountRow, HeatMap

__all__ = [
    "ApplicationRow",
    "ApplicationView",
    "ApplicationsView",
    "ClientRow",
    "CopyRow",
    "Decider",
    "GoalRow",
    "MoveRow",
    "RateRow",
    "RebalanceRow",
    "RebalanceView",
    "Status",
    "StatusView",
    "TaskHistory",
    "TaskMove",
    "Timeline",
    "Trend",
]

Status = Literal[
    "unknown", "stuck", "fallback", "not balanced", "draining", "waiting", "warming up", "at rest", "paused", "stopped"
]
"""Statuses in the order of the first page, the most urgent first."""
Decider = Literal["optassign", "fallback", "Kafka"]
"""The component that decided the last rebalance; fallback: the planner in the plug-in; Kafka: the assignor that runs the group
in shadow mode."""


class StatusView(Frozen):
    """The status of an application, and its start."""

    word: Status
    about: str
    since: str
    since_at_least: bool
    """Whether the status may have begun before the oldest recording that was read."""


class RebalanceRow(Frozen):
    """One rebalance in a list."""

    id: str
    at: str
    status: Status
    mode: Literal["active", "shadow"]
    answered_by: str
    fallback: str
    """Why a fallback answered in place of the assignor; empty if none did."""
    rebalance: str
    """The plug-in's id of the rebalance, which is in the plug-in's log; empty if unknown."""
    trigger: str
    """Why the group rebalanced, in words; empty if unknown."""
    seconds: float | None
    joined: int | None
    joined_clients: tuple[str, ...]
    left: int | None
    left_clients: tuple[str, ...]
    tasks: int
    clients: int
    moved_active: int
    restore_work: int | None
    restore_work_bound: int | None
    proven: bool
    gap: int | None
    """Offsets of `restore_work` above its bound."""
    restored: int | None
    warmups: int
    waiting: int
    followup_ms: int | None
    plan_ms: int | None
    balanced: bool


class Trend(Frozen):
    """The last rebalances of an application, the oldest first: each list has one value for each rebalance."""

    load_most: tuple[float | None, ...]
    """The greatest load of an instance."""
    to_restore: tuple[int | None, ...]
    """Offsets that copies still have to restore until the target assignment is reached."""
    seconds_to_balance: tuple[float | None, ...]
    """Estimated seconds until the target is reached; 0 if the group is at rest."""


class ApplicationRow(Frozen):
    """One application in a list."""

    folder: str
    """The folder of its recordings, which identifies the application in addresses."""
    application: str | None
    status: StatusView
    tasks: int
    clients: int
    last_contact: str
    """Time of its last rebalance, the only contact with an application."""
    decided_by: Decider
    next_followup: str | None
    overdue: bool
    """Whether the follow-up is overdue."""
    awaited: str
    """The reason for the follow-up, in words; empty without a follow-up, or if an older service recorded the rebalance."""
    waiting: int
    waits_on: tuple[str, ...]
    expected_end: str | None
    """Estimated time at which the target is reached."""
    load_least: float | None
    load_most: float | None
    load_unit: LoadUnit
    """The unit of `load_least`, `load_most` and the loads of clients."""
    standbys_wanted: int | None
    standbys_caught_up: int | None
    balanced: bool
    imbalance: int | None
    """The imbalance of all clients' shares; None if load is balanced instead, or an older service recorded the rebalance."""
    rates_count_from: str | None
    """Time from which measured input rates count as weights; None if they already do, or are not used."""
    trend: Trend
    last: RebalanceRow


class ApplicationsView(Frozen):
    """All applications."""

    recording: bool
    """Whether the service records rebalances; if not, no application is shown."""
    now: str
    counts: tuple[tuple[Status, int], ...]
    """Each status that occurs, with its number of applications, regardless of the query."""
    status: Status | None
    find: str
    """The requested status and the requested part of a name; null and empty for all."""
    applications: tuple[ApplicationRow, ...]
    more: int
    """Number of applications that are left out to bound the page."""


class CopyRow(Frozen):
    """A copy on target that is not caught up yet."""

    task: str
    client: str
    process_id: str
    role: str
    lag: int | None
    whole: int
    """Offsets of the whole changelog."""
    progress: float | None
    """Restored share of the changelog at the last rebalance, from 0 to 1."""
    progress_now: float | None = None
    """The present restored share: reported by the instance, otherwise extrapolated if the rate is known."""
    heard_at: str | None = None
    """Time of the instance's report; null if all values are from the last rebalance."""
    restoring: bool
    """False if the copy waits for a slot."""
    rate: float | None
    """Restore rate of this copy, offsets per second."""
    expected_end: str | None
    since: str
    since_at_least: bool
    rebalances: int
    """Number of consecutive rebalances that waited for the copy."""
    why: str


class RateRow(Frozen):
    """A client's restore rate."""

    client: str
    offsets_per_s: float
    restoring: int
    """Number of copies that the client restores now."""


class ClientRow(Frozen):
    """A client's copies after the last rebalance."""

    client: str
    process_id: str
    threads: int
    draining: bool
    active: int
    low: int | None
    high: int | None
    """Its share: numbers of active tasks that count as balanced; None if load is balanced instead."""
    to_come: int
    """Active tasks of its target that it does not have yet."""
    to_go: int
    """Active tasks that it has and that its target does not."""
    load: float
    """The load of its active tasks, in the unit `ApplicationRow.load_unit`."""
    standbys: int
    warmups: int
    state: int
    """Offsets of the changelogs of its active tasks and standbys."""
    waited_for: int
    """Copies of its target that are not caught up yet."""


class Timeline(Frozen):
    """Rebalances as curves, the oldest first: each list has one value for each rebalance."""

    at: tuple[float, ...]
    """Seconds since 1970."""
    moved_active: tuple[int, ...]
    restored: tuple[int | None, ...]
    waiting: tuple[int, ...]
    clients: tuple[int, ...]
    seconds: tuple[float | None, ...]


class TaskMove(Frozen):
    """A rebalance that moved the active task to another client."""

    id: str
    at: str
    client: str
    """The new owner; empty if there is none."""


class TaskHistory(Frozen):
    """The owners of a task over time."""

    task: str
    moves: tuple[TaskMove, ...]
    """The moves, the newest first; the last entry is the owner in the oldest rebalance that was read."""
    looked_at: int
    """Number of rebalances that were read."""


class ApplicationView(Frozen):
    """One application."""

    now: str
    row: ApplicationRow
    end: str
    """A text on when the target is likely to be reached; empty if `row.expected_end` is in the future."""
    end_remark: str
    """A remark on `end`; may be empty."""
    followup: str
    """The reason for the next follow-up."""
    awaited: str
    """A sentence about the reason of the wait if the application waits for no copies."""
    copies: tuple[CopyRow, ...]
    more_copies: int
    live: int
    """Number of instances that report progress."""
    heard_at: str | None
    """Time of the last progress report."""
    holders: tuple[ClientRow, ...]
    """The copies of each client, the greatest load first."""
    most_per_thread: float
    """The end of the bars' scale: the most active tasks per thread that a client has, will have or may have."""
    more_holders: int
    rates: tuple[RateRow, ...]
    rebalances: tuple[RebalanceRow, ...]
    older: str | None
    """The parameter `before` of the next page of rebalances; null if no older one exists."""
    timeline: Timeline
    task: TaskHistory | None
    """The history of the requested task."""
    zones: tuple[str, ...]
    """Tags of clients that may name a zone, such as `zone=a`."""
    client_names: tuple[str, ...]
    """The process ids of the first clients."""
    unknown_drains: tuple[str, ...]
    """Drained clients whose names no client of the last rebalance has."""


class GoalRow(Frozen):
    """A goal of the answer, with its value and bound."""

    stage: str
    name: str
    value: float
    bound: float | None
    gap: float | None
    proven: bool


class MoveRow(Frozen):
    """An active task that changes its client."""

    task: str
    from_client: str
    to_client: str
    why: str


class RebalanceView(Frozen):
    """One rebalance, and the reasons for its answer."""

    now: str
    folder: str
    application: str | None
    row: RebalanceRow
    earlier: str | None
    later: str | None
    """The ids of the rebalances before and after it."""
    why_not_applied: str
    not_applied: str
    """A sentence that compares the service's own answer with the applied answer; empty unless both are recorded."""
    summary: tuple[str, ...]
    """The changes, their reasons, and the reason for the follow-up."""
    moves: tuple[MoveRow, ...]
    more_moves: int
    reasons: tuple[tuple[str, int], ...]
    """Reason for moves of active tasks → number of tasks."""
    goals: tuple[GoalRow, ...]
    found_by: str
    termination: str
    stages: tuple[tuple[str, float], ...]
    """Stage of the assignor → seconds."""
    heat: HeatMap
    counts: tuple[CountRow, ...]
    """The counts of the clients in `heat`."""
    about: tuple[str, ...]
    """The explanation of the requested task or client."""
    not_found: str
    """The requested name, if it is unknown."""
