"""Snapshots that follow an answer: after all copies are restored, or between the passes of a cooperative rebalance.

Lags are offsets. An answer with a task that is active on two clients, or in two roles on one client, has no successor: call
`validate` first.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from optassign.errors import ArgumentError
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.base import INT64_MAX
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState, KafkaStreamsState

__all__ = [
    "Growth",
    "drop_idle_followup",
    "end_quiet_hours",
    "find_revoked",
    "make_restored_snapshot",
    "make_second_pass_snapshot",
]

_MOST_GROWTH = 1e6
"""A greater share of a changelog is a typing error, not the growth of a rebalance."""
_AGEING = 50
"""Each rebalance adds the changelog's length divided by this number, so state without a role falls behind."""


class Growth:
    """The growth of a group's changelogs, drawn by a seed. Each step between rebalances draws lags anew, so the order of calls
    matters.

    A step lasts as long as the restoration of the assigned copies. R is the number of offsets that a copy restores in a step:
    the mean changelog of the first snapshot, since a copy without state restores its whole changelog.

    Each changelog grows by the same number of offsets in every step, drawn once, uniformly from 0 to ⌊share × R⌋. No changelog
    grows beyond 2⁶³ − 1.

    Restored standbys and warm-ups follow their changelogs closely. The lag of each is drawn in every step, from 0 to the growth
    of its changelog. The lag is at most `acceptable_recovery_lag`, because the copy counts as caught up.
    """

    def __init__(self, state: ApplicationState, share: float, seed: int) -> None:
        """Draw the growth of each changelog for the convergence from `state`. ArgumentError for another share than 0 to 1e6."""
        if not 0 <= share <= _MOST_GROWTH:
            raise ArgumentError("growth", f"{share}", f"0 to {_MOST_GROWTH:g}")
        full = state.full_lags
        most = int(share * (sum(full.values()) / max(1, len(full))))
        self._random = random.Random(seed)
        self._written = {task: self._random.randint(0, most) for task in full}
        self._acceptable = state.configs.acceptable_recovery_lag

    def write(self, full: Mapping[str, int]) -> dict[str, int]:
        """Return logged task → offsets written to its changelog in one step. `full`: logged task → end of its changelog."""
        return {task: min(self._written[task], INT64_MAX - end) for task, end in full.items()}

    def draw_lags(self, copies: Iterable[str], written: Mapping[str, int]) -> dict[str, int]:
        """Return task → lag of the restored copies of one client after a step. `written`: task → offsets written in that
        step."""
        return {task: self._random.randint(0, min(written[task], self._acceptable)) for task in copies}


def make_restored_snapshot(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    keep_state: bool = False,
    memory: bool = True,
    growth: Growth | None = None,
) -> ApplicationState:
    """Return the snapshot after every assigned copy has been restored, as a probing rebalance of KIP-441 finds it.

    Assigned copies lag by −2 (active) or 0 (standby and warm-up). `previous_standby` lists standbys and warm-ups. Other state
    is deleted. With `keep_state` it stays, and its lag grows by a fiftieth of the changelog in each step, until the lag would
    reach the whole changelog. `previous_standby` then lists it too, as Kafka lists every directory. State of unknown lag is not
    kept. `remembered` is the answer with `memory`, otherwise None.

    With `growth`, changelogs grow between rebalances. Restored standbys and warm-ups then lag a little, and kept state falls
    behind by the written offsets.
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
        clients.append(_make_next_client(client, answer.active, [*copies, *kept], lags | kept))
    if growth is not None:
        state = _grow_changelogs(state, {task: full[task] + written[task] for task in full})
    return _make_snapshot(state, clients, assignment if memory else None)


def drop_idle_followup(state: ApplicationState) -> ApplicationState:
    """Return the snapshot without follow-ups of a stable group, because a convergence has no operator and must end."""
    return _change_options(state, idle_followup_ms=None)


def end_quiet_hours(state: ApplicationState) -> ApplicationState:
    """Return the snapshot as after its quiet hours, because a convergence has no clock and must end. A pause lasts."""
    return _change_options(state, hold="none", hold_ends_ms=None) if state.options.hold == "quiet_hours" else state


def _change_options(state: ApplicationState, **changed: Any) -> ApplicationState:
    options = state.options.model_copy(update=changed)
    return state if options == state.options else state.model_copy(update={"options": options})


def make_second_pass_snapshot(
    state: ApplicationState, assignment: TaskAssignment, *, memory: bool = True, state_survives: bool = True
) -> ApplicationState:
    """Return the snapshot of the second pass of a cooperative rebalance, just after `assignment` (KIP-429).

    No client lists a revoked task in `previous_active`. Its old owner lists the task in `previous_standby` with lag 0, or with
    `state_survives` false reports no state of it; Kafka does both. A task that had no owner is already with its new owner, and
    runs if its copy is caught up. Clients list their new standbys and warm-ups, which have restored nothing yet. `remembered`
    is the answer with `memory`, otherwise None.
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
        clients.append(_make_next_client(client, active, directories if state_survives else directories - given_up, lags))
    return _make_snapshot(state, clients, assignment if memory else None)


def find_revoked(state: ApplicationState, assignment: TaskAssignment) -> list[str]:
    """Return the tasks that their owners must give up, sorted. If there are any, a cooperative group rebalances once more
    (KIP-429)."""
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
    """Return task → new lag of the state that a client keeps without a role."""
    kept = {}
    for task, lag in client.lags.items():
        if task not in assigned and lag != UNKNOWN_LAG:
            lag = max(lag, 0) + full[task] // _AGEING + 1
            if lag < full[task]:
                kept[task] = lag + written[task]
    return kept


def _make_next_client(
    client: KafkaStreamsState, active: Iterable[str], standby: Iterable[str], lags: Mapping[str, int]
) -> KafkaStreamsState:
    active = tuple(active)
    changed: dict[str, Any] = {"previous_active": active, "previous_standby": tuple(standby), "lags": lags}
    if client.consumers:
        changed["consumers"] = _share_among_consumers(client.consumers, active)
    return client.model_copy(update=changed)


def _share_among_consumers(before: Mapping[str, tuple[str, ...]], active: Iterable[str]) -> dict[str, list[str]]:
    """Return consumer → active tasks. Each consumer keeps its tasks; a new task goes to the consumer with the fewest."""
    active = set(active)
    after = {name: [task for task in tasks if task in active] for name, tasks in before.items()}
    for task in sorted(active.difference(*after.values())):
        min(after.items(), key=lambda item: (len(item[1]), item[0]))[1].append(task)
    return after


def _make_snapshot(
    state: ApplicationState, clients: Iterable[KafkaStreamsState], remembered: TaskAssignment | None
) -> ApplicationState:
    if any(task.logged and task.changelog_end_offset is None for task in state.tasks):
        # Without end offsets changelogs would seem to shrink with the lags, so the greatest lag becomes the end offset.
        state = _grow_changelogs(state, state.full_lags)
    state = _change_options(state, forget_plan=False)  # the answer has served the request for a new target
    return state.model_copy(update={"clients": tuple(clients), "remembered": remembered})


def _grow_changelogs(state: ApplicationState, ends: Mapping[str, int]) -> ApplicationState:
    """Return the snapshot with these end offsets. `ends`: logged task → end offset."""
    tasks = tuple(
        task.model_copy(update={"changelog_end_offset": ends[task.id]}) if task.logged else task for task in state.tasks
    )
    return state.model_copy(update={"tasks": tasks})
