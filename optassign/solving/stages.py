"""One rebalance, stage by stage, for any method: rest, second pass, balanced at once, plan, this rebalance, warm-ups.

A method (greedy, cp-sat) says how a balanced assignment, a plan and this rebalance are found; everything that the rules
say about their order, about the remembered answer (R7, R8, R10, R11) and about follow-ups stands here, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from optassign.models.forced import Forced
from optassign.models.problem import IntArray, Placement, Problem
from optassign.models.results import Found, Rebalanced
from optassign.models.values import active_moves
from optassign.models.warmups import PATIENCE, Progress, queue_warmups
from optassign.models.windows import Windows, compute_windows, count_copies
from optassign.solving.arrays import Arrays

T = TypeVar("T")
HELD = "tasks without owner and no memory: owners keep their tasks in this rebalance"
"""The note of an answer that did so."""


class Method(Protocol):
    """How the stages are solved. Problems come prepared: `first` belongs to `problem`."""

    def prepared(self, problem: Problem) -> tuple[Problem, Forced]:
        """The problem with as many pairs written out as the method wants."""
        ...

    def target(self, problem: Problem, windows: Windows) -> Windows:
        """What counts as balanced: the windows, or anything where excess is a cost."""
        ...

    def balanced_now(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """An assignment that keeps R1–R5 and the windows now, with few active moves."""
        ...

    def plan(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """A plan that keeps R1, R2, R4; inside the windows unless `impossible`."""
        ...

    def least_excess(self, problem: Problem, forced: Forced, windows: Windows) -> Placement:
        """Where no plan keeps the windows: one of least excess."""
        ...

    def rebalance(self, problem: Problem, windows: Windows, plan: Placement, *, hold: bool) -> Rebalanced:
        """The answer on the way to a plan; with `hold`, owners that may keep their tasks do."""
        ...

    def goals(self, problem: Problem, forced: Forced, plan: Placement) -> tuple[float, ...]:
        """Values of the plan's goals in their order, for comparing plans."""
        ...

    def configured_optimum_now(self, problem: Problem, forced: Forced, windows: Windows, now: Placement) -> bool:
        """Whether an assignment is at the optimum of goals (a), or of the weighted sum, so that probing may stop."""
        ...


@dataclass(eq=False)
class Solution:
    """An answer in arrays, and how it came about. Bounds: stage → goal → bound."""

    answer: Placement
    plan: Placement | None
    """None: the answer is its own plan."""
    warmups: IntArray
    reason: str
    found_by: str
    bounds: dict[str, dict[str, int]] = field(default_factory=dict)
    proved: set[tuple[str, str]] = field(default_factory=set)
    balanced: bool = True
    stalled: bool = False
    followup: bool = False
    probing: bool = False
    """Confirmed: the follow-up that the remembered answer asked for, if it did, is still wanted (R8)."""
    limited: bool = False
    weighted: tuple[float, float | None] | None = None
    waiting: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Keys of the plan's copies that are not caught up, or wait for their turn; those with a slot first."""
    progress: Progress | None = None
    confirmed: bool = False
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class Clock:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, stage: str, call: Callable[[], T]) -> T:
        """Call, and add its time to a stage."""
        start = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def solve(arrays: Arrays, method: Method) -> Solution:
    """All stages. The answer keeps R1–R6 and R8–R11 if the method keeps its word."""
    clock = Clock()
    problem, forced = clock.run("prepare", lambda: method.prepared(arrays.problem))
    within = clock.run("prepare", lambda: compute_windows(problem))
    target = method.target(problem, within)
    confirmed = _second_pass(arrays, problem, forced, within, target, method)
    if confirmed is not None:
        return confirmed
    solution = clock.run("now", lambda: _at_rest(arrays, problem, forced, target, method))
    if solution is None:
        solution = _solve(arrays, problem, forced, within, target, method, clock)
    solution.seconds = clock.seconds
    return solution


