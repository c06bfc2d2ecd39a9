"""Explanations as data: `explain.py` makes them, `explanation_text.py` turns them into lines of text.

Costs and lags are offsets.
"""

from dataclasses import dataclass
from typing import Literal

from optassign.formats.assignment import Waiting
from optassign.measuring.balance import ShareName
from optassign.measuring.outlook import Outlook

Role = Literal["active", "standby", "warmup"]
Why = Literal["gone", "draining", "lags", "planned", "load", "above its share", "to one below its share", "goals"]
"""Why an active task moves: its client has gone; is about to leave; is not among the most caught up (R3); the remembered plan
wanted it on the new one, which has caught up; its client carried more than is balanced; it had more than its share allows; the
new one had less. Or none of these: the goals, or other tasks that move, made it so."""


@dataclass(frozen=True, slots=True)
class ShareCount:
    """A client's share, and its count before this rebalance, in the answer, and in the plan."""

    process_id: str
    share: ShareName
    subtopology: str | None
    low: int
    high: int
    before: int
    after: int
    planned: int


@dataclass(frozen=True, slots=True)
class LoadChange:
    """A load before this rebalance, in the answer, and in the plan, in even spreads; and up to which it is balanced."""

    before: float
    after: float
    planned: float
    allowed: float


@dataclass(frozen=True, slots=True)
class StateChange:
    """Offsets of state that a client keeps before this rebalance, in the answer, and in the plan; warm-ups count."""

    before: int
    after: int
    of_warmups: int
    """The warm-ups' part of the state that it keeps in the answer."""
    planned: int
    even: int
    """Its value in the plan if all clients that do not drain kept the same."""
    allowed: int | None
    """By the limits `most_state`; None without any for this client."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A client as a place for a task."""

    process_id: str
    rank: int
    lag: int | None
    """None for a task without a changelog."""
    cost: int
    """Offsets that a copy on this client has to replay first."""
    may_be_active: bool
    """Whether R3 allows the active copy here, since the client is among the most caught up."""
    before: Role | None
    """Its role before this rebalance, if known."""
    now: Role | None
    """Its role in the answer."""
    planned: Role | None
    """Its role in the plan."""
    load_with_it: float | None
    """The client's planned load with the active copy here as well, if that is more than balanced; otherwise None."""
    binds: tuple[ShareCount, ...]
    """The shares that counts would leave if the planned active copy were here instead, all other things equal."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why the copies of a task are where they are."""

    task: str
    kind: str
    """`stateless`, `unlogged` or `logged`."""
    candidates: tuple[Candidate, ...]
    """By rank, then lag, then id: all clients, or in a large group the ones that concern the task."""
    others: int
    """How many clients are not among the candidates; they have nothing of the task."""
    others_may_be_active: bool
    """Whether R3 allows the active copy on the others."""
    others_cost: int
    """Offsets that a copy on one of the others has to replay first."""
    why_moved: Why | None
    share: ShareCount | None
    """The share that it moved for; None where it did for none."""
    owners: tuple[str, ...]
    """The clients that list the task as previously active; one of several is believed."""
    detour: "Detour | None"
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A client's previous and present tasks in one role; task ids in order."""

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
    """A client's gains and losses, and its counts against its shares."""

    process_id: str
    names: tuple[str, ...]
    """Its other names, such as `client.id orders-1`, `host h:80`, `zone=a`."""
    threads: int
    capacity: float
    draining: bool
    roles: tuple[RoleChange, ...]
    standbys_known: bool
    """Whether it is known which standbys it had, or only which task directories are on its disk."""
    shares: tuple[ShareCount, ...]
    """None of them where load is what is balanced."""
    load: LoadChange | None
    """None where counts are."""
    state: StateChange | None
    """None where neither goal `disk` nor a limit `most_state` is asked for."""
    restores: tuple[NewCopy, ...]
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """An active task that changes its client."""

    task: str
    from_client: str
    to_client: str
    why: Why
    share: ShareCount | None = None
    """The share that it moves for; None where it does for none."""


@dataclass(frozen=True, slots=True)
class Detour:
    """An active task that is on a third client now: not where it was, and not where the plan wants it."""

    task: str
    from_client: str | None
    """None: no client of the snapshot had it."""
    by_way_of: str
    to_client: str
    offsets: int
    """The offsets that the planned client has to replay first."""
    why: Why | None
    """Why it has left its owner; None: it has no known owner."""
    is_offload: bool = False
    """The planned client could have it at once, and would then have too many active tasks."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The changes, their reasons, and what the follow-up waits for."""

    moves: tuple[Move, ...]
    stay: int
    """How many active tasks stay on their clients."""
    new: int
    """How many active tasks no client of the snapshot had before."""
    gone: int
    """How many of the new ones a remembered client had that has gone."""
    detours: tuple[Detour, ...]
    nobody_caught_up: tuple[str, ...]
    """Tasks on which no client is caught up, so that R3 puts the active copy where the lag is least."""
    restores: tuple[NewCopy, ...]
    """The copies that have to replay offsets now, warm-ups included."""
    planned_work: int
    """Offsets replayed until the target is reached (goal (b)), including the present ones."""
    load: LoadChange | None
    """The greatest of any client, where load is what is balanced; None where counts are."""
    balanced: bool
    """Whether the answer is."""
    fullest: tuple[str, StateChange] | None
    """The client that keeps most state in the plan; None where neither goal `disk` nor a limit `most_state` is asked for."""
    imbalance_now: int
    """Imbalance of all shares in the answer; 0: balanced."""
    imbalance_on_target: int
    """Imbalance of all shares in the plan."""
    followup_by: str | None
    followup_ms: int | None
    outlook: Outlook | None
    """About how many follow-ups, and how much time, until the target is reached; None: none, or not known."""
    waiting: tuple[Waiting, ...]
    stalled: bool
    notes: tuple[str, ...]
