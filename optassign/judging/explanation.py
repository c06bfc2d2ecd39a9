"""Explanations as data: `explain.py` makes them, `explanation_text.py` turns them into lines. Costs and lags are offsets."""

from dataclasses import dataclass
from typing import Literal

from optassign.formats.assignment import Waiting
from optassign.measuring.balance import ShareName
from optassign.measuring.outlook import Outlook

Role = Literal["active", "standby", "warmup"]
Why = Literal["gone", "draining", "lags", "planned", "load", "above its share", "to one below its share", "goals"]
"""Why an active task moves; the first that applies. `gone`, `draining`: its client has left, or drains. `lags`: its client is
not among the most caught up (R3). `planned`: the remembered target has the move, and the new client has caught up. `load`,
`above its share`: its client had too much. `to one below its share`: the new client had too few. `goals`: any other reason."""


@dataclass(frozen=True, slots=True)
class ShareCount:
    """A client's share, and its count before this rebalance, in the answer, and on target."""

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
    """A load before this rebalance, in the answer, and on target, and the greatest balanced load; in even spreads."""

    before: float
    after: float
    planned: float
    allowed: float


@dataclass(frozen=True, slots=True)
class StateChange:
    """Offsets of state that a client keeps before this rebalance, in the answer, and on target; warm-ups count."""

    before: int
    after: int
    of_warmups: int
    """The part of `after` that belongs to warm-ups."""
    planned: int
    even: int
    """The value on target if all clients that do not drain kept equal state; 0 for other clients."""
    allowed: int | None
    """The least limit `most_state` for this client; None without a limit."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A client as a possible place for a copy of a task."""

    process_id: str
    rank: int
    lag: int | None
    """None if the task has no changelog."""
    cost: int
    """Offsets that a copy on this client has to replay first."""
    may_be_active: bool
    """Whether R3 allows the active copy here: the client is among the most caught up."""
    before: Role | None
    """Its role before this rebalance, if known."""
    now: Role | None
    """Its role in the answer."""
    planned: Role | None
    """Its role on target."""
    load_with_it: float | None
    """The client's load on target with the active copy added, if it exceeds the balanced load; otherwise None."""
    binds: tuple[ShareCount, ...]
    """The shares that would be violated if only the target active moved here."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why the copies of a task are on their clients."""

    task: str
    kind: str
    """`stateless`, `unlogged` or `logged`."""
    candidates: tuple[Candidate, ...]
    """All clients, or in a large group those with state or a copy of the task; by rank, lag, id."""
    others: int
    """The number of other clients; they have no state of the task."""
    others_may_be_active: bool
    """Whether R3 allows the active copy on them."""
    others_cost: int
    """Offsets that a copy on one of them has to replay first."""
    why_moved: Why | None
    share: ShareCount | None
    """The share for which it moved; None if it moved for another reason."""
    owners: tuple[str, ...]
    """The clients that list the task as previously active; `previous_assignment` says which of several counts."""
    detour: "Detour | None"
    waiting: tuple[Waiting, ...]
    keeps_r3: bool
    """Whether R3 allows the active copy of the answer, or R10 exempts it in a second pass."""


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A client's previous and present tasks in one role; ids in order."""

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
    """Whether its previous standbys are known, or only the task directories on its disk."""
    shares: tuple[ShareCount, ...]
    """Empty if load is balanced."""
    load: LoadChange | None
    """None if counts are balanced."""
    state: StateChange | None
    """None if neither goal `disk` nor a limit `most_state` is requested."""
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
    """The share for which it moves; None if it moves for another reason."""


@dataclass(frozen=True, slots=True)
class Detour:
    """An active task on a third client: neither its owner nor its target client."""

    task: str
    from_client: str | None
    """None if no client of the snapshot owned it."""
    by_way_of: str
    to_client: str
    offsets: int
    """The offsets that the target client has to replay first."""
    why: Why | None
    """Why it left its owner; None if it has no known owner."""
    is_offload: bool = False
    """Whether the target client could take it at once, but would then have too many active tasks."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The changes of an answer, their reasons, and what its follow-up waits for."""

    moves: tuple[Move, ...]
    stay: int
    """The number of active tasks that stay on their clients."""
    new: int
    """The number of active tasks that no client of the snapshot owned."""
    gone: int
    """The number of these whose remembered client has left."""
    detours: tuple[Detour, ...]
    not_caught_up_anywhere: tuple[str, ...]
    """Tasks on which no client is caught up, so that R3 puts the active copy where the lag is least."""
    restores: tuple[NewCopy, ...]
    """The copies that replay offsets now, warm-ups included."""
    planned_work: int
    """Offsets replayed until the target is reached (goal (b)), including those replayed now."""
    load: LoadChange | None
    """The greatest load of any client; None if counts are balanced."""
    balanced: bool
    """Whether the answer is balanced."""
    fullest: tuple[str, StateChange] | None
    """The client that keeps most state on target; None if neither goal `disk` nor a limit `most_state` is requested."""
    imbalance_now: int
    """Imbalance of all shares in the answer; 0 if it is balanced."""
    imbalance_on_target: int
    """Imbalance of all shares on target."""
    followup_by: str | None
    followup_ms: int | None
    outlook: Outlook | None
    """The follow-ups and the time until the target is reached; None if no follow-up is due, or without an estimate."""
    waiting: tuple[Waiting, ...]
    stalled: bool
    notes: tuple[str, ...]
