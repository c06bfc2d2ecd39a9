"""From a solution in arrays to the answer that goes out: ids, follow-up, report."""

from __future__ import annotations

from collections.abc import Callable

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
from optassign.formats.state import ApplicationState
from optassign.goals.order import goal_order
from optassign.judging.metrics import goal_values, rack_crossings, tag_values, weighted_load
from optassign.judging.placement import planned_placement
from optassign.solving.arrays import Arrays
from optassign.solving.stages import Solution

_GREATEST = frozenset({("rebalance", "planned_copies"), ("plan", "tag_spread"), ("now", "tag_spread")})
"""Goals of which more is better."""
_NOW_GOALS = ("restore_work", "active_moves")
"""What is reported of an answer that is balanced at once, beside goals (a)."""
_COUNTS = frozenset({"cold_copies", "cold_actives", "active_moves", "standby_moves", "active_excess"})
"""Goals that are never below 0: reached, that needs no solver to prove it."""
_FROM_OWNERS = frozenset({"active_moves", "standby_moves", "weighted_cost"})
"""Goals that depend on who had what before."""
_FROM_MODEL: dict[str, Callable[[float], int | float]] = {
    "tag_spread": lambda bound: -int(bound),  # minimised there, as its negative
    "load": lambda bound: max(0.0, (1000 * bound - 999) / 1_000_000),  # the model rounds up to thousandths
}
"""Bounds of the model in the units of the measures."""


def to_assignment(state: ApplicationState, arrays: Arrays, solution: Solution, assignor: str) -> TaskAssignment:
    """The answer with its report; the values of its goals are recomputed by the measures."""
    followup = _followup(state, arrays, solution)
    clients = arrays.clients_of(solution.answer, solution.warmups, followup)
    plan = arrays.plan_of(solution.plan) if solution.plan is not None else None
    # Right by construction and sorted: to check it all again would take as long as a greedy plan.
    bare = TaskAssignment.model_construct(format=1, assignor=assignor, clients=clients, plan=plan, report=Report())
    report = _report(state, arrays, solution, bare)
    return TaskAssignment.model_construct(format=1, assignor=assignor, clients=clients, plan=plan, report=report)


def _followup(state: ApplicationState, arrays: Arrays, solution: Solution) -> tuple[int, int] | None:
    """Who asks, and after how long: the least process id that is not draining (R8)."""
    delay = state.configs.probing_rebalance_interval_ms if solution.followup else None
    if solution.probing and state.remembered is not None:
        asked = [c.followup_rebalance_ms for c in state.remembered.clients if c.followup_rebalance_ms is not None]
        delay = min(asked, default=delay)
    if delay is None:
        return None
    staying = np.flatnonzero(~arrays.problem.draining)
    return int(staying[0]) if len(staying) else 0, delay


def _report(state: ApplicationState, arrays: Arrays, solution: Solution, answer: TaskAssignment) -> Report:
    remembered = state.remembered.report if solution.confirmed and state.remembered is not None else None
    goals = _goals(state, solution, answer)
    proved_by = _proved_by(goals, solution)
    if remembered is not None and _as_remembered(remembered.goals, goals):
        goals, proved_by = remembered.goals, remembered.proved_by
    all_proven = bool(goals) and all(goal.proven for goal in goals)
    reason = "optimal" if all_proven and solution.reason == "feasible" else solution.reason
    return Report(
        goals=goals,
        found_by=solution.found_by,
        proved_by=proved_by,
        termination=Termination(reason=reason, limit="time" if solution.limited else "none"),
        seconds={stage: round(seconds, 6) for stage, seconds in solution.seconds.items()},
        waiting=remembered.waiting if remembered is not None else _waiting(arrays, solution),
        warmup_progress=remembered.warmup_progress if remembered is not None else _progress(arrays, solution),
        stalled=remembered.stalled and solution.probing if remembered is not None else solution.stalled,
        balanced=solution.balanced,
        dropped=state.dropped,
        notes=tuple(solution.notes),
    )


def _as_remembered(then: tuple[GoalReport, ...], now: tuple[GoalReport, ...]) -> bool:
    """Whether what was proven then is still about the same values: lags may have fallen since. Moves count from the owners
    before the first pass, whom nobody lists any more."""
    values = {(goal.stage, goal.name): goal.value for goal in now}
    return all(values.get((goal.stage, goal.name)) == goal.value for goal in then if goal.name not in _FROM_OWNERS)


