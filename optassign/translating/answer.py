"""Write a step of the solver as an answer with its report. Measures recompute the values of goals.

The report also has the outcome of an operator's requests (drains and limits), for the log and the metrics.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optassign.formats.assignment import (
    ClientPace,
    DrainReport,
    EvidenceName,
    GoalReport,
    KafkaStreamsAssignment,
    LimitReport,
    Pace,
    Report,
    Stage,
    TargetAssignment,
    TaskAssignment,
    Termination,
    Waiting,
    WarmupProgress,
)
from optassign.formats.clients import find_clients
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value, measure_stage
from optassign.goals.order import (
    WEIGHTED_COST,
    find_plan_goals,
    find_unservable,
    note_unserved,
    note_unused_weights,
    note_weighing,
)
from optassign.goals.plan.caught_up import RESTORE_WORK
from optassign.goals.rebalance import REBALANCE_GOALS
from optassign.judging.metrics import measure_weighted_cost
from optassign.measuring.facts import Facts, list_pairs
from optassign.measuring.limits import describe_limit, find_breaches, list_limits
from optassign.translating.snapshot import read_situation, read_weights
from optassign_models.problem import IntArray, Placement
from optassign_models.results import FoundBy, Reason, Step
from optassign_models.solving.followups import time_followup
from optassign_models.solving.inputs import Inventory, RequestedOrder
from optassign_models.solving.rates import ClientRates, Evidence
from optassign_models.solving.situation import Situation

_HOLD_DETAILS = {
    "none": "",
    "paused": "the application is paused: nothing moves but what the rules force",
    "quiet_hours": "quiet hours: nothing moves but what the rules force",
}
"""The plug-in's log text for an answer under a hold."""
_HOLD_NOT_SERVED = "hold not served: baselines follow rules of their own"


_EVIDENCE: dict[int, EvidenceName] = {Evidence.BOUND: "bound", Evidence.ONCE: "once", Evidence.STEADY: "steady"}


NOT_SERVED = "limit not served: "
"""The beginning of the note on a limit that an assignor does not serve."""


def write_answer(state: ApplicationState, situation: Situation, step: Step, assignor: str) -> TaskAssignment:
    """Return the step as an answer with its report. `assignor`: the name in the answer."""
    # Correct by construction, and sorted. Validation would take as long as a greedy answer.
    answer = TaskAssignment.model_construct(
        format=1,
        assignor=assignor,
        clients=_list_clients(state, situation, step),
        plan=None if step.plan is None else _list_plan(situation.inventory, step.plan),
        report=Report(to_balance_ms=step.to_balance_ms),
    )
    return answer.model_copy(update={"report": _write_report(state, situation, step, answer)})