def keeps_r3_to_r5(problem: Problem, forced: Forced, answer: Placement) -> bool:
    """Whether an assignment with the right number of copies keeps R3 and R5."""
    active_keys = np.arange(problem.T) * problem.C + answer.active
    at = problem.find(active_keys)
    pooled = at < 0
    if not forced.pool_leading[pooled].all() or not forced.leading[at[~pooled]].all():
        return False
    keys = answer.copy_keys(problem.C, problem.logged)
    at = problem.find(keys)
    pooled = at < 0
    held = np.zeros(len(problem.col_task), dtype=np.bool_)
    held[at[~pooled]] = True
    allowed = forced.mandatory | forced.tied
    return bool(
        forced.pool_tied[keys[pooled] // problem.C].all() and allowed[at[~pooled]].all() and held[forced.mandatory].all()
    )


def is_balanced(problem: Problem, within: Windows, answer: Placement) -> bool:
    """Whether every count is inside its window."""
    return within.hold(count_copies(problem, answer))


def _second_pass(
    arrays: Arrays, problem: Problem, forced: Forced, within: Windows, target: Windows, method: Method
) -> Solution | None:
    """R10: while tasks are on their way, the remembered answer is confirmed as it is, wherever it still keeps the rules."""
    remembered = arrays.remembered
    if remembered is None or not arrays.same_clients:
        return None
    if not arrays.in_transit.any() and not _held_a_moment_ago(arrays, problem):
        return None
    warmups = arrays.under_way
    if (
        arrays.remembered_plan_lost
        or not keeps_r3_to_r5(problem, forced, remembered)
        or len(warmups) > problem.max_warmups
        or not problem.logged[warmups // problem.C].all()
        or np.isin(warmups, remembered.copy_keys(problem.C, problem.logged)).any()
    ):
        return None
    settled = is_balanced(problem, target, remembered)
    settled = settled and method.configured_optimum_now(problem, forced, target, remembered)
    return Solution(
        answer=remembered,
        plan=None if settled else arrays.remembered_own_plan,
        warmups=_none() if settled else warmups,
        reason="confirmed",
        found_by="remembered",
        balanced=is_balanced(problem, within, remembered),
        followup=problem.lag_unknown,
        probing=not settled,
        confirmed=True,
        progress=arrays.progress,
    )


def _held_a_moment_ago(arrays: Arrays, problem: Problem) -> bool:
    """The last answer held owners back (`HELD`), and no copy that it waits for has come nearer: it stands, once."""
    progress = arrays.progress
    return (
        HELD in arrays.remembered_notes and len(progress.keys) > 0 and not np.any(problem.lag_of(progress.keys) < progress.lag)
    )


def _at_rest(arrays: Arrays, problem: Problem, forced: Forced, target: Windows, method: Method) -> Solution | None:
    """R7: what was assigned before comes back unaltered where nothing is left to wish."""
    previous = arrays.previous
    if previous is None or problem.lag_unknown:
        return None
    held = count_copies(problem, previous)
    if not target.hold(held) or np.any(problem.draining & (held.active + held.copies > 0)):
        return None
    if not keeps_r3_to_r5(problem, forced, previous) or not method.configured_optimum_now(problem, forced, target, previous):
        return None
    bounds = {"now": {"restore_work": forced.forced_work}}
    return Solution(previous, None, _none(), reason="rest", found_by="remembered", bounds=bounds)


def _solve(
    arrays: Arrays, problem: Problem, forced: Forced, within: Windows, target: Windows, method: Method, clock: Clock
) -> Solution:
    own = arrays.problem.remembered_plan
    solution = _at_once(problem, forced, within, target, own, method, clock)
    if solution is not None:
        return solution
    found = clock.run("plan", lambda: method.plan(problem, forced, target))
    notes: list[str] = []
    if found.placement is None:
        rough = clock.run("plan", lambda: method.least_excess(problem, forced, target))
        target = target.widen_to(count_copies(problem, rough))
        notes.append("no balanced assignment was found: the windows are widened by the least excess")
        solution = _at_once(problem, forced, within, target, own, method, clock)
        if solution is not None:
            solution.notes += notes
            return solution
        found = clock.run("plan", lambda: method.plan(problem, forced, target))
        if found.placement is None:
            found = Found(rough, found_by="greedy")
    plan = found.placement
    assert plan is not None
    kept = own is not None and _no_worse(problem, forced, target, own, plan, method)
    if kept:
        assert own is not None
        plan = own
    rebalanced = clock.run("rebalance", lambda: method.rebalance(problem, within, plan, hold=False))
    answer = rebalanced.answer
    if arrays.unconfirmed:
        # Without memory, what the first pass wanted can only be guessed. Were other tasks sent on their way now, a third pass
        # would follow, and a fourth: so owners keep what they may keep, and the next rebalance goes on.
        answer = clock.run("rebalance", lambda: method.rebalance(problem, within, plan, hold=True)).answer
        if not answer.same_as(rebalanced.answer):
            notes.append(HELD)
            # The later bounds hold beside the most copies in their places, and owners are held back from some.
            first_goal = {goal: bound for goal, bound in rebalanced.bounds.items() if goal == "planned_copies"}
            rebalanced = replace(rebalanced, bounds=first_goal)
    solution = Solution(
        answer=answer,
        plan=plan,
        warmups=_none(),
        reason="feasible",
        found_by="remembered" if kept else found.found_by,
        bounds={"plan": found.bounds, "rebalance": rebalanced.bounds},
        proved=set() if kept else {("plan", goal) for goal in found.proved},
        balanced=is_balanced(problem, within, answer),
        limited=found.limited,
        weighted=None if kept else found.weighted,
        notes=notes,
    )
    if is_balanced(problem, target, answer) and method.configured_optimum_now(problem, forced, target, answer):
        # Balanced after all: probing stops, and this is the plan (KIP-441); the proofs were of another.
        solution.plan = None
        solution.bounds, solution.proved = {"now": {"restore_work": forced.forced_work}}, set()
        solution.followup = problem.lag_unknown
        return solution
    clock.run("warmups", lambda: _warm_up(arrays, problem, within, solution))
    return solution


def _at_once(
    problem: Problem,
    forced: Forced,
    within: Windows,
    target: Windows,
    own: Placement | None,
    method: Method,
    clock: Clock,
) -> Solution | None:
    """Balanced in this very rebalance: answer and plan in one; no warm-ups, and no follow-up where all lags are known."""
    found = clock.run("now", lambda: method.balanced_now(problem, forced, target))
    answer = _fewest_moves(problem, forced, target, found.placement, own)
    if answer is None or not method.configured_optimum_now(problem, forced, target, answer):
        return None
    same = found.placement is not None and answer.same_as(found.placement)
    return Solution(
        answer=answer,
        plan=None,
        warmups=_none(),
        reason="feasible",
        found_by=found.found_by if same else "remembered",
        bounds={"now": {"restore_work": forced.forced_work, **found.bounds}},
        balanced=is_balanced(problem, within, answer),
        limited=found.limited,
        followup=problem.lag_unknown,
    )


def _fewest_moves(
    problem: Problem, forced: Forced, within: Windows, found: Placement | None, own: Placement | None
) -> Placement | None:
    """The remembered plan where it is balanced and allowed now, unless the one found moves fewer actives (R11)."""
    if own is None or not is_balanced(problem, within, own) or not keeps_r3_to_r5(problem, forced, own):
        return found
    if found is not None and active_moves(problem, found) < active_moves(problem, own):
        return found
    return own


def _no_worse(problem: Problem, forced: Forced, target: Windows, own: Placement, found: Placement, method: Method) -> bool:
    """R11: the remembered plan stays unless another is better in the first goal that differs."""
    if not is_balanced(problem, target, own):
        return False
    return method.goals(problem, forced, own) <= method.goals(problem, forced, found)


def _warm_up(arrays: Arrays, problem: Problem, within: Windows, solution: Solution) -> None:
    """Slots, what the follow-up waits for, and whether there is one (R6, R8, R11)."""
    plan, answer, C = solution.plan, solution.answer, problem.C
    assert plan is not None
    progress = _updated(arrays, problem)
    line = queue_warmups(problem, within, plan, answer, arrays.under_way, progress)
    solution.warmups = np.sort(line.keys[: line.served])
    held = np.intersect1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    restoring = held[problem.rank_of(held) > 0]
    assigned = np.concatenate([line.keys[: line.served], restoring])
    solution.waiting = np.concatenate([assigned, line.keys[line.served :]])
    idle = progress.idle_of(solution.waiting)
    solution.stalled = bool(len(solution.waiting)) and bool(np.all(idle >= PATIENCE))
    solution.followup = (not answer.same_as(plan) and not solution.stalled) or problem.lag_unknown
    # Kept: what is restored now, to be compared with the next answer, and what has been idle for long and is in the queue.
    keep = np.isin(solution.waiting, assigned) | (idle >= PATIENCE)
    keys = np.sort(solution.waiting[keep])
    solution.progress = Progress(keys, problem.lag_of(keys), progress.idle_of(keys))


def _updated(arrays: Arrays, problem: Problem) -> Progress:
    """The remembered progress, brought up to today's lags: a lag that has not fallen is idle for one answer more."""
    before = arrays.progress
    if not len(before.keys):
        return before
    lag = problem.lag_of(before.keys)
    tried = np.isin(before.keys, arrays.assigned_before)
    fell = lag < before.lag
    caught_up = problem.rank_of(before.keys) == 0
    more = np.minimum(before.idle, PATIENCE) + 1
    idle = np.where(fell | caught_up, 0, np.where(tried, more, before.idle))
    return Progress(before.keys, lag, idle)


def _none() -> IntArray:
    return np.zeros(0, dtype=np.int64)
