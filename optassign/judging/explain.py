"""Explain an answer: for a task, for a client, and as a whole. `explanation_text.py` turns the result into lines.

An explanation follows from snapshot, answer and measures, without a solver: the rules that apply, the shares that bind, and the
cost of other places. It does not say how a solver found the answer. Lags and costs are offsets. The answer should keep the
rules; `validate` explains other answers.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId, sorted_ids
from optassign.goals.order import goal_order
from optassign.judging.explanation import (
    Candidate,
    ClientExplanation,
    Detour,
    Explanation,
    LoadChange,
    Move,
    NewCopy,
    Role,
    RoleChange,
    ShareCount,
    StateChange,
    TaskExplanation,
    Why,
)
from optassign.judging.validation import name_rule, validate
from optassign.measuring.balance import (
    Counts,
    ShareName,
    Shares,
    Subtopology,
    compute_shares,
    count_copies,
    is_answer_balanced,
    measure_imbalance,
)
from optassign.measuring.client_names import ClientNames
from optassign.measuring.facts import Facts
from optassign.measuring.limits import select_clients
from optassign.measuring.load import Loads, allowed_load, balances_load
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.outlook import estimate_outlook
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

MOST_LISTED = 20
"""The most clients that an explanation lists in full; larger groups list clients with state or a copy of the task."""


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


_SHARES = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active tasks of subtopology",
    "subtopology_copies": "copies of subtopology",
}
REASONS: dict[Why, str] = {
    "gone": "its client has left the group",
    "draining": "its client drains",
    "lags": f"another client is more caught up: {name_rule('R3')}",
    "planned": "its target client has caught up",
    "load": "its client had more load than is balanced",
    "above its share": "its client was above its share",
    "to one below its share": "another client was below its share",
    "goals": "a goal, or another task that moves, requires it",
}


def reason_to_text(why: Why, share: ShareCount | None) -> str:
    """Return why a task moves, with the share and its client's count: `…: 8 active tasks, share 5–6`."""
    if share is None:
        return REASONS[why]
    return f"{REASONS[why]}: {share.before:,} {name_share(share)}, share {show_range(share)}"


def name_share(count: ShareCount) -> str:
    """Return the name of the counted quantity: `active tasks of subtopology 3`."""
    return _SHARES[count.share] + ("" if count.subtopology is None else f" {count.subtopology}")


def show_range(count: ShareCount) -> str:
    """Return the bounds of the share: `1–2`."""
    return str(count.low) if count.low == count.high else f"{count.low}–{count.high}"


_ROLES: tuple[Role, ...] = ("active", "standby", "warmup")


def explain_task(state: ApplicationState, assignment: TaskAssignment, task: str) -> TaskExplanation:
    """Explain why the copies of `task` are on their clients. LookupError if the snapshot has no such task."""
    if task not in state.all_tasks:
        raise LookupError(f"no task {task} in the snapshot")
    return ExplainedAnswer(state, assignment).explain_task(task)


def explain_client(state: ApplicationState, assignment: TaskAssignment, process_id: str) -> ClientExplanation:
    """Explain the client's gains and losses. LookupError if the snapshot has no such client."""
    if process_id not in state.kafka_streams_states:
        raise LookupError(f"no client {process_id} in the snapshot")
    return ExplainedAnswer(state, assignment).explain_client(process_id)


def explain_answer(state: ApplicationState, assignment: TaskAssignment) -> Explanation:
    """Explain the answer's changes, their reasons, and what its follow-up waits for."""
    return ExplainedAnswer(state, assignment).explain_all()


