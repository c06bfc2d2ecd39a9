"""What an explanation says, as data, and `lines()` of it for people. `explain.py` makes them. Costs and lags are offsets."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from optassign.assignment import Waiting
from optassign.balance import WindowName


Role = Literal["active", "standby", "warmup"]
Why = Literal["gone", "draining", "lags", "above its window", "to one below its window", "goals"]
"""Why an active task moves: its client has gone; drains; is not most caught up (R3); had more than its window allows; another
had less; or none of these, so that the goals or other tasks' moves made it so."""

_LISTED_ALL = 20
"""With no more clients than this all are candidates, not only those that have to do with the task."""
_SHOWN = 10
_NAMES: dict[WindowName, str] = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active tasks of subtopology",
    "subtopology_copies": "copies of subtopology",
}


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

    @property
    def name(self) -> str:
        """What is counted, in words."""
        return f"{_NAMES[self.window]}{'' if self.subtopology is None else ' ' + self.subtopology}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One client, as a place for one task."""

    process_id: str
    rank: int
    lag: int | None
    """Offsets; None for a task without a changelog."""
    cost: int
    """Offsets that a copy here has to replay first."""
    may_be_active: bool
    """Whether R3 leaves it: it is among the most caught up."""
    before: Role | None
    """What it had of the task, as far as that is known."""
    now: Role | None
    planned: Role | None
    binds: tuple[WindowCount, ...]
    """The windows that would be left if the plan's active were here instead, other things being equal."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why the copies of a task are where they are."""

    task: str
    kind: str
    candidates: tuple[Candidate, ...]
    """By rank, then lag, then id: all clients, or in a large group those that have to do with the task."""
    others: int
    """Clients that are not among the candidates; they have nothing of the task,"""
    others_rank: int
    """this rank,"""
    others_cost: int
    """and this to replay."""
    why_moved: Why | None
    waiting: tuple[Waiting, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"task {self.task} ({self.kind})"
        yield from (f"  {sentence}" for sentence in _sentences(self))
        yield "  clients, most caught up first:"
        for c in self.candidates:
            yield f"    {_candidate_line(c, self.kind)}"
        if self.others:
            have = f"nothing of it, {self.others_cost:,} to replay" if self.kind == "logged" else "nothing to do with it"
            yield f"    and {self.others} more with {have}"


@dataclass(frozen=True, slots=True)
class RoleChange:
    """What a client had and has in one role; task ids in order."""

    role: Role
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    kept: tuple[str, ...]


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

    def lines(self) -> Iterator[str]:
        """For people."""
        drains = ", about to leave" if self.draining else ""
        capacity = "" if self.capacity == 1.0 else f" of capacity {self.capacity:g}"
        yield f"client {self.process_id} ({_many(self.threads, 'thread')}{capacity}{drains})"
        for change in self.roles:
            before = " (as its disk lists them)" if change.role == "standby" and not self.standbys_known else ""
            yield f"  {change.role}: {len(change.kept)} kept{before}, {_ids('gained', change.gained)}, {_ids('lost', change.lost)}"
        yield "  windows:"
        for count in self.windows:
            way = f"{count.before} → {count.after}" + (f" → {count.planned} planned" if count.planned != count.after else "")
            outside = "" if count.low <= count.after <= count.high else ", outside"
            yield f"    {count.name}: {way} (window {_window(count)}{outside})"
        total = sum(copy.offsets for copy in self.restores)
        if self.restores:
            yield f"  restores {total:,} offsets: {_listed([f'{c.task} ({c.role}, {c.offsets:,})' for c in self.restores])}"
        yield from (f"  {line}" for line in _waiting_lines(self.waiting, with_client=False))


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
    """and that nobody had before,"""
    gone: int
    """those among them whose client has gone, as far as the snapshot remembers."""
    restores: tuple[NewCopy, ...]
    """What is replayed now: copies and warm-ups that are not caught up."""
    planned_work: int
    """Offsets to replay on the way to the plan, what is replayed now included (but warm-ups counted once)."""
    excess_now: int
    excess_planned: int
    followup: str | None
    """The client that asks for a follow-up."""
    followup_ms: int | None
    waiting: tuple[Waiting, ...]
    stalled: bool
    forced: tuple[str, ...]
    """Tasks that not one client is caught up on, so that R3 decides by the least lag."""
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        gone = f" ({self.gone} since it has gone)" if self.gone else ""
        yield f"active tasks: {len(self.moves)} move, {self.stay} stay, {self.new} had no client{gone}"
        for why, number in Counter(move.why for move in self.moves).most_common():
            yield f"  {number} {_REASONS[why]}"
            chosen = [move for move in self.moves if move.why == why]
            yield from (f"    {m.task}: {m.from_client} → {m.to_client}" for m in chosen[:_SHOWN])
            if number > _SHOWN:
                yield f"    and {number - _SHOWN} more"
        if self.forced:
            yield f"no client is caught up on {_many(len(self.forced), 'task')}: {_listed(self.forced)}; least lag decides (R3)"
        total = sum(copy.offsets for copy in self.restores)
        by_role = Counter(copy.role for copy in self.restores)
        roles = ", ".join(f"{number} {_ROLES[role]}" for role, number in sorted(by_role.items()))
        yield f"restored now: {total:,} offsets" + (f" ({roles})" if roles else "")
        if self.planned_work != total:
            yield f"restored until the plan is reached: {self.planned_work:,} offsets"
        yield "balanced now" if not self.excess_now else f"not balanced yet: excess {self.excess_now}"
        if self.excess_planned:
            yield f"nor is the plan balanced: excess {self.excess_planned}"
        if self.followup is not None:
            yield f"follow-up after {(self.followup_ms or 0) / 1000:g} s, asked for by {self.followup}"
        elif self.stalled:
            yield "stalled: no warm-up can make progress, so no follow-up is asked for"
        else:
            yield "no follow-up: this is where everything shall be"
        yield from _waiting_lines(self.waiting, with_client=True)
        yield from self.notes


_REASONS: dict[Why, str] = {
    "gone": "since the client has gone",
    "draining": "since the client is about to leave",
    "lags": "since another client is more caught up (R3)",
    "above its window": "since the client had more than its window allows",
    "to one below its window": "since another client had less than its window allows",
    "goals": "for the goals, or to make room for others",
}
_ROLES: dict[Role, str] = {"active": "active", "standby": "standby", "warmup": "warm-up"}


def many(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(items: Sequence[str], shown: int = _SHOWN) -> str:
    """The first of them, and how many more."""
    more = f" and {len(items) - shown:,} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more


def waiting_lines(waiting: Sequence[Waiting], *, with_client: bool) -> Iterator[str]:
    """What the follow-up waits for."""
    if waiting:
        served = sum(entry.slot for entry in waiting)
        yield f"waits for {many(len(waiting), 'copy').replace('copys', 'copies')}, {served:,} of them being restored:"
    for entry in waiting[:_SHOWN]:
        lag = "lag not known" if entry.lag is None else f"{entry.lag:,} offsets to go"
        on = f" on {entry.process_id}" if with_client else ""
        yield f"  {entry.task} {entry.role}{on}: {lag}, {'being restored' if entry.slot else 'waits for its turn'}"
    if len(waiting) > _SHOWN:
        yield f"  and {len(waiting) - _SHOWN:,} more"
