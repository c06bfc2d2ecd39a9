"""The result of a change: the plan, its cost, its likely duration, and the way there as simulated."""

import math
from collections.abc import Mapping
from statistics import median
from typing import Literal, cast

from optassign.assignor import assign
from optassign.formats.base import Frozen
from optassign.formats.state import ApplicationState, TaskId
from optassign.judging.explain import ExplainedAnswer
from optassign.judging.explanation import Explanation
from optassign.judging.explanation_text import answer_to_lines, pluralize
from optassign.judging.reasons import reason_to_text
from optassign.measuring.client_names import ClientNames
from optassign.measuring.outlook import list_rates
from optassign.measuring.placement import previous_assignment
from optassign.recordings.overview import LoadUnit, make_overview
from optassign.recordings.recording import Recording
from optassign.service.views.changes import Changes, apply_changes, find_lost, read_changes
from optassign.service.views.heat_map import CountRow, HeatMap, make_heat_map, order_clients
from optassign.service.views.types import MoveRow
from optassign.simulation.successors import drop_idle_followup, make_restored_snapshot
from optassign.simulation.timed.scenario import Clients, Happening, Scenario, Start, Subtopologies
from optassign.simulation.timed.simulator import simulate
from optassign_models.policy.constants import (
    ASSUMED_RATE,
    EVENT_BEGINS_S,
    LEAST_WHAT_IF_S,
    MOST_POINTS,
    MOST_WHAT_IF_S,
    WHAT_IF_MOVES,
)

__all__ = ["Outcome", "SimulatedWay", "WhatIfView", "compare_with_change", "simulate_change", "view_what_if"]


class Outcome(Frozen):
    """An answer in a few numbers."""

    clients: int
    moved_active: int
    restored_now: int
    """Offsets that copies of this answer replay."""
    restore_work: int
    """Offsets that are replayed until the target is reached."""
    warmups: int
    followups: int | None
    ms: int | None
    """About how long until the target is reached; null: at once, or not known."""
    restoring_s: float
    """About how long the slowest client restores what this answer gives it."""
    assumed_rate: int | None
    """Offsets per second that every client is assumed to restore in these times; null: rates were measured."""
    balanced_in_the_end: bool
    load_least: float
    load_most: float
    load_unit: LoadUnit
    standbys_wanted: int


class WhatIfView(Frozen):
    """A change, compared with the present application."""

    changes: tuple[str, ...]
    assignor: str
    as_it_is: Outcome
    changed: Outcome
    summary: tuple[str, ...]
    moves: tuple[MoveRow, ...]
    more_moves: int
    heat: HeatMap
    counts: tuple[CountRow, ...]


class SimulatedWay(Frozen):
    """The way to the plan as the simulator plays it: one value of each list for each point of time."""

    assignor: str
    at_s: tuple[float, ...]
    """Seconds since the change."""
    down: tuple[int, ...]
    """Tasks that are not processed."""
    standbys_missing: tuple[int, ...]
    restoring: tuple[int, ...]
    imbalance: tuple[int, ...]
    """The imbalance of the shares of active tasks; 0: balanced."""
    settled_s: float
    """Seconds from the change until the last rebalance or restoration came to its end."""
    rebalances: int
    moves: int
    longest_down_s: float
    assumptions: tuple[str, ...]


def view_what_if(recording: Recording, given: Mapping[str, str], assignor: str, seconds: float) -> WhatIfView:
    """View the result of a form's changes. RequestRefusedError with status 400 for changes that cannot be.

    Both start from the group as it is once what its last answer restores is there. `seconds` of solving for each.
    """
    return compare_with_change(_make_base(recording), _read_rates(recording), given, assignor, seconds)