class ExplainedAnswer(AnswerInContext):
    """An answer with methods that explain it for a task, for a client, and as a whole."""

    def explain_task(self, task: str) -> TaskExplanation:
        """Explain why the copies of the task are on their clients; the task must be in the snapshot."""
        state, logged = self.state, self.state.all_tasks[task].logged
        known = dict.fromkeys(state.kafka_streams_states) if len(state.clients) <= MOST_LISTED else self._list_concerned(task)
        least = self.ranks.least(task) or 0
        candidates = sorted(
            (self._make_candidate(task, process_id, least) for process_id in known),
            key=lambda c: (c.rank, c.lag or 0, c.process_id),
        )
        cost_elsewhere = self.ranks.whole_changelog(task) if logged else 0
        caught_up = cost_elsewhere <= state.configs.acceptable_recovery_lag
        return TaskExplanation(
            task=task,
            kind=state.all_tasks[task].kind,
            candidates=tuple(candidates),
            others=len(state.clients) - len(candidates),
            others_may_be_active=(0 if caught_up else cost_elsewhere) == least,
            others_cost=0 if caught_up else cost_elsewhere,
            why_moved=(why := self.why_moved(task)),
            share=self.find_share(task, why),
            owners=tuple(client.process_id for client in state.clients if task in client.previous_active),
            detour=self.find_detour(task),
            waiting=tuple(entry for entry in self.answer.report.waiting if entry.task == task),
            keeps_r3=("R3", task) not in self._violations,
        )

    @cached_property
    def _violations(self) -> frozenset[tuple[str, str | None]]:
        """Broken rules with their tasks."""
        return frozenset((violation.rule, violation.task) for violation in validate(self.state, self.answer))

    def _list_concerned(self, task: str) -> dict[str, None]:
        """Return the clients that report a lag of the task, hold it, or have a copy before, in the answer or on target."""
        reporting = [c.process_id for c in self.state.clients if task in c.lags or self.ranks.is_holder(task, c.process_id)]
        return dict.fromkeys(
            [*reporting, *(c for p in (self.before, self.now, self.plan) for c in (*p.copies(task), *p.warmup[task]))]
        )

    def _make_candidate(self, task: str, process_id: str, least: int) -> Candidate:
        logged, rank = self.state.all_tasks[task].logged, self.ranks.of(task, process_id)
        return Candidate(
            process_id=process_id,
            rank=rank,
            lag=self.ranks.lag(task, process_id) if logged else None,
            cost=self.ranks.restore_cost(task, process_id) if logged else 0,
            may_be_active=rank == least,
            before=_find_role(self.before, task, process_id),
            now=_find_role(self.now, task, process_id),
            planned=_find_role(self.plan, task, process_id),
            load_with_it=self.find_load_with(task, process_id) if self.balances_load else None,
            binds=tuple(self._find_binding_shares(task, process_id)),
        )

    def _find_binding_shares(self, task: str, process_id: str) -> Iterable[ShareCount]:
        """Yield the shares that would be violated if only the target active moved to this client."""
        if self.balances_load or len(self.plan.active[task]) != 1 or process_id in self.plan.active[task]:
            return
        info, (owner,) = self.state.all_tasks[task], self.plan.active[task]
        concerned: list[ShareName] = ["active", "subtopology_active"]
        if info.stateful:
            concerned.insert(1, "stateful_active")
        if info.logged and process_id not in self.plan.standby[task]:
            # A standby on this client would swap roles with the active copy: the numbers of copies stay.
            concerned += ["copies", "subtopology_copies"]
        for client, change in ((owner, -1), (process_id, 1)):
            for share in concerned:
                count = self.count(client, share, info.task_id.subtopology_key)
                outside = count.planned + change < count.low if change < 0 else count.planned + change > count.high
                if outside:
                    yield count

    def explain_client(self, process_id: str) -> ClientExplanation:
        """Explain the client's gains and losses; the client must be in the snapshot."""
        client = self.state.kafka_streams_states[process_id]
        had = {role: _tasks_of(getattr(self.before, role), process_id) for role in _ROLES}
        has = {role: _tasks_of(getattr(self.now, role), process_id) for role in _ROLES}
        return ClientExplanation(
            process_id=process_id,
            names=tuple(ClientNames(self.state).list_all(process_id)),
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
                for role in _ROLES
            ),
            standbys_known=self.previous.standby is not None,
            shares=() if self.balances_load else tuple(self._list_counts(process_id)),
            load=self.loads_of(process_id) if self.balances_load else None,
            state=self.state_of(process_id) if self.considers_state else None,
            restores=tuple(copy for copy in self._list_restores() if copy.process_id == process_id),
            waiting=tuple(entry for entry in self.answer.report.waiting if entry.process_id == process_id),
        )

    def _list_counts(self, process_id: str) -> Iterable[ShareCount]:
        subtopologies = list(self.shares.subtopology_active)
        if not subtopologies:
            return
        totals: tuple[ShareName, ...] = ("active", "stateful_active", "copies")
        yield from (self.count(process_id, share, subtopologies[0]) for share in totals)
        for subtopology in subtopologies:
            yield self.count(process_id, "subtopology_active", subtopology)
            if subtopology in self.shares.subtopology_copies:
                yield self.count(process_id, "subtopology_copies", subtopology)

    def _list_restores(self) -> Iterable[NewCopy]:
        for role in _ROLES:
            for task, clients in getattr(self.now, role).items():
                for process_id in clients:
                    if self.ranks.of(task, process_id):
                        yield NewCopy(task, process_id, role, self.ranks.restore_cost(task, process_id))

    def explain_all(self) -> Explanation:
        """Explain the answer as a whole."""
        # As `active_moves` counts: if two clients claim a task, keeping either is no move; an unowned task cannot move.
        moved = frozenset(find_moved_actives(self.state, self.now))
        moves, stay, new = [], 0, 0
        for task, now in self.now.active.items():
            owner, why = self.previous.active.get(task), self.why_moved(task)
            if owner is not None and why is not None and task in moved:
                moves.append(Move(task, owner, now[0], why, self.find_share(task, why)))
            elif owner is None or (why is not None and task in self.previous.in_transit):
                new += 1
            else:
                stay += 1
        asks = [client for client in self.answer.clients if client.followup_rebalance_ms is not None]
        return Explanation(
            moves=tuple(moves),
            stay=stay,
            new=new,
            gone=len(self.orphans - self.previous.active.keys()),
            detours=tuple(filter(None, map(self.find_detour, self.now.active))),
            not_caught_up_anywhere=tuple(task.id for task in self.state.tasks if task.logged and self.ranks.least(task.id)),
            restores=tuple(self._list_restores()),
            planned_work=sum(Facts(self.state, self.answer).cold.values()),
            load=self.find_greatest_load() if self.balances_load else None,
            balanced=is_answer_balanced(self.state, self.answer),
            fullest=self.find_fullest() if self.considers_state else None,
            imbalance_now=sum(measure_imbalance(self.state, self.counts[1], self.shares).values()),
            imbalance_on_target=sum(measure_imbalance(self.state, self.counts[2], self.shares).values()),
            followup_by=asks[0].process_id if asks else None,
            followup_ms=asks[0].followup_rebalance_ms if asks else None,
            outlook=estimate_outlook(self.state, self.answer),
            waiting=self.answer.report.waiting,
            stalled=self.answer.report.stalled,
            notes=self.answer.report.notes,
        )


def _find_role(placement: TaskPlacement, task: str, process_id: str) -> Role | None:
    return next((role for role in _ROLES if process_id in getattr(placement, role)[task]), None)


def _tasks_of(role: Mapping[str, tuple[str, ...]], process_id: str) -> set[str]:
    return {task for task, clients in role.items() if process_id in clients}
