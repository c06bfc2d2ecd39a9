"""Why an answer is as it is: for one task, for one client, as a whole. Data here; `explain_text.py` puts it into words.

Made from the snapshot, the answer and the measures alone, by no solver: what the rules left, which windows bind, what
other ways would have cost; not what a solver thought. Lags and costs are offsets. Meant for answers that keep the rules: of
others `validate` speaks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from optassign.assignment import TaskAssignment, Waiting
from optassign.balance import Counts, Subtopology, Window, WindowName, Windows, counts, excess, windows
from optassign.metrics import goal_values
from optassign.placement import Placement, PreviousAssignment, listing, planned, previous_assignment
from optassign.ranks import ranks
from optassign.state import ApplicationState
from optassign.task_id import TaskId, sorted_ids

__all__ = [
    "Candidate",
    "ClientExplanation",
    "Explanation",
    "Move",
    "NewCopy",
    "RoleChange",
    "TaskExplanation",
    "Why",
    "WindowCount",
    "explain",
    "explain_client",
    "explain_task",
]

Role = Literal["active", "standby", "warmup"]
Why = Literal["gone", "draining", "lags", "above its window", "to one below its window", "goals"]
"""Why an active task moves: its client has gone; is about to leave; is not among the most caught up (R3); had more than its
window allows; the new one had less. Or none of these: the goals, or other tasks that move, made it so."""

_LISTED_ALL = 20
"""With no more clients than this, all are candidates for a task, not only those that have to do with it."""


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


def explain_task(state: ApplicationState, assignment: TaskAssignment, task: str) -> TaskExplanation:
    """Why the copies of `task` are where they are. LookupError if there is no such task."""
    if task not in state.all_tasks:
        raise LookupError(f"no task {task} in the snapshot")
    return _Case(state, assignment).task(task)


def explain_client(state: ApplicationState, assignment: TaskAssignment, process_id: str) -> ClientExplanation:
    """What this client gains and loses. LookupError if there is no such client."""
    if process_id not in state.kafka_streams_states:
        raise LookupError(f"no client {process_id} in the snapshot")
    return _Case(state, assignment).client(process_id)


def explain(state: ApplicationState, assignment: TaskAssignment) -> Explanation:
    """What changes and why, and what the follow-up waits for."""
    return _Case(state, assignment).overall()


class _Case:
    """One answer, what was before, and where it is going."""

    def __init__(self, state: ApplicationState, answer: TaskAssignment) -> None:
        self.state, self.answer = state, answer
        self.ranks = ranks(state)
        self.previous: PreviousAssignment = previous_assignment(state)
        self.before = _before(state, self.previous)
        self.now, self.plan = Placement.of(state, answer), planned(state, answer)
        self.windows: Windows = windows(state)

    @cached_property
    def counts(self) -> tuple[Counts, Counts, Counts]:
        """Before, now, planned."""
        before, now, plan = (counts(self.state, placement) for placement in (self.before, self.now, self.plan))
        return before, now, plan

    def task(self, task: str) -> TaskExplanation:
        state, logged = self.state, self.state.all_tasks[task].logged
        known = dict.fromkeys(state.kafka_streams_states) if len(state.clients) <= _LISTED_ALL else self._concerned(task)
        least = self.ranks.least(task) or 0
        candidates = sorted(
            (self._candidate(task, process_id, least) for process_id in known),
            key=lambda c: (c.rank, c.lag or 0, c.process_id),
        )
        strangers = self.ranks.whole_changelog(task) if logged else 0
        caught_up = strangers <= state.configs.acceptable_recovery_lag
        return TaskExplanation(
            task=task,
            kind=state.all_tasks[task].kind,
            candidates=tuple(candidates),
            others=len(state.clients) - len(candidates),
            others_may_be_active=(0 if caught_up else strangers) == least,
            others_cost=0 if caught_up else strangers,
            why_moved=self._why_moved(task),
            waiting=tuple(entry for entry in self.answer.report.waiting if entry.task == task),
        )

    def _concerned(self, task: str) -> dict[str, None]:
        """The clients that report something of a task, hold it, had it, have it or are to have it."""
        reporting = [c.process_id for c in self.state.clients if task in c.lags or self.ranks.is_holder(task, c.process_id)]
        return dict.fromkeys(
            [*reporting, *(c for p in (self.before, self.now, self.plan) for c in (*p.copies(task), *p.warmup[task]))]
        )

    def _candidate(self, task: str, process_id: str, least: int) -> Candidate:
        logged, rank = self.state.all_tasks[task].logged, self.ranks.of(task, process_id)
        return Candidate(
            process_id=process_id,
            rank=rank,
            lag=self.ranks.lag(task, process_id) if logged else None,
            cost=self.ranks.restore_cost(task, process_id) if logged else 0,
            may_be_active=rank == least,
            before=_role(self.before, task, process_id),
            now=_role(self.now, task, process_id),
            planned=_role(self.plan, task, process_id),
            binds=tuple(self._binds(task, process_id)),
        )

    def _binds(self, task: str, process_id: str) -> Iterable[WindowCount]:
        """The windows that would be left if the planned active went to this client, where the rest of the plan stays."""
        if len(self.plan.active[task]) != 1 or process_id in self.plan.active[task]:
            return
        info, (owner,) = self.state.all_tasks[task], self.plan.active[task]
        concerned: list[WindowName] = ["active", "subtopology_active"]
        if info.stateful:
            concerned.insert(1, "stateful_active")
        if info.logged and process_id not in self.plan.standby[task]:  # else the two change roles
            concerned += ["copies", "subtopology_copies"]
        for client, change in ((owner, -1), (process_id, 1)):
            for window in concerned:
                count = self._count(client, window, info.task_id.subtopology_key)
                outside = count.planned + change < count.low if change < 0 else count.planned + change > count.high
                if outside:
                    yield count

    def _count(self, process_id: str, window: WindowName, subtopology: Subtopology) -> WindowCount:
        per_subtopology = window.startswith("subtopology")

        def of(table: Counts) -> int:
            clients = getattr(table, window)
            count: int = (clients.get(subtopology, {}) if per_subtopology else clients).get(process_id, 0)
            return count

        within: Mapping[str, Window] = getattr(self.windows, window)
        low, high = (within[subtopology] if per_subtopology else within)[process_id]  # type: ignore[index]
        before, now, plan = (of(table) for table in self.counts)
        name = str(TaskId(*subtopology, 0)).rpartition("_")[0] if per_subtopology else None
        return WindowCount(process_id, window, name, low, high, before, now, plan)

    def _why_moved(self, task: str) -> Why | None:
        owner, now = self.previous.active.get(task), self.now.active[task]
        if len(now) != 1 or owner == now[0]:
            return None
        known = self.state.kafka_streams_states
        if owner is None:
            return "gone" if task in self._orphans else None
        if known[owner].draining:
            return "draining"
        if self.ranks.of(task, owner) > (self.ranks.least(task) or 0):
            return "lags"
        info = self.state.all_tasks[task]
        concerned: list[WindowName] = ["active", "subtopology_active", *(["stateful_active"] if info.stateful else [])]
        subtopology = info.task_id.subtopology_key
        if any((count := self._count(owner, w, subtopology)).before > count.high for w in concerned):
            return "above its window"
        if any((count := self._count(now[0], w, subtopology)).before < count.low for w in concerned):
            return "to one below its window"
        return "goals"

    @cached_property
    def _orphans(self) -> frozenset[str]:
        """Tasks whose remembered client is not there any more."""
        remembered, known = self.state.remembered, self.state.kafka_streams_states
        gone = () if remembered is None else (c for c in remembered.clients if c.process_id not in known)
        return frozenset(task for client in gone for task in client.active)

    def client(self, process_id: str) -> ClientExplanation:
        client = self.state.kafka_streams_states[process_id]
        had = {role: _tasks(getattr(self.before, role), process_id) for role in ("active", "standby", "warmup")}
        has = {role: _tasks(getattr(self.now, role), process_id) for role in ("active", "standby", "warmup")}
        roles: tuple[Role, ...] = ("active", "standby", "warmup")
        return ClientExplanation(
            process_id=process_id,
            threads=client.threads,
            capacity=client.capacity,
            draining=client.draining,
            roles=tuple(
                RoleChange(
                    role,
                    kept=tuple(sorted_ids(has[role] & had[role])),
                    gained=tuple(sorted_ids(has[role] - had[role])),
                    lost=tuple(sorted_ids(had[role] - has[role])),
                )
                for role in roles
            ),
            standbys_known=self.previous.standby is not None,
            windows=tuple(self._counts_of(process_id)),
            restores=tuple(copy for copy in self._restores() if copy.process_id == process_id),
            waiting=tuple(entry for entry in self.answer.report.waiting if entry.process_id == process_id),
        )

    def _counts_of(self, process_id: str) -> Iterable[WindowCount]:
        subtopologies = list(self.windows.subtopology_active)
        if not subtopologies:
            return
        totals: tuple[WindowName, ...] = ("active", "stateful_active", "copies")
        yield from (self._count(process_id, window, subtopologies[0]) for window in totals)
        for subtopology in subtopologies:
            yield self._count(process_id, "subtopology_active", subtopology)
            if subtopology in self.windows.subtopology_copies:
                yield self._count(process_id, "subtopology_copies", subtopology)

    def _restores(self) -> Iterable[NewCopy]:
        roles: tuple[Role, ...] = ("active", "standby", "warmup")
        for role in roles:
            for task, clients in getattr(self.now, role).items():
                for process_id in clients:
                    if self.ranks.of(task, process_id):
                        yield NewCopy(task, process_id, role, self.ranks.restore_cost(task, process_id))

    def overall(self) -> Explanation:
        moves, stay, new = [], 0, 0
        for task, now in self.now.active.items():
            owner, why = self.previous.active.get(task), self._why_moved(task)
            if owner is None:
                new += 1
            elif why is None or not now:
                stay += 1
            else:
                moves.append(Move(task, owner, now[0], why))
        asks = [client for client in self.answer.clients if client.followup_rebalance_ms is not None]
        return Explanation(
            moves=tuple(moves),
            stay=stay,
            new=new,
            gone=len(self._orphans - self.previous.active.keys()),
            nobody_caught_up=tuple(task.id for task in self.state.tasks if task.logged and self.ranks.least(task.id)),
            restores=tuple(self._restores()),
            planned_work=goal_values(self.state, self.answer)["plan"]["restore_work"],
            excess_now=sum(excess(self.state, self.counts[1], self.windows).values()),
            excess_planned=sum(excess(self.state, self.counts[2], self.windows).values()),
            followup_by=asks[0].process_id if asks else None,
            followup_ms=asks[0].followup_rebalance_ms if asks else None,
            waiting=self.answer.report.waiting,
            stalled=self.answer.report.stalled,
            notes=self.answer.report.notes,
        )


def _before(state: ApplicationState, previous: PreviousAssignment) -> Placement:
    """What was assigned before as far as it is known; without memory a standby is whoever has a directory of the task."""
    standby = previous.standby
    if standby is None:
        standby = listing(state, ((client.process_id, client.previous_standby) for client in state.clients))
    warmup = {} if state.remembered is None else Placement.of(state, state.remembered).warmup
    return Placement(
        active={task: (previous.active[task],) if task in previous.active else () for task in state.all_tasks},
        standby={task: standby.get(task, ()) for task in state.all_tasks},
        warmup={task: warmup.get(task, ()) for task in state.all_tasks},
    )


def _role(placement: Placement, task: str, process_id: str) -> Role | None:
    roles: tuple[Role, ...] = ("active", "standby", "warmup")
    return next((role for role in roles if process_id in getattr(placement, role)[task]), None)


def _tasks(role: Mapping[str, tuple[str, ...]], process_id: str) -> set[str]:
    return {task for task, clients in role.items() if process_id in clients}