def compare_with_change(
    base: ApplicationState, rates: Mapping[str, float], given: Mapping[str, str], assignor: str, seconds: float
) -> WhatIfView:
    """As `view_what_if`, for any snapshot. `rates`: client -> offsets per second that it restores, if known."""
    names, changes = ClientNames(base), read_changes(given, base)
    state = apply_changes(changes, base)
    as_it_is, _ = _ask(base, assignor, seconds, rates)
    changed, context = _ask(state, assignor, seconds, rates)
    explanation, label = context.explain_all(), ClientNames(state).label
    heat, counts = make_heat_map(context, ClientNames(state), order_clients(context, 0), 0)
    moves = explanation.moves[:WHAT_IF_MOVES]
    return WhatIfView(
        changes=tuple(changes.describe(names)),
        assignor=assignor,
        as_it_is=as_it_is,
        changed=changed,
        summary=tuple(answer_to_lines(explanation, label, moves=False)),
        moves=tuple(
            MoveRow(
                task=m.task, from_client=label(m.from_client), to_client=label(m.to_client), why=reason_to_text(m.why, m.share)
            )
            for m in moves
        ),
        more_moves=len(explanation.moves) - len(moves),
        heat=heat,
        counts=counts,
    )


def simulate_change(recording: Recording, given: Mapping[str, str], assignor: str) -> SimulatedWay:
    """The way to the plan. RequestRefusedError with status 400 for changes that cannot be."""
    base = _make_base(recording)
    changes = read_changes(given, base)
    scenario, assumptions = _make_scenario(base, changes, _read_rates(recording))
    played = simulate(scenario, assignor)
    curve = [point for point in played.felt.curve if point.at >= EVENT_BEGINS_S]
    step = max(1, math.ceil(len(curve) / MOST_POINTS))
    kept = [*curve[:-1][::step], *curve[-1:]]
    return SimulatedWay(
        assignor=assignor,
        at_s=tuple(round(point.at - EVENT_BEGINS_S, 1) for point in kept),
        down=tuple(point.down for point in kept),
        standbys_missing=tuple(point.standbys_missing for point in kept),
        restoring=tuple(point.restoring for point in kept),
        imbalance=tuple(point.active_imbalance for point in kept),
        settled_s=round(max(0.0, played.felt.last_change_at - EVENT_BEGINS_S), 1),
        rebalances=played.felt.rebalances,
        moves=played.felt.moves,
        longest_down_s=round(played.felt.longest_down_s, 1),
        assumptions=tuple(assumptions),
    )


def _make_base(recording: Recording) -> ApplicationState:
    return drop_idle_followup(make_restored_snapshot(recording.snapshot, recording.assignment))


def _ask(state: ApplicationState, assignor: str, seconds: float, rates: Mapping[str, float]) -> tuple[Outcome, ExplainedAnswer]:
    answer = assign(state, assignor, seconds)
    context, overview = ExplainedAnswer(state, answer), make_overview(state, answer)
    explanation = context.explain_all()
    outlook = explanation.outlook
    outcome = Outcome(
        clients=len(state.clients),
        moved_active=len(explanation.moves),
        restored_now=sum(copy.offsets for copy in explanation.restores),
        restore_work=explanation.planned_work,
        warmups=sum(len(client.warmup) for client in answer.clients),
        followups=None if outlook is None else outlook.followups,
        ms=None if outlook is None else outlook.ms,
        restoring_s=_estimate_restoring(explanation, rates),
        assumed_rate=None if rates else ASSUMED_RATE,
        balanced_in_the_end=not explanation.imbalance_on_target,
        load_least=overview.load_least,
        load_most=overview.load_most,
        load_unit=overview.load_unit,
        standbys_wanted=overview.standbys_wanted,
    )
    return outcome, context


def _estimate_restoring(explanation: Explanation, rates: Mapping[str, float]) -> float:
    usual = median(rates.values()) if rates else ASSUMED_RATE
    seconds: dict[str, float] = {}
    for copy in explanation.restores:
        seconds[copy.process_id] = seconds.get(copy.process_id, 0.0) + copy.offsets / rates.get(copy.process_id, usual)
    return round(max(seconds.values(), default=0.0), 1)


def _read_rates(recording: Recording) -> dict[str, float]:
    """Client -> offsets per second, for clients with a known rate."""
    return list_rates(recording.assignment.report.pace)


