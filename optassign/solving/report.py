"""From a step in arrays to the answer that goes out: ids, follow-up, report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optassign.formats.assignment import (
    GoalReport,
    Report,
    Stage,
    TaskAssignment,
    Termination,
    Waiting,
    WarmupProgress,
)
from optassign.formats.base import INT64_MAX
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.goals.order import WEIGHTED_COST, GoalOrder, find_unservable, note_unserved, note_unused_weights, note_weighing
from optassign.goals.plan import restore_work
from optassign.goals.registry import find_plan_goals, find_rebalance_goals, measure_stage
from optassign.measuring.facts import Facts
from optassign.measuring.input_rates import find_wait_for_rates_ms
from optassign.solving.arrays import Arrays
from optassign.solving.holding.drains import find_new_drains, note_drains, report_drains
from optassign.solving.holding.limits import note_limits, note_unserved_limits, report_limits
from optassign.solving.pace import choose_delay
from optassign.solving.step import Limit, ProvedBy, Reason, Step
from optassign_models.policy import followups

_HELD = {
    "none": "",
    "paused": "the application is paused: nothing moves but what the rules force",
    "quiet_hours": "quiet hours: nothing moves but what the rules force",
}
"""The plug-in's log text for an answer of a pause."""
_HOLD_NOT_SERVED = "hold not served: baselines follow rules of their own"


def to_assignment(state: ApplicationState, arrays: Arrays, step: Step, assignor: str) -> TaskAssignment:
    """The answer with its report; the values of its goals are recomputed by the measures."""
    followup = _followup(state, arrays, step)
    clients = arrays.list_clients(step.answer, step.warmups.keys, followup)
    plan = arrays.list_plan(step.plan) if step.plan is not None else None
    # Right by construction and sorted: to check it all again would take as long as a greedy plan.
    to_balance = step.to_balance_ms
    if step.reason is Reason.CONFIRMED and state.remembered is not None:
        to_balance = state.remembered.report.to_balance_ms
    judged = Report(to_balance_ms=to_balance)
    bare = TaskAssignment.model_construct(format=1, assignor=assignor, clients=clients, plan=plan, report=judged)
    report = _report(state, arrays, step, bare)
    return TaskAssignment.model_construct(format=1, assignor=assignor, clients=clients, plan=plan, report=report)


def _followup(state: ApplicationState, arrays: Arrays, step: Step) -> tuple[int, int] | None:
    """The client that asks, and the delay: the least process id that is not draining (R8)."""
    delay = choose_delay(arrays.problem, arrays.pace, step) if step.followup else None
    if step.reason is Reason.HELD and state.options.hold_ends_ms is not None:
        # Every pending move waits for that, and no other event would have the group come back to it.
        delay = min(followups.REBALANCE_MS + state.options.hold_ends_ms, delay if delay is not None else INT64_MAX)
    if step.probing and state.remembered is not None:
        asked = [c.followup_rebalance_ms for c in state.remembered.clients if c.followup_rebalance_ms is not None]
        delay = min(asked, default=delay)
        if delay is not None and arrays.pace.elapsed_ms is not None and state.options.followup == "estimate":
            delay = max(followups.LEAST_AFTER_PASS_MS, min(delay, delay - arrays.pace.elapsed_ms))
    if delay is None and step.reason is not Reason.HEURISTIC:
        delay = _wait_for_rates(state)
    if delay is None and step.reason is not Reason.HEURISTIC:
        delay = _wait_for_operators(state)
    if delay is None:
        return None
    if step.reason is Reason.CONFIRMED and state.options.followup == "estimate" and find_new_drains(state):
        delay = min(delay, followups.REBALANCE_MS)  # a drain that came between the passes counts soon
    staying = [number for number, client in enumerate(state.clients) if not client.says_draining]
    return staying[0] if staying else 0, delay


def _wait_for_operators(state: ApplicationState) -> int | None:
    """A group that waits for nothing would not hear of what its operator asks for next; in quiet hours it is left alone."""
    if state.options.idle_followup_ms is None:
        return None
    idle = min(state.options.idle_followup_ms, state.configs.probing_rebalance_interval_ms)
    ends = state.options.hold_ends_ms
    return idle if ends is None else max(idle, followups.REBALANCE_MS + ends)


def _wait_for_rates(state: ApplicationState) -> int | None:
    """A group at rest that is to be balanced by what its tasks read would never come to it by itself (R8)."""
    wait, options = find_wait_for_rates_ms(state), state.options
    if wait is None or (options.hold != "none" and options.hold_ends_ms is None):
        return None
    interval = state.configs.probing_rebalance_interval_ms if options.followup == "interval" else 0
    held = 0 if options.hold_ends_ms is None else followups.REBALANCE_MS + options.hold_ends_ms
    return max(wait, interval, held)