def _goals(state: ApplicationState, solution: Solution, answer: TaskAssignment) -> tuple[GoalReport, ...]:
    order = goal_order(state)
    values = goal_values(state, answer)
    configured = _configured(state, answer, order.configured)
    plan: dict[str, int | float] = {**configured, **values["plan"]}
    in_order = [name for name in order.goals if name in plan]
    plan = {name: plan[name] for name in (*in_order, *(name for name in plan if name not in in_order))}
    if solution.plan is None and "rebalance" not in solution.bounds:
        now = {name: value for name, value in plan.items() if name in configured or name in _NOW_GOALS}
        return tuple(_stage_goals("now", now, solution))
    rebalance: dict[str, int | float] = {**values["rebalance"]}
    rows = (*_stage_goals("plan", plan, solution), *_stage_goals("rebalance", rebalance, solution))
    return rows if solution.weighted is None else (_weighted(*solution.weighted), *rows)


def _weighted(value: float, bound: float | None) -> GoalReport:
    """Preset `weighted`: the one sum that was minimised; what it is made of follows."""
    gap = None if bound is None else abs(value - bound) / max(1.0, abs(value))
    return GoalReport(stage="plan", name="weighted_cost", value=value, bound=bound, gap=gap, proven=bound == value)


def _configured(state: ApplicationState, answer: TaskAssignment, goals: tuple[str, ...]) -> dict[str, int | float]:
    """Goals (a) that are asked for, of the plan."""
    where = planned_placement(state, answer)
    found: dict[str, int | float] = {}
    for goal in goals:
        if goal == "rack_traffic":
            crossings = rack_crossings(state, where)
            if crossings is not None:
                found[goal] = crossings
        elif goal == "tag_spread":
            found[goal] = tag_values(state, where)[0]
        else:
            found[goal] = round(weighted_load(state, where), 6)
    return found


def _stage_goals(stage: Stage, values: dict[str, int | float], solution: Solution) -> list[GoalReport]:
    goals: list[GoalReport] = []
    bounds = solution.bounds.get(stage, {})
    certain = True
    # The load is modelled in thousandths, so a proven value is above its bound by less than one; and by what the model
    # rounds down, less than a millionth for each task.
    unit = (1_001 + int(np.bincount((solution.plan or solution.answer).active).max(initial=0))) / 1_000_000
    for name, value in values.items():
        known = (stage, name) in solution.proved
        bound: int | float | None = bounds.get(name)
        if not certain and stage == "plan" and solution.found_by == "remembered":
            bound = None  # it was found beside the values of another plan
        if bound is not None and name in _FROM_MODEL:
            bound = _FROM_MODEL[name](bound)
        if bound is None and ((certain and known) or (value == 0 and name in _COUNTS)):
            bound = value
        # Bounds of later goals hold where those before are at theirs: with others, a value may be beyond.
        if bound is not None and ((bound < value) if (stage, name) in _GREATEST else (bound > value)):
            bound = None
        met = bound is not None and (bound == value or (known and name == "load" and value - bound < unit))
        certain = certain and met
        gap = None if bound is None else abs(value - bound) / max(1, abs(value))
        goals.append(GoalReport(stage=stage, name=name, value=value, bound=bound, gap=gap, proven=certain))
    return goals


def _proved_by(goals: tuple[GoalReport, ...], solution: Solution) -> str | None:
    """Who proved most: CP-SAT, a flow, or the rules alone, where R3 to R5 leave no other restore work and a number that is
    never below 0 is 0."""
    proven = [goal for goal in goals if goal.proven]
    if not proven:
        return None
    if any((goal.stage, goal.name) in solution.proved or goal.name == "weighted_cost" for goal in proven):
        return "cp-sat"
    by_flow = {(stage, goal) for stage, bounds in solution.bounds.items() for goal in bounds} - {("now", "restore_work")}
    return "flow" if any((goal.stage, goal.name) in by_flow for goal in proven) else "rules"


def _waiting(arrays: Arrays, solution: Solution) -> tuple[Waiting, ...]:
    problem, plan = arrays.problem, solution.plan
    if plan is None:
        return ()
    task, client = solution.waiting // problem.C, solution.waiting % problem.C
    slot = np.isin(solution.waiting, np.union1d(solution.warmups, solution.answer.copy_keys(problem.C, problem.logged)))
    lag = problem.lag_of(solution.waiting)
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


def _progress(arrays: Arrays, solution: Solution) -> tuple[WarmupProgress, ...]:
    progress = solution.progress
    if progress is None:
        return ()
    C = arrays.problem.C
    return tuple(
        WarmupProgress.model_construct(
            task=arrays.tasks[k // C], process_id=arrays.clients[k % C], lag=lag, answers_without_progress=idle
        )
        for k, lag, idle in zip(progress.keys.tolist(), progress.lag.tolist(), progress.idle.tolist(), strict=True)
    )
