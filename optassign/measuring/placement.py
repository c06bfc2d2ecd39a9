"""The clients with a copy of each task: in an answer, in its target, and in the previous assignment."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState

_Clients = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TaskPlacement:
    """Task → clients with a copy, for each role; a broken answer may list a client repeatedly.

    Tasks and clients that are not in the snapshot are left out: `validate` reports them.
    """

    active: _Clients
    standby: _Clients
    warmup: _Clients

    @classmethod
    def of(
        cls, state: ApplicationState, clients: "Iterable[KafkaStreamsAssignment | TargetAssignment] | TaskAssignment"
    ) -> "TaskPlacement":
        """Return the placement of an answer, or of the clients of a target (without warm-ups)."""
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
        """Return the clients with the active copy or a standby of a task. Warm-ups do not count for balance and R5."""
        return self.active[task] + self.standby[task]


def clients_by_task(state: ApplicationState, lists: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Return task id → clients that list it; `lists` has (process id, task ids) of each client."""
    clients = _no_clients(state)
    for process_id, tasks in lists:
        _add(clients, tasks, process_id)
    return clients


def _no_clients(state: ApplicationState) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(state.all_tasks, ())


def _add(role: dict[str, tuple[str, ...]], tasks: Iterable[str], process_id: str) -> None:
    added = (process_id,)
    for task in tasks:
        before = role.get(task)
        if before is not None:
            role[task] = before + added


def planned_placement(state: ApplicationState, answer: TaskAssignment) -> TaskPlacement:
    """Return the placement of the answer's target, or of the answer if it is its own target."""
    return TaskPlacement.of(state, answer if answer.plan is None else answer.plan)


@dataclass(frozen=True, slots=True)
class PreviousAssignment:
    """The known part of the previous assignment; made by `previous_assignment`."""

    active: Mapping[str, str]
    """Task id → process id of its owner. A task without a known owner is missing."""
    standby: Mapping[str, tuple[str, ...]] | None
    """Logged task id → process ids in order. None if unknown: listed directories may be left over from dropped copies."""
    in_transit_copies: Mapping[str, frozenset[str]]
    """Task in transit → clients of the snapshot that got its active copy or a standby in the remembered answer."""
    complete: bool
    """Whether every task has an owner and the standbys are known."""

    @property
    def in_transit(self) -> Set[str]:
        """Tasks without an owner between the two passes of a move (KIP-429); the remembered answer names their new client
        (R10).
        """
        return self.in_transit_copies.keys()

    def placement(self, state: ApplicationState) -> TaskPlacement:
        """Return the previous assignment as a placement without warm-ups. ValueError if it is not complete."""
        if self.standby is None or not self.complete:
            raise ValueError("found a snapshot without the whole previous assignment; allowed: one that is `complete`")
        return TaskPlacement(
            active={task.id: (self.active[task.id],) for task in state.tasks},
            standby={task.id: self.standby.get(task.id, ()) for task in state.tasks},
            warmup={task.id: () for task in state.tasks},
        )


def previous_assignment(state: ApplicationState) -> PreviousAssignment:
    """Return the assignment before this rebalance, from the clients' lists and from memory.

    The active client of a task is the client that lists it in `previous_active`. Of several, it is the remembered active
    client, otherwise a client that runs the task (lag -2), otherwise the least id. If no client lists the task, it is the
    remembered active client, if in the snapshot: the task is *in transit*, revoked by its old owner and not yet assigned.

    The standbys of a logged task are, with memory, its remembered standby clients in the snapshot, except its active client.
    Kafka lists every task directory on the disk as `previous_standby`, even of dropped copies. So without memory these lists
    count only if each logged task is listed exactly `standbys_per_task` times; otherwise the standbys are unknown.
    """
    remembered = None if state.remembered is None else TaskPlacement.of(state, state.remembered)
    owners = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    active: dict[str, str] = {}
    in_transit: dict[str, frozenset[str]] = {}
    for task, claimants in owners.items():
        if len(claimants) == 1:
            active[task] = claimants[0]
        elif claimants:
            active[task] = _choose_claimant(state, task, claimants, () if remembered is None else remembered.active[task])
        elif remembered is not None and remembered.active[task]:
            active[task] = min(remembered.active[task])  # the only one, in any answer that keeps R1
            in_transit[task] = frozenset((active[task], *remembered.standby[task]))
    standby = _previous_standbys(state, active, remembered)
    complete = standby is not None and len(active) == len(state.tasks)
    return PreviousAssignment(active, standby, in_transit, complete)


def staying_clients(state: ApplicationState) -> Sequence[KafkaStreamsState]:
    """Return the clients that do not drain; all clients, if all drain."""
    return [client for client in state.clients if not client.draining] or state.clients


def standbys_per_task(state: ApplicationState) -> int:
    """Return the standbys that every logged task must have: min(num_standby_replicas, clients - 1) (R4)."""
    return min(state.configs.num_standby_replicas, len(state.clients) - 1)


def _choose_claimant(state: ApplicationState, task: str, claimants: Sequence[str], remembered: Sequence[str]) -> str:
    """Return the client that counts as owner of a task that several claim, as `previous_assignment` says."""
    clients = state.kafka_streams_states
    running = [process_id for process_id in claimants if clients[process_id].lags.get(task) == RUNNING]
    believed = set(claimants).intersection(sorted(remembered)[:1])  # the only one, in any answer that keeps R1
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
    """Return process id → offsets of the whole changelogs of its active copies and standbys, and of warm-ups if `warmups`.

    A warm-up counts in full: it will take the room of the whole changelog.
    """
    kept: Counter[str] = Counter()
    for task, size in state.full_lags.items():
        for process_id in (*placement.copies(task), *(placement.warmup[task] if warmups else ())):
            kept[process_id] += size
    return kept