def _report(state: ApplicationState, arrays: Arrays, step: Step, answer: TaskAssignment) -> Report:
    remembered = state.remembered.report if step.reason is Reason.CONFIRMED and state.remembered is not None else None
    facts = Facts(state, answer)
    goals = _report_goals(arrays.order, step, facts)
    proved_by = _proved_by(goals, step)
    if remembered is not None and _stands_for(remembered.goals, goals):
        goals, proved_by = remembered.goals, remembered.proved_by
    all_proven = bool(goals) and all(goal.proven for goal in goals)
    reason = Reason.OPTIMAL if all_proven and step.reason is Reason.FEASIBLE else step.reason
    limits = () if step.given_way is None else report_limits(state, answer, step.given_way)
    new_drains = find_new_drains(state) if step.reason is Reason.CONFIRMED else frozenset()
    drains = report_drains(state, answer.clients, answer.plan, new_drains)
    return Report(
        goals=goals,
        found_by=str(step.found_by),
        proved_by=proved_by,
        termination=Termination(
            reason=str(reason),
            limit=str(Limit.TIME if step.limited else Limit.NONE),
            detail="" if step.reason is Reason.HEURISTIC else _HELD[state.options.hold],
        ),
        seconds={stage: round(seconds, 6) for stage, seconds in step.seconds.items()},
        waiting=remembered.waiting if remembered is not None else _waiting(arrays, step),
        warmup_progress=remembered.warmup_progress if remembered is not None else _progress(arrays, step),
        pace=remembered.pace if remembered is not None else arrays.pace.report(arrays.clients),
        rates=state.rates,
        to_balance_ms=answer.report.to_balance_ms,
        stalled=remembered.stalled and step.probing if remembered is not None else step.warmups.stalled,
        balanced=step.balanced,
        dropped=state.dropped,
        notes=(
            *map(str, step.notes),
            *note_unserved(_find_unserved(state, arrays.order, step)),
            *note_unused_weights(state.options),
            *note_weighing(state),
            *note_drains(state, drains),
            *((_HOLD_NOT_SERVED,) if step.reason is Reason.HEURISTIC and state.options.hold != "none" else ()),
            *(note_limits(state, limits) if step.given_way is not None else note_unserved_limits(state, answer.assignor)),
        ),
        drains=drains,
        limits=limits,
    )


def _find_unserved(state: ApplicationState, order: GoalOrder, step: Step) -> dict[str, str]:
    """Goal → why it was not served: the snapshot lacks what it needs, or whoever answered cannot."""
    return {**find_unservable(state, order.asked_for), **step.unserved}


def _stands_for(then: tuple[GoalReport, ...], now: tuple[GoalReport, ...]) -> bool:
    """Whether what was proven then is still about the same values: lags may have fallen since. Moves count from the owners
    before the first pass, which clients no longer list."""
    values = {(goal.stage, goal.name): goal.value for goal in now}
    plan_goals, rebalance_goals = find_plan_goals(), find_rebalance_goals()

    def depends_on_owners(name: str) -> bool:
        goal = plan_goals.get(name) or rebalance_goals.get(name)
        return name == WEIGHTED_COST or (goal is not None and goal.depends_on_owners)

    return all(values.get((goal.stage, goal.name)) == goal.value for goal in then if not depends_on_owners(goal.name))


def _report_goals(order: GoalOrder, step: Step, facts: Facts) -> tuple[GoalReport, ...]:
    """The values of all goals, recomputed by their measures, and the bounds that hold for them."""
    weighted = [] if step.proofs.weighted is None else [_report_weighted(*step.proofs.weighted)]
    others = {name: goal for name, goal in find_plan_goals().items() if name not in order.goals and not goal.is_configured}
    if step.plan is None and "rebalance" not in step.proofs.bounds:
        all_goals = {**order.goals, **others}
        now = {name: goal for name, goal in all_goals.items() if goal.is_configured or goal.is_reported_at_rest}
        return (*weighted, *_report_stage("now", now, step, facts))
    goals = {**order.goals, **{name: goal for name, goal in others.items() if goal.in_default_order}}
    return (
        *weighted,
        *_report_stage("plan", goals, step, facts),
        *_report_stage("rebalance", find_rebalance_goals(), step, facts),
    )


