"""Explain an answer: for a task, for a client, and as a whole. `explanation_text.py` turns the result into lines.

An explanation follows from snapshot, answer and measures, without a solver: the rules that apply, the shares that bind, and the
cost of other places. It does not say how a solver found the answer. Lags and costs are offsets. The answer should keep the
rules; `validate` explains other answers.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import sorted_ids
from optassign.judging.answer_in_context import AnswerInContext
from optassign.judging.explanation import (
    Candidate,
    ClientExplanation,
    Explanation,
    Move,
    NewCopy,
    Role,
    RoleChange,
    ShareCount,
    TaskExplanation,
)
from optassign.judging.validation import validate
from optassign.measuring.balance import (
    ShareName,
    is_answer_balanced,
    measure_imbalance,
)
from optassign.measuring.client_names import ClientNames
from optassign.measuring.facts import Facts
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.outlook import estimate_outlook
from optassign.measuring.placement import (
    TaskPlacement,
)

MOST_LISTED = 20
"""The most clients that an explanation lists in full; larger groups list clients with state or a copy of the task."""


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
