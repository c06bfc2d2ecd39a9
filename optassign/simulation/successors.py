"""The snapshot that follows an answer: once all of it has been restored, or half-way through a cooperative rebalance.

Lags are offsets. Not for an answer that gives a task to two clients as active, or to one in two roles: `validate` it first.
"""

import math
import random
from collections.abc import Iterable, Mapping
from typing import Any

from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.base import INT64_MAX
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from optassign_models.policy.constants import AGEING

__all__ = ["Growth", "drop_idle_followup", "find_revoked", "make_restored_snapshot", "make_second_pass_snapshot"]


class Growth:
    """Writes of a group, decided by a seed; each step from a rebalance to the next draws anew, in the order of the calls.

    R, what one copy restores in a step: a step is as long as it takes to restore what was assigned, and a copy that begins with
    nothing restores a whole changelog in it. So R is the mean whole changelog of the first snapshot.

    Each changelog grows by the same number of offsets in every step, drawn once: all whole numbers from 0 to ⌊share × R⌋ are
    equally likely. None grows beyond 2⁶³ − 1.

    Restored standbys and warm-ups follow their changelogs closely, but are seen at any moment. Each lags by a number that is
    drawn in every step, from 0 to what its changelog grew by, at most `acceptable_recovery_lag`, so it counts as caught up.
    """

    def __init__(self, state: ApplicationState, share: float, seed: int) -> None:
        """For the convergence from `state`. ValueError for a share below 0."""
        if not 0 <= share < math.inf:
            raise ValueError(f"growth: found {share}; allowed: 0 or more")
        full = state.full_lags
        most = int(share * (sum(full.values()) / max(1, len(full))))
        self._random = random.Random(seed)
        self._written = {task: self._random.randint(0, most) for task in full}
        self._acceptable = state.configs.acceptable_recovery_lag

    def write(self, full: Mapping[str, int]) -> dict[str, int]:
        """Logged task -> offsets that are written to its changelog in one step. `full`: logged task -> whole changelog."""
        return {task: min(self._written[task], INT64_MAX - end) for task, end in full.items()}

    def draw_lags(self, copies: Iterable[str], written: Mapping[str, int]) -> dict[str, int]:
        """Task -> lag of a client's restored copy of it, a step in which so much was written later."""
        return {task: self._random.randint(0, min(written[task], self._acceptable)) for task in copies}


def make_restored_snapshot(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    keep_state: bool = False,
    memory: bool = True,
    growth: Growth | None = None,
) -> ApplicationState:
    """The snapshot once every assigned copy has been restored (KIP-441's probing rebalance).

    Lags of assigned copies: −2 active, 0 standby and warm-up. `previous_standby`: standbys and warm-ups. All other state
    is deleted; with `keep_state` it stays, lagging by a fiftieth of its changelog more each time until the whole
    changelog is as near, and is listed in `previous_standby` too, as Kafka lists every directory; state of unknown lag is
    not kept. `remembered`: the answer with `memory`, otherwise none.

    With `growth`, changelogs grow between rebalances: restored standbys and warm-ups are that little behind, and kept state
    falls behind by the same offsets.
    """
    full = state.full_lags
    written = dict.fromkeys(full, 0) if growth is None else growth.write(full)
    answers = assignment.by_process_id
    clients = []
    for client in state.clients:
        answer = answers.get(client.process_id, KafkaStreamsAssignment(process_id=client.process_id))
        copies = (*answer.standby, *answer.warmup)
        lags = dict.fromkeys((task for task in answer.active if task in full), RUNNING)
        restored = [task for task in copies if task in full]
        lags |= dict.fromkeys(restored, 0) if growth is None else growth.draw_lags(restored, written)
        kept = _age_kept_state(client, lags, full, written) if keep_state else {}
        clients.append(_move_client_on(client, answer.active, [*copies, *kept], lags | kept))
    if growth is not None:
        state = _grow_changelogs(state, {task: full[task] + written[task] for task in full})
    return _make_snapshot(state, clients, assignment if memory else None)


def drop_idle_followup(state: ApplicationState) -> ApplicationState:
    """The snapshot whose group, once at rest, asks for nothing: what is played has no operator, and has to come to an end."""
    if state.options.idle_followup_ms is None:
        return state
    return state.model_copy(update={"options": state.options.model_copy(update={"idle_followup_ms": None})})


