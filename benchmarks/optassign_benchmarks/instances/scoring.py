"""Scores of assignors on instances: whether the target keeps the rules, its value for each goal, and its gap.

`optassign.measuring` and `optassign.goals` measure the values; they share no code with the models.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from optassign.assignor import TaskAssignor, check_type, create, describe_failure, name_assignor
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_assignment
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Value
from optassign.goals.order import WEIGHTED_COST, find_plan_goals, goal_order
from optassign.judging.metrics import measure_weighted_cost
from optassign.judging.validation import validate
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.facts import Facts
from optassign.measuring.limits import find_breaches, list_limits
from optassign.measuring.load import balances_load
from optassign.measuring.placement import TaskPlacement, previous_assignment, standbys_per_task
from optassign.measuring.ranks import Ranks
from optassign.simulation.convergence import converge
from optassign_benchmarks.instances.table import BestKnown

__all__ = [
    "IMBALANCE",
    "Gap",
    "Score",
    "extract_target",
    "find_fault",
    "find_gap",
    "list_restore_costs",
    "measure_target",
    "score_answer",
    "score_assignor",
]

IMBALANCE = "imbalance"
"""The first value if counts are balanced: the sum of e (e + 1) / 2 over counts at distance e from their shares."""
_OF_TARGETS = ("format", "R1", "R2", "R4")
"""Rules that every target keeps; the other rules concern the rebalances that lead to it."""
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Gap:
    """The first value in which a target differs from the best known."""

    goal: str
    """Empty if all values are equal."""
    value: Value
    best: Value
    is_better: bool
    """Whether the target is better than the best known."""
    share: float | None
    """Distance from the best-known value ÷ that value, negative if the target is better; None if that value is 0."""


@dataclass(frozen=True, slots=True)
class Score:
    """The result of an assignor on one instance."""

    instance: str
    assignor: str
    seconds: float
    """Seconds until the answer."""
    values: Mapping[str, Value]
    """Value name → value, most important first; empty if the target is refused."""
    gap: Gap | None
    refused: str = ""
    """The first broken rule, or why there is no answer."""
    imbalance: Mapping[str, int] = field(default_factory=dict)
    """Family of shares → its part of the imbalance; empty if the target is refused."""


def extract_target(answer: TaskAssignment) -> TaskAssignment:
    """Return the target of an answer as an answer: its plan, or without a plan its active and standby copies."""
    rows = answer.clients if answer.plan is None else answer.plan
    clients = [KafkaStreamsAssignment(process_id=row.process_id, active=row.active, standby=row.standby) for row in rows]
    return TaskAssignment(assignor=answer.assignor, clients=tuple(clients))


def find_fault(state: ApplicationState, target: TaskAssignment) -> str | None:
    """Return the first broken rule or limit of a target in words, or None if it keeps all."""
    for violation in validate(state, target):
        if violation.rule in _OF_TARGETS:
            return str(violation)
    placement = Facts(state, target).plan
    for name, limit in list_limits(state).items():
        for found, _ in find_breaches(state, limit, placement, is_plan=True):
            return f"limit {name}: {found}"
    return None


def measure_target(facts: Facts) -> dict[str, Value]:
    """Return value name → value of a target, most important first."""
    state = facts.state
    if state.options.preset == "weighted":
        return {WEIGHTED_COST: measure_weighted_cost(state, facts.answer)}
    values: dict[str, Value] = {}
    if not balances_load(state):
        values[IMBALANCE] = sum(measure_imbalance(state, facts.plan).values())
    costs = list_restore_costs(state, facts.plan)
    by_rules: dict[str, Value] = {"restore_work": sum(costs), "copies_not_caught_up": len(costs)}
    for name, goal in goal_order(state).goals.items():
        value = by_rules[name] if name in by_rules else goal.measure(facts)
        if value is not None:
            values[name] = value
    return values


def list_restore_costs(state: ApplicationState, target: TaskPlacement) -> list[int]:
    """Return the restore costs of goals (b) and (c): one for each copy not caught up that the target has or R3 to R5 force.

    An answer shows only its own choice among forced copies of one rank. So the costs follow docs/reference/rules.md, "The
    target", for snapshots without draining clients.
    """
    ranks, confirmed = Ranks(state), previous_assignment(state).in_transit_copies
    costs: list[int] = []
    for task in (task.id for task in state.tasks if task.logged):
        sent = confirmed.get(task, frozenset())
        places = max(0, standbys_per_task(state) + 1 - len(sent))
        forced = ranks.list_best(task, places, sent)
        last = forced[-1][0] if forced else -1
        own = sorted((ranks.of(task, client), ranks.restore_cost(task, client)) for client in {*target.copies(task)} - sent)
        costs += [ranks.restore_cost(task, client) for client in sorted(sent) if ranks.of(task, client)]
        costs += [cost for rank, cost in forced if 0 < rank < last]
        forced_at_last, own_at_last = ([cost for rank, cost in copies if rank == last > 0] for copies in (forced, own))
        costs += own_at_last if len(own_at_last) > len(forced_at_last) else forced_at_last
        costs += [cost for rank, cost in own if rank > last]
    return costs


def find_gap(facts: Facts, values: Mapping[str, Value], known: BestKnown) -> Gap:
    """Return the gap at the first value that differs from the best known.

    A load within the options' tolerance is equal: the tolerance of the bound if the known load is proven, since that load may
    use the tolerance itself, and otherwise of the known load.
    """
    goals = find_plan_goals()
    for best in known.values:
        goal = goals.get(best.name)
        value = values[best.name]
        worse = best.value - value if goal is not None and goal.more_is_better else value - best.value
        least = best.bound if best.name == "load" and best.proven and best.bound is not None else best.value
        if goal is not None and value <= goal.accepted(least, facts) and not goal.more_is_better:
            worse = min(worse, 0.0) if best.name != "load" else 0.0
        if abs(worse) > _EQUAL * max(1.0, abs(best.value)):
            share = worse / abs(best.value) if best.value else None
            return Gap(best.name, value, best.value, is_better=worse < 0, share=share)
    return Gap("", 0, 0, is_better=False, share=0.0)


def score_assignor(state: ApplicationState, known: BestKnown, assignor: str | TaskAssignor, time_limit: float) -> Score:
    """Return the score of an assignor's target.

    An answer without a plan that asks for a follow-up is played on to the end, since such assignors show their target only
    there. Only the rules of targets count, not the other promises of the assignor.

    Args:
        time_limit: seconds of solving; only for an assignor given by name.
    """
    name, instance = name_assignor(assignor), state.application or ""
    try:
        chosen = create(assignor, time_limit=time_limit)
        start = time.perf_counter()
        chosen.configure(state.configs)
        answer = check_type(chosen.assign(state), chosen)
        seconds = answer.seconds_elsewhere or time.perf_counter() - start
        final = answer
        if answer.plan is None and any(client.followup_rebalance_ms is not None for client in answer.clients):
            final = converge(state, chosen).final
    except (Exception, SystemExit) as error:  # an assignor may raise anything; it has no result then
        return Score(instance, name, 0.0, {}, None, f"no answer: {describe_failure(error)}")
    target = extract_target(final)
    fault = find_fault(state, target)
    if fault is not None:
        return Score(instance, name, seconds, {}, None, fault)
    return _score_target(state, target, known, name, seconds)


def score_answer(state: ApplicationState, known: BestKnown, path: Path) -> Score:
    """Return the score of an assignment in a file, made by any program."""
    instance = state.application or ""
    try:
        answer = read_assignment(path)
    except InputError as error:
        return Score(instance, "answers", 0.0, {}, None, f"no answer: {error}")
    target = extract_target(answer)
    fault = find_fault(state, target)
    if fault is not None:
        return Score(instance, answer.assignor, 0.0, {}, None, fault)
    return _score_target(state, target, known, answer.assignor, answer.seconds_elsewhere or 0.0)


def _score_target(state: ApplicationState, target: TaskAssignment, known: BestKnown, name: str, seconds: float) -> Score:
    facts = Facts(state, target)
    values = measure_target(facts)
    gap = find_gap(facts, values, known)
    imbalance = {str(family): found for family, found in measure_imbalance(state, facts.plan).items()}
    return Score(state.application or "", name, seconds, values, gap, imbalance=imbalance)