def _report_weighted(value: float, bound: float | None) -> GoalReport:
    """Preset `weighted`: the one sum that was minimised; what it is made of follows."""
    return GoalReport(
        stage="plan", name=WEIGHTED_COST, value=value, bound=bound, gap=_gap(value, bound, 1.0), proven=bound == value
    )


def _report_stage(stage: Stage, goals: Mapping[str, Goal], step: Step, facts: Facts) -> list[GoalReport]:
    rows: list[GoalReport] = []
    bounds = step.proofs.bounds.get(stage, {})
    certain = True
    for name, value in measure_stage(facts, goals).items():
        goal, known = goals[name], (stage, name) in step.proofs.proved
        measured = step.proofs.measured.get(name)
        bound: int | float | None = bounds.get(name)
        if not certain and stage == "plan" and step.is_remembered:
            bound = None  # it was found for the values of another plan
        if bound is not None:
            bound = goal.bound_in_units(bound) if goal.bound_beside is None else goal.bound_beside(bound, facts)
        bound = bound if measured is None else measured
        if bound is None and ((certain and known) or (value == 0 and goal.is_count)):
            bound = value
        # Bounds of later goals hold if the goals before are at their bounds; otherwise a value may be beyond.
        if bound is not None and ((bound < value) if goal.more_is_better else (bound > value)):
            bound = None
        certain = certain and bound is not None and _is_met(goal, facts, value, bound, known=known)
        rows.append(GoalReport(stage=stage, name=name, value=value, bound=bound, gap=_gap(value, bound, 1), proven=certain))
    return rows


def _is_met(goal: Goal, facts: Facts, value: Value, bound: Value, *, known: bool) -> bool:
    """Whether a value is as good as at its bound. `known`: the model proved it, in units that may be coarser."""
    if bound == value or (known and abs(value - bound) < goal.tolerance(facts)):
        return True
    return not goal.more_is_better and value <= goal.accepted(facts, bound)


def _gap(value: float, bound: float | None, least: float) -> float | None:
    """The gap between value and bound, as a share of the value (of `least`, if that is more)."""
    return None if bound is None else abs(value - bound) / max(least, abs(value))


def _proved_by(goals: tuple[GoalReport, ...], step: Step) -> str | None:
    """Who proved most: CP-SAT, a linear program, a flow, or the rules alone.

    The rules do where R3 to R5 leave no other restore work, and where a number that is never below 0 is 0.
    """
    proven = [goal for goal in goals if goal.proven]
    if not proven:
        return None
    rows = {(goal.stage, goal.name) for goal in proven}
    if rows & step.proofs.proved or rows & {("plan", WEIGHTED_COST)} - step.proofs.by_lp:
        return str(ProvedBy.CP_SAT)
    if rows & step.proofs.by_lp:
        return str(ProvedBy.LP)
    by_rules = ("now", restore_work.GOAL.name)
    by_flow = {(stage, goal) for stage, bounds in step.proofs.bounds.items() for goal in bounds} - {by_rules}
    return str(ProvedBy.FLOW if any((goal.stage, goal.name) in by_flow for goal in proven) else ProvedBy.RULES)


def _waiting(arrays: Arrays, step: Step) -> tuple[Waiting, ...]:
    problem, plan = arrays.problem, step.plan
    if plan is None:
        return ()
    task, client = step.warmups.waiting // problem.C, step.warmups.waiting % problem.C
    held = np.concatenate([step.warmups.keys, step.answer.copy_keys(problem.C, problem.logged)])
    slot = np.isin(step.warmups.waiting, held, assume_unique=True)
    lag = problem.lag_of(step.warmups.waiting)
    active = plan.active[task] == client
    return tuple(
        Waiting.model_construct(
            task=arrays.tasks[t],
            process_id=arrays.clients[c],
            role="active" if a else "standby",
            lag=int(offsets),
            slot=bool(s),
        )
        for t, c, a, offsets, s in zip(
            task.tolist(), client.tolist(), active.tolist(), lag.tolist(), slot.tolist(), strict=True
        )
    )


def _progress(arrays: Arrays, step: Step) -> tuple[WarmupProgress, ...]:
    progress = step.warmups.progress
    if progress is None:
        return ()
    C = arrays.problem.C
    return tuple(
        WarmupProgress.model_construct(
            task=arrays.tasks[k // C], process_id=arrays.clients[k % C], lag=lag, answers_without_progress=idle
        )
        for k, lag, idle in zip(progress.keys.tolist(), progress.lag.tolist(), progress.idle.tolist(), strict=True)
    )