def make_second_pass_snapshot(
    state: ApplicationState, assignment: TaskAssignment, *, memory: bool = True, state_survives: bool = True
) -> ApplicationState:
    """The snapshot of the second pass of a cooperative rebalance, a moment after `assignment` (KIP-429).

    No client lists a task in transit in `previous_active`: its old owner has given it up and lists it in `previous_standby`
    with lag 0, or without `state_survives` has no state of it (both were seen). Tasks without an owner are with their new
    owners already, running if these are caught up. Clients with a new standby or warm-up list it, and nothing is restored yet.
    `remembered`: the answer with `memory`, otherwise none.
    """
    answers = assignment.by_process_id
    owned = {task for client in state.clients for task in client.previous_active}
    full, acceptable = state.full_lags, state.configs.acceptable_recovery_lag
    clients = []
    for client in state.clients:
        answer = answers.get(client.process_id, KafkaStreamsAssignment(process_id=client.process_id))
        had, lags = set(client.previous_active), dict(client.lags)
        active = {task for task in answer.active if task in had or task not in owned}
        for task in active - had:
            if task in full and _is_caught_up(lags.get(task, full[task]), acceptable):
                lags[task] = RUNNING
        given_up = {task for task in client.previous_active if task in full} - active
        if state_survives:
            lags |= dict.fromkeys(given_up, 0)
        else:
            lags = {task: lag for task, lag in lags.items() if task not in given_up}
        directories = {*client.previous_standby, *answer.standby, *answer.warmup, *given_up} - active
        clients.append(_move_client_on(client, active, directories if state_survives else directories - given_up, lags))
    return _make_snapshot(state, clients, assignment if memory else None)


def find_revoked(state: ApplicationState, assignment: TaskAssignment) -> list[str]:
    """The tasks that their owners have to give up: if there are any, a cooperative group rebalances once more (KIP-429)."""
    given = assignment.by_process_id
    return sorted(
        task
        for client in state.clients
        for task in client.previous_active
        if client.process_id not in given or task not in given[client.process_id].active
    )


def _is_caught_up(lag: int, acceptable: int) -> bool:
    return lag != UNKNOWN_LAG and lag <= acceptable


def _age_kept_state(
    client: KafkaStreamsState, assigned: Mapping[str, int], full: Mapping[str, int], written: Mapping[str, int]
) -> dict[str, int]:
    """Task -> new lag, for tasks whose state the client keeps though it is not assigned them any more."""
    kept = {}
    for task, lag in client.lags.items():
        if task not in assigned and lag != UNKNOWN_LAG:
            lag = max(lag, 0) + full[task] // AGEING + 1
            if lag < full[task]:
                kept[task] = lag + written[task]
    return kept


def _move_client_on(
    client: KafkaStreamsState, active: Iterable[str], standby: Iterable[str], lags: Mapping[str, int]
) -> KafkaStreamsState:
    active = tuple(active)
    changed: dict[str, Any] = {"previous_active": active, "previous_standby": tuple(standby), "lags": lags}
    if client.consumers:
        changed["consumers"] = _share_among_consumers(client.consumers, active)
    return client.model_copy(update=changed)


def _share_among_consumers(before: Mapping[str, tuple[str, ...]], active: Iterable[str]) -> dict[str, list[str]]:
    """Active tasks per consumer: each keeps what it had, new ones go to the consumer that has fewest."""
    active = set(active)
    after = {name: [task for task in tasks if task in active] for name, tasks in before.items()}
    for task in sorted(active.difference(*after.values())):
        min(after.items(), key=lambda item: (len(item[1]), item[0]))[1].append(task)
    return after


def _make_snapshot(
    state: ApplicationState, clients: Iterable[KafkaStreamsState], remembered: TaskAssignment | None
) -> ApplicationState:
    if any(task.logged and task.changelog_end_offset is None for task in state.tasks):
        # Otherwise changelogs would seem to shrink with the lags: if the end offset is missing, the greatest lag tells it.
        state = _grow_changelogs(state, state.full_lags)
    return state.model_copy(update={"clients": tuple(clients), "remembered": remembered})


def _grow_changelogs(state: ApplicationState, ends: Mapping[str, int]) -> ApplicationState:
    """The snapshot with these end offsets of its changelogs. `ends`: logged task -> end."""
    tasks = tuple(
        task.model_copy(update={"changelog_end_offset": ends[task.id]}) if task.logged else task for task in state.tasks
    )
    return state.model_copy(update={"tasks": tasks})