def _list_clients(state: ApplicationState, situation: Situation, step: Step) -> tuple[KafkaStreamsAssignment, ...]:
    inventory, followup_ms = situation.inventory, time_followup(situation, step)
    asking = next((c for c, client in enumerate(state.clients) if not client.says_draining), 0)  # for follow-ups (R8)
    active, standby = _by_client(inventory, step.answer)
    warmup = _group_by_client(inventory, step.warmups.keys // inventory.C, step.warmups.keys % inventory.C)
    return tuple(
        KafkaStreamsAssignment.model_construct(
            process_id=process_id,
            active=active[c],
            standby=standby[c],
            warmup=warmup[c],
            followup_rebalance_ms=followup_ms if c == asking else None,
        )
        for c, process_id in enumerate(inventory.clients)
    )


def _list_plan(inventory: Inventory, plan: Placement) -> tuple[TargetAssignment, ...]:
    active, standby = _by_client(inventory, plan)
    return tuple(
        TargetAssignment.model_construct(process_id=process_id, active=active[c], standby=standby[c])
        for c, process_id in enumerate(inventory.clients)
    )


def _by_client(inventory: Inventory, placed: Placement) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    active = _group_by_client(inventory, np.arange(inventory.T), placed.active)
    return active, _group_by_client(inventory, placed.standby_task, placed.standby_client)


def _group_by_client(inventory: Inventory, task: IntArray, client: IntArray) -> list[tuple[str, ...]]:
    """Return the task ids of each client, sorted."""
    order = np.lexsort((task, client))
    names = [inventory.tasks[t] for t in task[order].tolist()]
    ends = np.cumsum(np.bincount(client, minlength=inventory.C)).tolist()
    return [tuple(names[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _write_report(state: ApplicationState, situation: Situation, step: Step, answer: TaskAssignment) -> Report:
    confirmed = state.remembered.report if step.reason is Reason.CONFIRMED and state.remembered is not None else None
    goals = _report_goals(situation.requests.order, step, Facts(state, answer))
    proved_by = _find_prover(goals, step)
    if confirmed is not None and _has_same_values(confirmed.goals, goals):
        goals, proved_by = confirmed.goals, confirmed.proved_by
    all_proven = bool(goals) and all(goal.proven for goal in goals)
    reason = Reason.OPTIMAL if all_proven and step.reason is Reason.FEASIBLE else step.reason
    limits = () if step.given_way is None else report_limits(state, answer, step.given_way)
    drains = report_drains(state, answer, frozenset() if confirmed is None else situation.memory.new_drains)
    is_heuristic, pace = step.reason is Reason.HEURISTIC, report_pace(situation.pace, situation.inventory.clients)
    words = situation.requests.limits.words or {}
    return Report(
        goals=goals,
        found_by=str(step.found_by),
        proved_by=proved_by,
        termination=Termination(
            reason=str(reason),
            limit="time" if step.limited else "none",
            detail="" if is_heuristic else _HOLD_DETAILS[state.options.hold],
        ),
        seconds={stage: round(seconds, 6) for stage, seconds in step.seconds.items()},
        waiting=_list_waiting(situation, step) if confirmed is None else confirmed.waiting,
        warmup_progress=_list_progress(situation, step) if confirmed is None else confirmed.warmup_progress,
        pace=pace if confirmed is None else confirmed.pace,
        rates=state.rates,
        to_balance_ms=step.to_balance_ms,
        stalled=step.warmups.stalled if confirmed is None else confirmed.stalled and step.probing,
        balanced=step.balanced,
        dropped=state.dropped,
        notes=(
            *map(str, step.notes),
            *note_unserved({**find_unservable(state, situation.requests.order.asked_for), **step.unserved}),
            *note_unused_weights(state.options),
            *note_weighing(state),
            *note_drains(state, drains),
            *((_HOLD_NOT_SERVED,) if is_heuristic and state.options.hold != "none" else ()),
            *(note_limits(limits, words) if step.given_way is not None else note_unserved_limits(state, answer.assignor)),
        ),
        drains=drains,
        limits=limits,
    )


def report_pace(pace: ClientRates, clients: tuple[str, ...]) -> Pace | None:
    """Return the restore rates for the answer's report; None if the snapshot has no time."""
    if pace.taken_at is None:
        return None
    known = np.flatnonzero(pace.ms).tolist()
    rows = [
        ClientPace(process_id=clients[c], offsets=int(offsets), ms=int(ms), evidence=_EVIDENCE[evidence])
        for c, offsets, ms, evidence in zip(known, pace.offsets[known], pace.ms[known], pace.evidence[known], strict=True)
    ]
    return Pace(taken_at=pace.taken_at, clients=tuple(rows), looks=pace.looks, counted_at=pace.counted_at)


def _list_waiting(situation: Situation, step: Step) -> tuple[Waiting, ...]:
    problem, inventory, plan, keys = situation.problem, situation.inventory, step.plan, step.warmups.waiting
    if plan is None:
        return ()
    held = np.concatenate([step.warmups.keys, step.answer.copy_keys(problem.C, problem.logged)])
    active = plan.active[keys // problem.C] == keys % problem.C
    columns = (keys, active, problem.lag_of(keys), np.isin(keys, held, assume_unique=True))
    return tuple(
        Waiting.model_construct(
            task=inventory.tasks[key // problem.C],
            process_id=inventory.clients[key % problem.C],
            role="active" if is_active else "standby",
            lag=lag,
            slot=has_slot,
        )
        for key, is_active, lag, has_slot in zip(*(column.tolist() for column in columns), strict=True)
    )


def _list_progress(situation: Situation, step: Step) -> tuple[WarmupProgress, ...]:
    progress, inventory = step.warmups.progress, situation.inventory
    if progress is None:
        return ()
    columns = (progress.keys, progress.lag, progress.idle, progress.under_way_ms)
    return tuple(
        WarmupProgress.model_construct(
            task=inventory.tasks[key // inventory.C],
            process_id=inventory.clients[key % inventory.C],
            lag=lag,
            answers_without_progress=idle,
            under_way_ms=under_way,
        )
        for key, lag, idle, under_way in zip(*(column.tolist() for column in columns), strict=True)
    )


def _has_same_values(confirmed: tuple[GoalReport, ...], now: tuple[GoalReport, ...]) -> bool:
    """Return whether goals have the values of the confirmed answer, so its proofs still hold.

    Lags may have fallen since then. Goals that count moves from owners are not compared: no client lists tasks in transit any
    more.
    """
    values = {(goal.stage, goal.name): goal.value for goal in now}
    plan_goals, rebalance_goals = find_plan_goals(), REBALANCE_GOALS

    def depends_on_owners(name: str) -> bool:
        goal = plan_goals.get(name) or rebalance_goals.get(name)
        return name == WEIGHTED_COST or (goal is not None and goal.depends_on_owners)

    return all(values.get((goal.stage, goal.name)) == goal.value for goal in confirmed if not depends_on_owners(goal.name))


def _report_goals(order: RequestedOrder, step: Step, facts: Facts) -> tuple[GoalReport, ...]:
    """Return the values of all goals, recomputed by their measures, with the bounds that hold for them."""
    weighted = [_report_weighted(step, facts)] if step.weighs else []
    known = find_plan_goals()
    ordered = {name: known[name] for name in order.names}
    others = {name: goal for name, goal in known.items() if name not in ordered and not goal.is_configured}
    if step.plan is None and "rebalance" not in step.bounds:
        all_goals = {**ordered, **others}
        now = {name: goal for name, goal in all_goals.items() if goal.is_configured or goal.is_reported_at_rest}
        return (*weighted, *_report_stage("now", now, step, facts))
    goals = {**ordered, **{name: goal for name, goal in others.items() if goal.in_default_order}}
    return (
        *weighted,
        *_report_stage("plan", goals, step, facts),
        *_report_stage("rebalance", REBALANCE_GOALS, step, facts),
    )


def _report_weighted(step: Step, facts: Facts) -> GoalReport:
    """Return the report on the weighted sum of preset `weighted`, which was minimised."""
    value, units = measure_weighted_cost(facts.state, facts.answer), step.weighted_bound
    bound = None if units is None else float(units * read_weights(facts.state.options.weights)[1])
    return GoalReport(
        stage="plan", name=WEIGHTED_COST, value=value, bound=bound, gap=_gap(value, bound, 1.0), proven=bound == value
    )


def _report_stage(stage: Stage, goals: Mapping[str, Goal], step: Step, facts: Facts) -> list[GoalReport]:
    rows: list[GoalReport] = []
    bounds = step.bounds.get(stage, {})
    certain = True
    for name, value in measure_stage(facts, goals).items():
        goal = goals[name]
        measured = step.measured_bounds.get(name)
        bound: int | float | None = bounds.get(name)
        if not certain and stage == "plan" and step.found_by == FoundBy.REMEMBERED:
            bound = None  # proven for values of another target
        if bound is not None:
            bound = goal.bound_in_units(bound, facts)
        bound = bound if measured is None else measured
        if bound is None and value == 0 and goal.is_count:
            bound = value
        # A bound of a later goal presumes earlier goals at their bounds. Otherwise a value may beat it.
        if bound is not None and ((bound < value) if goal.more_is_better else (bound > value)):
            bound = None
        certain = certain and bound is not None and _is_met(goal, facts, value, bound)
        rows.append(GoalReport(stage=stage, name=name, value=value, bound=bound, gap=_gap(value, bound, 1), proven=certain))
    return rows


def _is_met(goal: Goal, facts: Facts, value: Value, bound: Value) -> bool:
    """Return whether the value is as good as its bound, within the tolerance of a model that counts in coarser units."""
    if bound == value or abs(value - bound) < goal.tolerance(facts):
        return True
    return not goal.more_is_better and value <= goal.accepted(bound, facts)


def _gap(value: float, bound: float | None, least: float) -> float | None:
    """Return |value − bound| ÷ max(|value|, least); None without a bound."""
    return None if bound is None else abs(value - bound) / max(least, abs(value))


def _find_prover(goals: tuple[GoalReport, ...], step: Step) -> str | None:
    """Return the prover of the first proven stage, the target first: CP-SAT, HiGHS, a flow or the rules. None without a
    proof.

    The rules prove restore work that R3 to R5 force, and a count of 0.
    """
    proven = [goal for goal in goals if goal.proven]
    if not proven:
        return None
    by_rules = ("now", RESTORE_WORK.name)
    bounded = {(stage, goal) for stage, bounds in step.bounds.items() for goal in bounds} - {by_rules}
    bounded |= {("plan", WEIGHTED_COST)}
    stages = [goal.stage for goal in proven if (goal.stage, goal.name) in bounded]
    return str(next((step.proved_by[stage] for stage in stages if stage in step.proved_by), FoundBy.RULES))


def report_drains(
    state: ApplicationState, answer: TaskAssignment, new_drains: frozenset[str] = frozenset()
) -> tuple[DrainReport, ...]:
    """Return a row for each draining client. `new_drains`: clients whose drain came after this answer was computed.

    A client may stop once this answer gives it no copy and it owns no task. Tasks that it gave up in the previous rebalance
    then run elsewhere.
    """
    draining = {client.process_id: client for client in state.clients if client.draining}
    planned = {client.process_id: client for client in (answer.clients if answer.plan is None else answer.plan)}
    rows = []
    for assigned in answer.clients:
        if assigned.process_id not in draining:
            continue
        client, later = draining[assigned.process_id], planned[assigned.process_id]
        holds = bool(assigned.active or assigned.standby or assigned.warmup)
        rows.append(
            DrainReport(
                process_id=client.process_id,
                active=len(assigned.active),
                standby=len(assigned.standby),
                may_stop=not holds and not client.previous_active,
                stays=bool(later.active or later.standby)
                and state.options.hold == "none"
                and client.process_id not in new_drains,
            )
        )
    return tuple(rows)


def note_drains(state: ApplicationState, rows: tuple[DrainReport, ...]) -> tuple[str, ...]:
    """Return notes on the drains, and on names in `options.drain` that fit no client or several."""
    notes = []
    for row in rows:
        has = f"{row.active} active and {row.standby} standby copies"
        if row.may_stop:
            notes.append(f"client {row.process_id} drains: it has nothing any more, and may stop")
        elif row.stays:
            notes.append(f"client {row.process_id} drains: it has {has}, and keeps some in the plan, too")
        else:
            waits = "" if state.options.hold == "none" else ", and nothing moves now"
            notes.append(f"client {row.process_id} drains: it has {has}{waits}")
    for name in state.options.drain:
        number = len(find_clients(state.clients, name))
        if number != 1:
            notes.append(f"drain {name}: {number or 'no'} clients go by this name, so none drains by it")
    return tuple(notes)


def report_limits(state: ApplicationState, answer: TaskAssignment, given_way: Mapping[str, str]) -> tuple[LimitReport, ...]:
    """Return the outcome of each limit in the answer and its target. `given_way`: limits that cannot hold → why."""
    facts = Facts(state, answer)
    rows = []
    for name, limit in list_limits(state).items():
        found = next(find_breaches(state, limit, facts.now, is_plan=False), None)
        planned = next(find_breaches(state, limit, facts.plan, is_plan=True), None)
        why = given_way.get(name, "")
        is_held = state.options.hold != "none"
        if not why and is_held and (planned or found) is not None:
            why = f"nothing moves now: {(found or planned or ('', None))[0]}"
        elif not why and planned is not None:
            why = f"no placement was found that keeps it: {planned[0]}"
        elif not why and found is not None:
            way = "R3 forces them" if limit.kind == "most_active_moves" else "not yet, on the way to the plan, which keeps it"
            why = f"{way}: {found[0]}"
        gave_way = name in given_way or (planned is not None and not is_held)
        kept = not gave_way and found is None and planned is None
        rows.append(LimitReport(name=name, kept=kept, gave_way=gave_way, why="" if kept else why))
    return tuple(rows)


def note_limits(rows: tuple[LimitReport, ...], words: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note for each limit that is not kept. `words`: limit → its description."""
    return tuple(
        f"limit {'gives way' if row.gave_way else 'not kept'}: {words[row.name]}: {row.why}" for row in rows if not row.kept
    )


def note_unserved_limits(state: ApplicationState, assignor: str) -> tuple[str, ...]:
    """Return a note for each limit, for an assignor that serves no limits."""
    return tuple(
        f"{NOT_SERVED}{describe_limit(name, limit)}: {assignor} follows rules of its own"
        for name, limit in list_limits(state).items()
    )


def note_unserved_holding(state: ApplicationState, assignor: str) -> tuple[str, ...]:
    """Return notes on hold, drains and limits, for an applied answer whose assignor does not serve them."""
    notes = []
    if state.options.hold != "none":
        notes.append(f"hold not served: {assignor} knows nothing of what is {state.options.hold.replace('_', ' ')}")
    if state.options.drain:
        notes.append(f"drain not served: {assignor} knows nothing of {', '.join(state.options.drain)}")
    return (*notes, *note_unserved_limits(state, assignor))


def observe_pace(state: ApplicationState, applied: TaskAssignment, before: TaskAssignment | None) -> TaskAssignment:
    """Return the applied answer with restore rates since the previous answer and the copies under restore in its report.

    Args:
        state: the snapshot that `applied` answers.
        before: the previously applied answer, as this function returned it; None if unknown.

    The answer is unchanged if the snapshot has no time or the report has a pace already.
    """
    if applied.report.pace is not None:
        return applied
    situation = read_situation(state.model_copy(update={"remembered": before}))
    pace = report_pace(situation.pace, situation.inventory.clients)
    if pace is None:
        return applied
    facts = Facts(state, applied)
    ranks, placement = facts.ranks, facts.now
    logged = {task.id for task in state.tasks if task.logged}
    warming = ((task, client) for task, clients in placement.warmup.items() for client in clients)
    restoring = sorted({pair for pair in (*list_pairs(placement), *warming) if pair[0] in logged and ranks.of(*pair)})
    progress = tuple(
        WarmupProgress(task=task, process_id=client, lag=ranks.lag(task, client), answers_without_progress=0)
        for task, client in restoring
    )
    report = applied.report.model_copy(update={"pace": pace, "warmup_progress": progress})
    return applied.model_copy(update={"report": report})
