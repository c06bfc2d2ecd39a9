"""The pages' content as data: the templates make HTML from it, and machines get it as JSON.

Times are ISO 8601 in UTC, offsets are offsets, and null is what is not known, such as from recordings of an older service.
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
"""In the order of the first page: statuses that need an operator first, statuses that an operator requested last."""
Decider = Literal["optassign", "fallback", "Kafka"]
"""The component that decided the last rebalance; fallback: the planner in the plug-in; Kafka: whoever runs the group in shadow
mode."""


class StatusView(Frozen):
    """How an application is, in a word, and since when."""

    word: Status
    about: str
    since: str
    since_at_least: bool
    """True: it was so before the recordings that were looked at, too."""


class RebalanceRow(Frozen):
    """One rebalance in a list."""

    id: str
    at: str
    status: Status
    mode: Literal["active", "shadow"]
    answered_by: str
    fallback: str
    """Why it was not the service's own answer; empty: it was."""
    rebalance: str
    """The plug-in's id of it, which stands in the plug-in's log; empty: there is none."""
    trigger: str
    """Why the group rebalanced, in words; empty: not known."""
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
    """The last rebalances of an application, the oldest first: one value of each list for each rebalance."""

    load_most: tuple[float | None, ...]
    """The greatest load of an instance."""
    to_restore: tuple[int | None, ...]
    """Offsets that copies still have to restore until the target assignment is reached."""
    seconds_to_balance: tuple[float | None, ...]
    """About how long that takes; 0 where nothing is waited for."""


class ApplicationRow(Frozen):
    """One application in a list."""

    folder: str
    """The folder of its recordings; it names the application in addresses."""
    application: str | None
    status: StatusView
    tasks: int
    clients: int
    last_contact: str
    """When its last rebalance was: an application tells of itself at no other time."""
    decided_by: Decider
    next_followup: str | None
    overdue: bool
    """The follow-up should have been there for some time."""
    awaited: str
    """The reason for the follow-up, in words; empty: there is none, or an older service recorded it."""
    waiting: int
    waits_on: tuple[str, ...]
    expected_end: str | None
    """When the plan is likely to be reached."""
    load_least: float | None
    load_most: float | None
    load_unit: LoadUnit
    """The unit of these, and of the loads of clients."""
    standbys_wanted: int | None
    standbys_caught_up: int | None
    balanced: bool
    imbalance: int | None
    """The imbalance of the shares of all clients; None: load is what is balanced, or an older service recorded it."""
    rates_count_from: str | None
    """When measured rates of the input begin to count as weights; None: they do, or are not asked for."""
    trend: Trend
    last: RebalanceRow


class ApplicationsView(Frozen):
    """All applications."""

    recording: bool
    """False: nothing is recorded, so there is nothing to show."""
    now: str
    counts: tuple[tuple[Status, int], ...]
    """Status words that some application has, and how many have each, whatever is asked for."""
    status: Status | None
    find: str
    """The status, and the part of a name, that were asked for; null and empty for all."""
    applications: tuple[ApplicationRow, ...]
    more: int
    """Applications that are left out, as there are too many."""


class CopyRow(Frozen):
    """A planned copy that is not there yet."""

    task: str
    client: str
    process_id: str
    role: str
    lag: int | None
    whole: int
    """Offsets of the whole changelog."""
    progress: float | None
    """Share of the changelog that was there at the last rebalance, from 0 to 1."""
    progress_now: float | None = None
    """The same now: as its instance tells it live, otherwise extrapolated by the rate, where that is known."""
    heard_at: str | None = None
    """When its instance told it live; null: all is as the last rebalance found it."""
    restoring: bool
    """False: it waits for its turn."""
    rate: float | None
    """Offsets per second, of this copy."""
    expected_end: str | None
    since: str
    since_at_least: bool
    rebalances: int
    """For how many it has been waited, one after the other."""
    why: str


class RateRow(Frozen):
    """How fast a client restores."""

    client: str
    offsets_per_s: float
    restoring: int
    """Copies, now."""


class ClientRow(Frozen):
    """A client's copies after the last rebalance."""

    client: str
    process_id: str
    threads: int
    draining: bool
    active: int
    low: int | None
    high: int | None
    """Its share: how many active tasks count as balanced; None where load is what is balanced."""
    to_come: int
    """Active tasks that it will have, and does not have yet."""
    to_go: int
    """Active tasks that it will not have any more."""
    load: float
    """Weight of its active tasks per thread × capacity."""
    standbys: int
    warmups: int
    state: int
    """Offsets of the changelogs of its active tasks and standbys."""
    waited_for: int
    """Planned copies on it that are not there yet."""


class Timeline(Frozen):
    """Rebalances as curves, the oldest first: one value of each list for each rebalance."""

    at: tuple[float, ...]
    """Seconds since 1970."""
    moved_active: tuple[int, ...]
    restored: tuple[int | None, ...]
    waiting: tuple[int, ...]
    clients: tuple[int, ...]
    seconds: tuple[float | None, ...]


class TaskMove(Frozen):
    """A rebalance after which a task is active elsewhere than before it."""

    id: str
    at: str
    client: str
    """The client where it is active from then on; empty: none."""


class TaskHistory(Frozen):
    """The clients where a task has been active."""

    task: str
    moves: tuple[TaskMove, ...]
    """The newest first; the last is where it was in the oldest rebalance that was looked at."""
    looked_at: int
    """Rebalances."""


class ApplicationView(Frozen):
    """One application."""

    now: str
    row: ApplicationRow
    copies: tuple[CopyRow, ...]
    more_copies: int
    live: int
    """Instances that tell live how far their copies are."""
    heard_at: str | None
    """The last time that one of them did."""
    holders: tuple[ClientRow, ...]
    """Each client's copies; the greatest load first."""
    most_per_thread: float
    """The end of the scale of bars: the most active tasks per thread that any of them has, will have or may have."""
    more_holders: int
    rates: tuple[RateRow, ...]
    rebalances: tuple[RebalanceRow, ...]
    older: str | None
    """The query for older rebalances."""
    timeline: Timeline
    task: TaskHistory | None
    """The history of the task that was asked for."""
    zones: tuple[str, ...]
    """Tags of clients that a zone may have, such as `zone=a`."""
    client_names: tuple[str, ...]
    """The process ids of the first of them."""
    unknown_drains: tuple[str, ...]
    """Clients asked to drain whose name no client of the last rebalance has."""


class GoalRow(Frozen):
    """A goal that the answer was made for."""

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
    """One rebalance, and why its answer is as it is."""

    now: str
    folder: str
    application: str | None
    row: RebalanceRow
    earlier: str | None
    later: str | None
    """The rebalances before and after it, by their ids."""
    why_not_applied: str
    beside: str
    """The service's own answer, in words, if another answer was applied; otherwise empty."""
    summary: tuple[str, ...]
    """The changes, their reasons, and what the follow-up waits for."""
    moves: tuple[MoveRow, ...]
    more_moves: int
    reasons: tuple[tuple[str, int], ...]
    """Why active tasks move, and how many for each reason."""
    goals: tuple[GoalRow, ...]
    found_by: str
    termination: str
    stages: tuple[tuple[str, float], ...]
    """Seconds by stage of the assignor."""
    heat: HeatMap
    counts: tuple[CountRow, ...]
    """The counts of the clients in `heat`."""
    about: tuple[str, ...]
    """The explanation of the task or client that was asked for."""
    not_found: str
    """The name that was asked for and is not there."""