def _make_scenario(base: ApplicationState, changes: Changes, rates: Mapping[str, float]) -> tuple[Scenario, list[str]]:
    """The application as a scenario of the simulator, in which the change comes after a while; and what is assumed."""
    state = apply_changes(changes, base)
    after, lost = state.kafka_streams_states, find_lost(changes, base)
    everybody = {**base.kafka_streams_states, **after}  # with the threads and tags that they have after the change
    ids = {name: f"c{number:05d}-1" for number, name in enumerate(sorted(everybody))}
    usual = median(rates.values()) if rates else float(ASSUMED_RATE)
    assumptions = [
        f"{pluralize(len(rates), 'client')} restored at known rates, the others at {usual:,.0f} offsets per second"
        if rates
        else f"no rates are known: every client restores {usual:,.0f} offsets per second",
        "changelogs of a subtopology are of one size, and no records are written",
    ]
    groups: dict[tuple[str, int], list[str]] = {}
    for task in state.tasks:
        groups.setdefault(TaskId.parse(task.id).subtopology_key, []).append(task.id)
    renamed = {task: f"{n}_{p}" for n, tasks in enumerate(groups.values()) for p, task in enumerate(tasks)}
    subtopologies = [
        Subtopologies(
            partitions=len(tasks),
            kind=cast('Literal["logged", "unlogged", "stateless"]', state.all_tasks[tasks[0]].kind),
            state=round(sum(state.full_lags.get(task, 0) for task in tasks) / len(tasks)),
        )
        for tasks in groups.values()
    ]
    work = sum(group.state * group.partitions for group in subtopologies) / usual / max(1, state.configs.max_warmup_replicas)
    scenario = Scenario(
        name="what if",
        duration_s=min(MOST_WHAT_IF_S, max(LEAST_WHAT_IF_S, EVENT_BEGINS_S + 2 * work)),
        configs=state.configs,
        options=state.options,
        subtopologies=tuple(subtopologies),
        clients=tuple(
            Clients(
                name=ids[name][:-1],
                threads=client.threads,
                capacity=client.capacity,
                tags=dict(client.tags),
                restore_per_s=rates.get(name, usual),
                joins=name not in base.kafka_streams_states,
            )
            for name, client in sorted(everybody.items())
        ),
        start=_make_start(base, ids, renamed),
        events=tuple(_make_events(base, changes, lost, ids, [name for name in after if name not in base.kafka_streams_states])),
    )
    return scenario, assumptions


def _make_start(base: ApplicationState, ids: Mapping[str, str], renamed: Mapping[str, str]) -> tuple[Start, ...]:
    previous = previous_assignment(base)
    active: dict[str, list[str]] = {}
    standby: dict[str, list[str]] = {}
    for task, client in previous.active.items():
        active.setdefault(client, []).append(renamed[task])
    for task, clients in (previous.standby or {}).items():
        for client in clients:
            standby.setdefault(client, []).append(renamed[task])
    return tuple(
        Start(client=ids[name], active=tuple(active.get(name, ())), standby=tuple(standby.get(name, ())))
        for name in sorted(base.kafka_streams_states)
    )


def _make_events(
    base: ApplicationState, changes: Changes, lost: frozenset[str], ids: Mapping[str, str], new: list[str]
) -> list[Happening]:
    stays = next((name for name in base.kafka_streams_states if name not in lost), None)
    events = []
    if new:
        events.append(Happening(at=EVENT_BEGINS_S, do="join", clients=tuple(ids[name] for name in new)))
    if lost:
        events.append(Happening(at=EVENT_BEGINS_S, do="crash", clients=tuple(ids[name] for name in sorted(lost))))
    if changes.drained:
        events.append(Happening(at=EVENT_BEGINS_S, do="drain", clients=tuple(ids[name] for name in changes.drained)))
    if not events and stays is not None:  # settings alone: they count from the next rebalance on
        events.append(Happening(at=EVENT_BEGINS_S, do="join", clients=(ids[stays],)))
    return events
