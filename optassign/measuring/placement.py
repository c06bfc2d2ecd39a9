"""The clients that have a copy of each task: in an answer, in its plan, and in what was assigned before."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import RUNNING, ApplicationState

__all__ = [
    "PreviousAssignment",
    "TaskPlacement",
    "clients_by_task",
    "count_state",
    "planned_placement",
    "previous_assignment",
    "standbys_per_task",
]

_Clients = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TaskPlacement:
    """For every task of the snapshot the clients with a copy, by role; a broken answer may list one repeatedly.

    Tasks and clients that are not in the snapshot are left out: `validate` reports them, and they count nowhere.
    """

    active: _Clients
    standby: _Clients
    warmup: _Clients

    @classmethod
    def of(
        cls, state: ApplicationState, clients: "Iterable[KafkaStreamsAssignment | TargetAssignment] | TaskAssignment"
    ) -> "TaskPlacement":
        """The placement of an answer, or of the clients of a plan (which has no warm-ups)."""
        if isinstance(clients, TaskAssignment):
            clients = clients.clients
        active, standby, warmup = (_no_clients(state) for _ in range(3))
        known = state.kafka_streams_states
        for client in clients:
            process_id = client.process_id
            if process_id not in known:
                continue
            _add(active, client.active, process_id)
            _add(standby, client.standby, process_id)
            if isinstance(client, KafkaStreamsAssignment):
                _add(warmup, client.warmup, process_id)
        return cls(active, standby, warmup)

    def copies(self, task: str) -> tuple[str, ...]:
        """The clients with the active or a standby of a task; a warm-up is no copy that balance or R5 would count."""
        return self.active[task] + self.standby[task]


def clients_by_task(state: ApplicationState, lists: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Task id -> the clients that list it; `lists` has (process id, task ids) for each client."""
    clients = _no_clients(state)
    for process_id, tasks in lists:
        _add(clients, tasks, process_id)
    return clients


def _no_clients(state: ApplicationState) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(state.all_tasks, ())


def _add(role: dict[str, tuple[str, ...]], tasks: Iterable[str], process_id: str) -> None:
    one = (process_id,)
    for task in tasks:
        before = role.get(task)
        if before is not None:
            role[task] = before + one


def planned_placement(state: ApplicationState, answer: TaskAssignment) -> TaskPlacement:
    """The copies that the answer wants in the end: those of its plan, or its own if it has no plan."""
    return TaskPlacement.of(state, answer if answer.plan is None else answer.plan)


@dataclass(frozen=True, slots=True)
class PreviousAssignment:
    """The previous assignment, where the snapshot tells it; made by `previous_assignment`."""

    active: Mapping[str, str]
    """Task id -> process id. A task without a known owner is missing."""
    standby: Mapping[str, tuple[str, ...]] | None
    """Logged task id -> process ids in their order. None where the clients list directories that may be of dropped copies."""
    in_transit_copies: Mapping[str, frozenset[str]]
    """Task in transit -> clients of the snapshot that the remembered answer gave its active or a standby."""
    complete: bool
    """Every task has an active and the standbys are known."""

    @property
    def in_transit(self) -> Set[str]:
        """Tasks without an owner between the two passes of a move (KIP-429): only memory knows their next client (R10)."""
        return self.in_transit_copies.keys()

    def placement(self, state: ApplicationState) -> TaskPlacement:
        """The previous assignment as a placement without warm-ups. ValueError if it is not complete."""
        if self.standby is None or not self.complete:
            raise ValueError("found a snapshot that does not tell who was assigned; allowed: one that is `complete`")
        return TaskPlacement(
            active={task.id: (self.active[task.id],) for task in state.tasks},
            standby={task.id: self.standby.get(task.id, ()) for task in state.tasks},
            warmup={task.id: () for task in state.tasks},
        )


def previous_assignment(state: ApplicationState) -> PreviousAssignment:
    """Find the assignment before this rebalance, from the clients' lists and from memory.

    Active of a task: the client that lists it in `previous_active`. If several do, the remembered active client among them,
    otherwise the one that runs it (lag -2), otherwise the least id. If none does, the remembered active client if it is in the
    snapshot (the task is *in transit*: given up by its old owner, not yet with the new one), otherwise none.

    Standbys of a logged task: with memory its remembered standby clients that are in the snapshot and do not have its
    active now. Kafka lists every task directory on the disk as `previous_standby`, dropped copies too, so without
    memory those clients are believed only if each logged task has exactly as many as it must (`standbys_per_task`).
    """
    remembered = None if state.remembered is None else TaskPlacement.of(state, state.remembered)
    owners = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    active: dict[str, str] = {}
    in_transit: dict[str, frozenset[str]] = {}
    for task, claimants in owners.items():
        if len(claimants) == 1:
            active[task] = claimants[0]
        elif claimants:
            active[task] = _believe_one(state, task, claimants, () if remembered is None else remembered.active[task])
        elif remembered is not None and remembered.active[task]:
            active[task] = min(remembered.active[task])  # one, in any answer that keeps R1
            in_transit[task] = frozenset((active[task], *remembered.standby[task]))
    standby = _previous_standbys(state, active, remembered)
    complete = standby is not None and len(active) == len(state.tasks)
    return PreviousAssignment(active, standby, in_transit, complete)


def standbys_per_task(state: ApplicationState) -> int:
    """Standbys that every logged task must have: min(num_standby_replicas, clients - 1) (R4)."""
    return min(state.configs.num_standby_replicas, len(state.clients) - 1)


def _believe_one(state: ApplicationState, task: str, claimants: Sequence[str], remembered: Sequence[str]) -> str:
    """The client that counts as the owner of a task that several claim; `previous_assignment` has the rule."""
    clients = state.kafka_streams_states
    running = [process_id for process_id in claimants if clients[process_id].lags.get(task) == RUNNING]
    believed = set(claimants).intersection(sorted(remembered)[:1])  # all there is, in any answer that keeps R1
    return min(believed or running or claimants)


def _previous_standbys(
    state: ApplicationState, active: Mapping[str, str], remembered: TaskPlacement | None
) -> dict[str, tuple[str, ...]] | None:
    logged = [task.id for task in state.tasks if task.logged]
    if remembered is not None:
        return {task: tuple(sorted(set(remembered.standby[task]) - {active.get(task)})) for task in logged}
    listed = clients_by_task(state, ((client.process_id, client.previous_standby) for client in state.clients))
    wanted = standbys_per_task(state)
    return {task: listed[task] for task in logged} if all(len(listed[task]) == wanted for task in logged) else None


def count_state(state: ApplicationState, placement: TaskPlacement, *, warmups: bool) -> Counter[str]:
    """Process id -> offsets of the whole changelogs of its active copies and standbys; with `warmups` of these, too.

    A warm-up takes the room of the whole changelog in the end, so that much is counted however far it is.
    """
    kept: Counter[str] = Counter()
    for task, size in state.full_lags.items():
        for process_id in (*placement.copies(task), *(placement.warmup[task] if warmups else ())):
            kept[process_id] += size
    return kept
