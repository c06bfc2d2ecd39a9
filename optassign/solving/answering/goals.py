"""The rows of a report: the values of goals, recomputed by their measures, and the bounds that hold for them."""

from __future__ import annotations

from collections.abc import Mapping

from optassign.formats.assignment import GoalReport, Stage
from optassign.goals.goal import Goal, Value
from optassign.goals.order import WEIGHTED_COST, GoalOrder
from optassign.goals.plan import restore_work
from optassign.goals.registry import find_plan_goals, find_rebalance_goals, measure_stage
from optassign.measuring.facts import Facts
from optassign.solving.step import ProvedBy, Step


def stands_for(then: tuple[GoalReport, ...], now: tuple[GoalReport, ...]) -> bool:
    """Whether what was proven then is still about the same values: lags may have fallen since. Moves count from the owners
    before the first pass, which clients no longer list."""
    values = {(goal.stage, goal.name): goal.value for goal in now}
    plan_goals, rebalance_goals = find_plan_goals(), find_rebalance_goals()

    def depends_on_owners(name: str) -> bool:
        goal = plan_goals.get(name) or rebalance_goals.get(name)
        return name == WEIGHTED_COST or (goal is not None and goal.depends_on_owners)

    return all(values.get((goal.stage, goal.name)) == goal.value for goal in then if not depends_on_owners(goal.name))


def report_goals(order: GoalOrder, step: Step, facts: Facts) -> tuple[GoalReport, ...]:
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


def tell_prover(goals: tuple[GoalReport, ...], step: Step) -> str | None:
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
