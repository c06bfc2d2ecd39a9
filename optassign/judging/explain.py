"""Why an answer is as it is: for a task, for a client, and as a whole. `explanation_text.py` turns the result into lines.

An explanation is made from snapshot, answer and measures alone, without a solver: it says what the rules allowed, which shares
bind and what other places would have cost, not how a solver came to its answer. Lags and costs are offsets. It is meant for
answers that keep the rules; `validate` says what is wrong with others.
"""

from collections.abc import Iterable, Mapping

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import sorted_ids
from optassign.goals.plan.moves import find_moved_actives
from optassign.judging.explanation import (
    Candidate,
    ClientExplanation,
    Detour,
    Explanation,
    Move,
    NewCopy,
    Role,
    RoleChange,
    ShareCount,
    TaskExplanation,
    Why,
)
from optassign.judging.reasons import AnswerInContext
from optassign.measuring.balance import ShareName, is_answer_balanced, measure_imbalance
from optassign.measuring.client_names import ClientNames
from optassign.measuring.facts import Facts
from optassign.measuring.outlook import estimate_outlook
from optassign.measuring.placement import TaskPlacement
from optassign_models.policy.constants import MOST_LISTED

__all__ = [
    "Candidate",
    "ClientExplanation",
    "Detour",
    "ExplainedAnswer",
    "Explanation",
    "Move",
    "NewCopy",
    "RoleChange",
    "ShareCount",
    "TaskExplanation",
    "Why",
    "explain_answer",
    "explain_client",
    "explain_task",
]

_ROLES: tuple[Role, ...] = ("active", "standby", "warmup")


def explain_task(state: ApplicationState, assignment: TaskAssignment, task: str) -> TaskExplanation:
    """Why the copies of `task` are where they are. LookupError if there is no such task."""
    if task not in state.all_tasks:
        raise LookupError(f"no task {task} in the snapshot")
    return ExplainedAnswer(state, assignment).explain_task(task)


def explain_client(state: ApplicationState, assignment: TaskAssignment, process_id: str) -> ClientExplanation:
    """Explain this client's gains and losses. LookupError if there is no such client."""
    if process_id not in state.kafka_streams_states:
        raise LookupError(f"no client {process_id} in the snapshot")
    return ExplainedAnswer(state, assignment).explain_client(process_id)


def explain_answer(state: ApplicationState, assignment: TaskAssignment) -> Explanation:
    """Explain the answer's changes, their reasons, and what its follow-up waits for."""
    return ExplainedAnswer(state, assignment).explain_all()


class ExplainedAnswer(AnswerInContext):
    """An answer, and the explanations of it: for whoever needs several, as they share what is counted."""

    def explain_task(self, task: str) -> TaskExplanation:
        """As the function of this name; the task has to exist."""
        state, logged = self.state, self.state.all_tasks[task].logged
        known = dict.fromkeys(state.kafka_streams_states) if len(state.clients) <= MOST_LISTED else self._list_concerned(task)
        least = self.ranks.least(task) or 0
        candidates = sorted(
            (self._make_candidate(task, process_id, least) for process_id in known),
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
            why_moved=(why := self.why_moved(task)),
            share=self.find_share(task, why),
            owners=tuple(client.process_id for client in state.clients if task in client.previous_active),
            detour=self.find_detour(task),
            waiting=tuple(entry for entry in self.answer.report.waiting if entry.task == task),
        )

    def _list_concerned(self, task: str) -> dict[str, None]:
        """The clients that report a lag of the task, are its holders, or have a copy before, now or in the plan."""
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
        """The shares that counts would leave if the planned active moved to this client and the rest of the plan stayed."""
        if self.balances_load or len(self.plan.active[task]) != 1 or process_id in self.plan.active[task]:
            return
        info, (owner,) = self.state.all_tasks[task], self.plan.active[task]
        concerned: list[ShareName] = ["active", "subtopology_active"]
        if info.stateful:
            concerned.insert(1, "stateful_active")
        if info.logged and process_id not in self.plan.standby[task]:
            # With a standby of the task on this client the two would swap roles, and have as many copies as before.
            concerned += ["copies", "subtopology_copies"]
        for client, change in ((owner, -1), (process_id, 1)):
            for share in concerned:
                count = self.count(client, share, info.task_id.subtopology_key)
                outside = count.planned + change < count.low if change < 0 else count.planned + change > count.high
                if outside:
                    yield count

    def explain_client(self, process_id: str) -> ClientExplanation:
        """As the function of this name; the client has to exist."""
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
            state=self.state_of(process_id) if self.minds_state else None,
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
        """As `explain_answer`."""
        # As measured: if two clients claim a task, keeping either is no move, and a task without an owner cannot move.
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
            nobody_caught_up=tuple(task.id for task in self.state.tasks if task.logged and self.ranks.least(task.id)),
            restores=tuple(self._list_restores()),
            planned_work=sum(Facts(self.state, self.answer).cold.values()),
            load=self.find_greatest_load() if self.balances_load else None,
            balanced=is_answer_balanced(self.state, self.answer),
            fullest=self.find_fullest() if self.minds_state else None,
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
