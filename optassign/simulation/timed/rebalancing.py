"""Rebalances of a simulated group: their triggers and their passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from optassign.assignor import TaskAssignor, assign
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.timed.agenda import Agenda
from optassign.simulation.timed.application import ABSENT, KEPT, UNASSIGNED, Application
from optassign.simulation.timed.followups import FOLLOW_UP_REASONS, find_followup_s, make_followups
from optassign.simulation.timed.joining import JoinDelays
from optassign.simulation.timed.measures import RunMeasures
from optassign.simulation.timed.snapshots import JoinReport, apply_answer, describe_joining, make_snapshot

__all__ = ["Rebalancer", "model_seconds"]

_MOST_TIMED_PASSES = 50
"""Most passes of one rebalance in simulated time, unless twice the number of tasks is greater. Where copies are restored within
a pass, each pass may move the next tasks."""


def model_seconds(tasks: int, clients: int) -> float:
    """Return the simulated seconds of an assignor's call: 0.02 + 0.25 × pairs of task and client / 10⁶.

    cp-sat takes about as long at 1,000 × 100 and at 10,000 × 1,000 (docs/data/speed.json). All assignors take the same time, so
    that only their answers differ.
    """
    return 0.02 + 0.25 * tasks * clients / 1e6


class Rebalancer:
    """The group coordinator and its members, by the scenario's protocol.

    Cooperative (KIP-429): tasks of a running owner are revoked in a first pass and assigned in a second; all other tasks
    continue. Eager: no task is processed from the trigger until the answer is applied. `streams` (KIP-1071): the assignor gives
    a target once, without warm-ups unless they are emulated; a task that moves reaches its new owner a heartbeat after its
    revocation.
    """

    def __init__(
        self,
        application: Application,
        assignor: TaskAssignor,
        agenda: Agenda,
        measures: RunMeasures,
        report: Callable[..., None],
    ) -> None:
        self._application, self.assignor = application, assignor
        self._agenda, self._felt, self._report = agenda, measures, report
        self._group = application.scenario.group
        self._has_targets = self._group.protocol == "streams"
        self._is_cooperative = self._has_targets or self._group.rebalancing == "cooperative"
        self.followups = make_followups(application, agenda, self.trigger)
        self._delays = JoinDelays(application.scenario)
        self._joined: dict[int, JoinReport] = {}
        """Client → its report when it joined the present pass; empty if all clients join at its end."""
        self._is_asked_again = False
        self._passes = 0
        self.is_rebalancing = False
        self._delayed_reason: str | None = None
        """The reason of a pass that waits for a member whose loss the group has not noticed yet."""
        self.remembered: TaskAssignment | None = None
        """The last answer."""

    def trigger(self, reason: str, members: Iterable[int] = ()) -> None:
        """Start a rebalance, or request another pass, or retry a waiting pass. `members`: clients that join first."""
        if self.is_rebalancing:
            self._join(members)
        if self._delayed_reason is not None:
            self._assign(self._delayed_reason)
            return
        if self.is_rebalancing:
            self._is_asked_again = True
            return
        self.followups.disarm()
        self.is_rebalancing, self._passes = True, 0
        self._application.is_paused = not self._is_cooperative
        self._begin_pass(reason, members)

    def _begin_pass(self, reason: str, members: Iterable[int] = ()) -> None:
        """Let all members join, and assign after the last has joined. `members`: clients that do not wait for a heartbeat."""
        self._passes += 1
        self._joined, last = {}, 0.0
        if self._delays.vary:
            # A member that starts a rebalance alone is never late for its first pass.
            may_be_late = self._passes > 1 or self._group.all_ask
            delays = self._delays.draw(self._application.threads, set(members), may_be_late=may_be_late)
            for client in np.flatnonzero(self._application.up).tolist():
                last = max(last, delays[client].complete_s)
                self._agenda.plan_in(delays[client].reports_s, partial(self._join, (client,)))
        self._agenda.plan_in(last + self._group.pass_s, lambda: self._assign(reason))

    def _join(self, members: Iterable[int]) -> None:
        """Keep the reports of members that join now."""
        if self._delays.vary:
            self._joined |= {c: describe_joining(self._application, c) for c in members if self._application.up[c]}

    def _assign(self, reason: str) -> None:
        """Assign, once all running members have joined and all missing members are noticed or back. Under `streams` (KIP-1071)
        no member waits for another."""
        self._delayed_reason = reason if self._application.unnoticed and not self._has_targets else None
        if self._delayed_reason is not None:
            return
        self._is_asked_again = False
        if not self._application.up.any():
            self.is_rebalancing = self._application.is_paused = False
            return
        state = make_snapshot(self._application, self.remembered, self._agenda.now, self._joined)
        answer = assign(state, self.assignor)
        if self._has_targets:
            answer = restrict_to_streams_protocol(answer, emulated_warmups=self._group.emulated_warmups)
        self.remembered = answer
        seconds = model_seconds(len(state.tasks), len(state.clients))
        self._agenda.plan_in(seconds, lambda: self._apply(reason, state, answer))

    def _apply(self, reason: str, state: ApplicationState, answer: TaskAssignment) -> None:
        application, now = self._application, self._agenda.now
        before = np.where(application.up[application.owner], application.owner, UNASSIGNED)
        revoked = apply_answer(application, answer, now, cooperative=self._is_cooperative)
        moved = revoked if self._is_cooperative else _list_moved(before, application)
        self._count(reason, moved)
        self._plan_cleanup()
        self._report(
            "rebalance",
            reason=reason,
            clients={each.process_id: self._describe(each) for each in answer.clients},
            moved=[application.tasks[t].id for t in moved],
            followup_s=find_followup_s(answer),
            why=answer.report.termination.reason,
        )
        if revoked and self._has_targets:
            self._agenda.plan_in(self._group.heartbeat_s, lambda: self._give(answer))
        elif (revoked or self._is_asked_again) and not self._has_too_many_passes:
            at_once = range(len(application.client_ids)) if revoked and self._group.all_ask else set(before[revoked].tolist())
            self._begin_pass("second pass" if revoked else "asked again", at_once)
        else:
            self._end(answer)

    @property
    def _has_too_many_passes(self) -> bool:
        return self._passes >= max(_MOST_TIMED_PASSES, 2 * len(self._application.tasks))

    def _give(self, answer: TaskAssignment) -> None:
        """Assign the revoked tasks to their new owners (protocol `streams`)."""
        apply_answer(self._application, answer, self._agenda.now, cooperative=False)
        if self._is_asked_again:
            self._begin_pass("asked again")
        else:
            self._end(answer)

    def _end(self, answer: TaskAssignment) -> None:
        if self._has_too_many_passes:
            self._report("endless", passes=self._passes)
        self.is_rebalancing = self._application.is_paused = False
        self.let_drained_leave()
        if not self.is_rebalancing:
            self.followups.arm(answer)

    def let_drained_leave(self) -> None:
        """Stop each leaving member without active tasks (protocol `learner`), and each draining member without copies."""
        application = self._application
        has_role = np.any(application.mode > KEPT, axis=0)
        has_role[application.owner[application.owner != UNASSIGNED]] = True
        active = set(application.owner.tolist())
        for client in np.flatnonzero(application.draining & application.up).tolist():
            if not has_role[client] if application.leaves_empty[client] else client not in active:
                application.draining[client] = application.leaves_empty[client] = False
                application.stop(client, self._agenda.now)
                self._report("left", clients=[application.client_ids[client]])
                self.trigger("left")

    def _describe(self, client: KafkaStreamsAssignment) -> dict[str, list[str]]:
        """Return role → tasks of a client in an answer."""
        application = self._application
        roles = {"active": client.active, "standby": client.standby, "warmup": client.warmup}
        ids = {role: sorted(application.number_of[name] for name in names) for role, names in roles.items() if names}
        return {role: [application.tasks[t].id for t in tasks] for role, tasks in ids.items()}

    def _count(self, reason: str, moved: list[int]) -> None:
        self._felt.rebalances += 1
        self._felt.last_change_at = self._agenda.now
        self._felt.followups += reason in FOLLOW_UP_REASONS
        self._felt.moves += len(moved)
        self._felt.moves_logged += int(self._application.logged[moved].sum())

    def plan_cleanup_after_start(self, clients: Sequence[int]) -> None:
        """Plan the deletion of state without a role on clients that start now: Kafka's cleaner waits the whole delay first."""
        application = self._application
        starting = np.zeros(len(application.clients), dtype=bool)
        starting[clients] = True
        application.left_at[(application.mode == KEPT) & starting[None, :]] = self._agenda.now
        self._plan_cleanup()

    def _plan_cleanup(self) -> None:
        """Plan the deletion of state that has just lost its role, after the clean-up delay."""
        application, now = self._application, self._agenda.now
        left = np.argwhere((application.mode == KEPT) & (application.left_at == now) & application.up[None, :])
        if len(left):
            self._agenda.plan_in(self._group.state_cleanup_delay_s, lambda: self._clean_up(left, now))

    def _clean_up(self, copies: np.ndarray[Any, Any], left_at: float) -> None:
        application = self._application
        for t, c in copies.tolist():
            # A copy with a role in between has left later, and its own clean-up is planned.
            if application.mode[t, c] == KEPT and application.left_at[t, c] == left_at and application.up[c]:
                application.mode[t, c] = ABSENT


def restrict_to_streams_protocol(answer: TaskAssignment, *, emulated_warmups: bool) -> TaskAssignment:
    """Return the answer as Kafka 4.4's broker understands it: active and standby tasks only, and no follow-up.

    The broker takes emulated warm-ups for standbys. They stay warm-ups here, because they must not count as standbys.
    """
    clients = tuple(
        client.model_copy(update={"warmup": client.warmup if emulated_warmups else (), "followup_rebalance_ms": None})
        for client in answer.clients
    )
    return answer.model_copy(update={"clients": clients})


def _list_moved(before: np.ndarray[Any, Any], application: Application) -> list[int]:
    """Return the tasks that moved from one running client to another."""
    changed = (before != UNASSIGNED) & (application.owner != UNASSIGNED) & (application.owner != before)
    return [int(t) for t in np.flatnonzero(changed)]
