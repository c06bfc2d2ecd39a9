"""What an explanation says, as data. `explain.py` makes it, `explain_text.py` puts it into words.

Costs and lags are offsets.
"""

from dataclasses import dataclass
from typing import Literal

from optassign.formats.assignment import Waiting
from optassign.measuring.balance import WindowName

Role = Literal["active", "standby", "warmup"]
Why = Literal["gone", "draining", "lags", "above its window", "to one below its window", "goals"]
"""Why an active task moves: its client has gone; is about to leave; is not among the most caught up (R3); had more than its
window allows; the new one had less. Or none of these: the goals, or other tasks that move, made it so."""


@dataclass(frozen=True, slots=True)
class WindowCount:
    """One client's count of one window: before this rebalance, in the answer, and in its plan."""

    process_id: str
    window: WindowName
    subtopology: str | None
    low: int
    high: int
    before: int
    after: int
    planned: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One client, as a place for one task."""

    process_id: str
    rank: int
    lag: int | None
    """None for a task without a changelog."""
    cost: int
    """What a copy here has to replay first."""
    may_be_active: bool
    """Whether R3 leaves it: it is among the most caught up."""
    before: Role | None
    """What it had of the task, as far as that is known."""
    now: Role | None
    planned: Role | None
    binds: tuple[WindowCount, ...]
    """The windows that would be left with the planned active copy here instead, other things being equal."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why the copies of a task are where they are."""

    task: str
    kind: str
    """stateless, unlogged or logged"""
    candidates: tuple[Candidate, ...]
    """By rank, then lag, then id: all clients, or in a large group those that have to do with the task."""
    others: int
    """How many clients are no candidates. They have nothing of the task,"""
    others_may_be_active: bool
    """R3 leaves them or not,"""
    others_cost: int
    """and this is what a copy there has to replay."""
    why_moved: Why | None
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class RoleChange:
    """What a client had and has in one role; task ids in order."""

    role: Role
    kept: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewCopy:
    """A copy that has state to replay before it is caught up."""

    task: str
    process_id: str
    role: Role
    offsets: int


@dataclass(frozen=True, slots=True)
class ClientExplanation:
    """What a client gains and loses, and its counts against its windows."""

    process_id: str
    threads: int
    capacity: float
    draining: bool
    roles: tuple[RoleChange, ...]
    standbys_known: bool
    """Whether it is known which standbys it had, or only which task directories are on its disk."""
    windows: tuple[WindowCount, ...]
    restores: tuple[NewCopy, ...]
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """An active task that changes its client."""

    task: str
    from_client: str
    to_client: str
    why: Why


@dataclass(frozen=True, slots=True)
class Explanation:
    """What changes, why, and what the follow-up waits for."""

    moves: tuple[Move, ...]
    stay: int
    """Active tasks that stay,"""
    new: int
    """that nobody of the snapshot had before,"""
    gone: int
    """and those among them whose client is remembered, and has gone."""
    nobody_caught_up: tuple[str, ...]
    """Tasks on which no client is caught up: the active copy is where the lag is least (R3), wherever that is."""
    restores: tuple[NewCopy, ...]
    """What is replayed now, warm-ups included."""
    planned_work: int
    """What is replayed until the plan is reached (goal (b)): what is replayed now is part of it."""
    excess_now: int
    """Of all windows; 0: balanced."""
    excess_planned: int
    followup_by: str | None
    followup_ms: int | None
    waiting: tuple[Waiting, ...]
    stalled: bool
    notes: tuple[str, ...]
