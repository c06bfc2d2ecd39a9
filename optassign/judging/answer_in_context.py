"""An answer with the assignment before it and its target: counts, loads, state, and why each task moves."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.goals.order import goal_order
from optassign.judging.explanation import Detour, LoadChange, ShareCount, StateChange, Why
from optassign.measuring.balance import Counts, ShareName, Shares, Subtopology, compute_shares, count_copies, measure_imbalance
from optassign.measuring.limits import select_clients
from optassign.measuring.load import Loads, allowed_load, balances_load
from optassign.measuring.placement import (
    PreviousAssignment,
    TaskPlacement,
    clients_by_task,
    count_state,
    planned_placement,
    previous_assignment,
    staying_clients,
)
from optassign.measuring.ranks import Ranks


class AnswerInContext:
    """An answer with the previous, new and target placement, and the reasons for their differences."""

    def __init__(self, state: ApplicationState, answer: TaskAssignment) -> None:
        self.state, self.answer = state, answer
        self.ranks = Ranks(state)
        self.previous: PreviousAssignment = previous_assignment(state)
        self.before = _previous_placement(state, self.previous)
        self.now, self.plan = TaskPlacement.of(state, answer), planned_placement(state, answer)
        self.shares: Shares = compute_shares(state)

    @cached_property
    def counts(self) -> tuple[Counts, Counts, Counts]:
        """The counts before this rebalance, in the answer, and on target."""
        before, now, plan = (count_copies(self.state, placement) for placement in (self.before, self.now, self.plan))
        return before, now, plan

    def count(self, process_id: str, share: ShareName, subtopology: Subtopology) -> ShareCount:
        """Return a client's counts before, in the answer and on target, with its share."""
        per_subtopology = share in ("subtopology_active", "subtopology_copies")

        def of(table: Counts | Shares) -> Mapping[str, Any]:
            clients: Mapping[Any, Any] = getattr(table, share)
            return clients.get(subtopology, {}) if per_subtopology else clients

        low, high = of(self.shares)[process_id]
        before, now, plan = (of(table).get(process_id, 0) for table in self.counts)
        name = str(TaskId(*subtopology, 0)).rpartition("_")[0] if per_subtopology else None
        return ShareCount(process_id, share, name, low, high, before, now, plan)

    @cached_property
    def balances_load(self) -> bool:
        """Whether balance means load, so that shares do not matter."""
        return balances_load(self.state)

    @cached_property
    def allowed_load(self) -> float:
        """The greatest balanced load."""
        return allowed_load(self.state, self.answer, self._loads)

    @cached_property
    def is_target_balanced(self) -> bool:
        """Whether the target is balanced: by load, or every count in its share."""
        if self.balances_load:
            return self._loads.is_balanced(self.plan, self.allowed_load)
        return not any(measure_imbalance(self.state, self.counts[2], self.shares).values())

    @cached_property
    def _loads(self) -> Loads:
        return Loads(self.state)

    @cached_property
    def _measured_loads(self) -> tuple[Mapping[str, float], ...]:
        """Process id → load, before, in the answer and on target."""
        return tuple(self._loads.measure(placement) for placement in (self.before, self.now, self.plan))

    def loads_of(self, process_id: str) -> LoadChange:
        """Return a client's load before, in the answer and on target."""
        before, now, plan = (loads[process_id] for loads in self._measured_loads)
        return LoadChange(before, now, plan, self.allowed_load)

    def find_load_with(self, task: str, process_id: str) -> float | None:
        """Return the client's load on target with this active task added, if it exceeds the balanced load; otherwise None."""
        if process_id in self.plan.active[task]:
            return None
        client = self.state.kafka_streams_states[process_id]
        added = weight = self._loads.weigh_active(self.state.all_tasks[task], client)
        if process_id in self.plan.standby[task]:
            added -= self._loads.weigh_standby(self.state.all_tasks[task])  # the active copy replaces the standby
        load = max(self.loads_of(process_id).planned + added / (client.threads * client.capacity), weight / client.capacity)
        return load if load > self.allowed_load else None

    def find_greatest_load(self) -> LoadChange:
        """Return the greatest load of any client before, in the answer and on target."""
        before, now, plan = (max(loads.values()) for loads in self._measured_loads)
        return LoadChange(before, now, plan, self.allowed_load)

    @cached_property
    def considers_state(self) -> bool:
        """Whether goal `disk` or a limit `most_state` is requested."""
        limits = self.state.options.limits
        return "disk" in goal_order(self.state).names or any(limit.kind == "most_state" for limit in limits)

    @cached_property
    def _states(self) -> tuple[Mapping[str, int], ...]:
        """Process id → offsets kept before, in the answer, on target, and in the answer without warm-ups."""
        before, now, plan = (count_state(self.state, p, warmups=True) for p in (self.before, self.now, self.plan))
        return before, now, plan, count_state(self.state, self.now, warmups=False)

    def state_of(self, process_id: str) -> StateChange:
        """Return the offsets of state that a client keeps before, in the answer and on target, and its limit."""
        before, now, plan, without = (kept.get(process_id, 0) for kept in self._states)
        clients = [client.process_id for client in staying_clients(self.state)]
        even = sum(self._states[2].values()) // len(clients) if process_id in clients else 0
        limits = [limit for limit in self.state.options.limits if limit.kind == "most_state"]
        allowed = [limit.most for limit in limits if limit.most is not None and process_id in select_clients(self.state, limit)]
        return StateChange(before, now, now - without, plan, even, min(allowed, default=None))

    def find_fullest(self) -> tuple[str, StateChange] | None:
        """Return the client that keeps most state on target, the least id among equals; None if no client keeps any."""
        plan = self._states[2]
        fullest = min(self.state.kafka_streams_states, key=lambda process_id: (-plan.get(process_id, 0), process_id))
        return (fullest, self.state_of(fullest)) if plan.get(fullest) else None

    def why_moved(self, task: str) -> Why | None:
        """Return why the active copy moved; None if it stayed, is not on one client, or was on no known client before."""
        owner, now = self.previous.active.get(task), self.now.active[task]
        if len(now) != 1 or owner == now[0]:
            return None
        known = self.state.kafka_streams_states
        if owner is None:
            return "gone" if task in self.orphans else None
        if known[owner].draining:
            return "draining"
        if self.ranks.of(task, owner) > (self.ranks.least(task) or 0):
            return "lags"
        if self._was_planned(task, now[0]):
            return "planned"
        if self.balances_load:
            return "load" if self.loads_of(owner).before > self.allowed_load else "goals"
        share = self._find_share(task, owner, now[0])
        return "goals" if share is None else "above its share" if share.process_id == owner else "to one below its share"

    def find_share(self, task: str, why: Why | None) -> ShareCount | None:
        """Return the share for which the task moved, if `why` is a share; otherwise None."""
        if why not in ("above its share", "to one below its share"):
            return None
        return self._find_share(task, self.previous.active[task], self.now.active[task][0])

    def _find_share(self, task: str, owner: str, new: str) -> ShareCount | None:
        """Return the first share that the owner exceeded or that the new client missed; None if the move improved none."""
        info = self.state.all_tasks[task]
        concerned: list[ShareName] = ["active", "subtopology_active"]
        if info.stateful:
            concerned.append("stateful_active")
        subtopology = info.task_id.subtopology_key
        # A count that did not change is no reason: the client got another task instead.
        above = (n for w in concerned if (n := self.count(owner, w, subtopology)).before > max(n.high, n.after))
        below = (n for w in concerned if (n := self.count(new, w, subtopology)).before < min(n.low, n.after))
        return next(above, None) or next(below, None)

    def _was_planned(self, task: str, process_id: str) -> bool:
        """Return whether the remembered answer postponed this move until the client was caught up, which it is now."""
        if self._remembered is None or not self.state.all_tasks[task].logged or self.ranks.of(task, process_id):
            return False
        then, planned = self._remembered
        return planned.active[task] == (process_id,) != then.active[task]

    @cached_property
    def _remembered(self) -> tuple[TaskPlacement, TaskPlacement] | None:
        """The placement of the remembered answer and of its target."""
        remembered = self.state.remembered
        if remembered is None:
            return None
        return (TaskPlacement.of(self.state, remembered), planned_placement(self.state, remembered))

    def find_detour(self, task: str) -> Detour | None:
        """Return the detour of an active copy on a client that is neither its owner nor its target client; otherwise None."""
        now, plan, owner = self.now.active[task], self.plan.active[task], self.previous.active.get(task)
        if len(now) != 1 or len(plan) != 1 or now == plan or owner == now[0]:
            return None
        logged = self.state.all_tasks[task].logged
        offsets = self.ranks.restore_cost(task, plan[0]) if logged else 0
        could_lead = not logged or self.ranks.of(task, plan[0]) == self.ranks.least(task)
        return Detour(task, owner, now[0], plan[0], offsets, self.why_moved(task), is_offload=could_lead)

    @cached_property
    def orphans(self) -> frozenset[str]:
        """Tasks that the remembered answer made active on a client that is not in the snapshot any more."""
        remembered, known = self.state.remembered, self.state.kafka_streams_states
        gone = () if remembered is None else (c for c in remembered.clients if c.process_id not in known)
        return frozenset(task for client in gone for task in client.active)


def _previous_placement(state: ApplicationState, previous: PreviousAssignment) -> TaskPlacement:
    """Return the known previous assignment; if standbys are unknown, every client that lists the task has one."""
    standby = previous.standby
    if standby is None:
        standby = clients_by_task(state, ((client.process_id, client.previous_standby) for client in state.clients))
    warmup = {} if state.remembered is None else TaskPlacement.of(state, state.remembered).warmup
    return TaskPlacement(
        active={task: (previous.active[task],) if task in previous.active else () for task in state.all_tasks},
        standby={task: standby.get(task, ()) for task in state.all_tasks},
        warmup={task: warmup.get(task, ()) for task in state.all_tasks},
    )
