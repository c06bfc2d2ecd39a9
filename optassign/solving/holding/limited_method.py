"""A method that keeps an operator's limits: what another method finds, where that keeps them; else what does.

Limits bind the plan, and the answer that is its own plan. On the way R3 to R5 decide where copies are. What cannot hold
together gives way in this order: the windows, then the limits, the last named first; R1, R2 and R4 never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from optassign.models.forced import Forced
from optassign.models.limits.conflicts import choose_compatible, find_conflict
from optassign.models.limits.limit import Kind, PlacementLimit, list_broken
from optassign.models.limits.mending import mend
from optassign.models.problem import BoolArray, IntArray, Placement, Problem
from optassign.models.relief import Price, ReliefOptions
from optassign.models.results import Found, FoundBy, Rebalanced
from optassign.models.windows import Windows
from optassign.solving.case import Case
from optassign.solving.holding.limits import Limits
from optassign.solving.methods.method import Method


class LimitedMethod(Method):
    """Another method, and limits. Without a solver: limits give way that single moves do not lead to."""

    def __init__(self, inner: Method, limits: Limits) -> None:
        super().__init__(inner.order)
        self.inner, self._limits = inner, limits
        self.kept: Sequence[PlacementLimit] = limits.placements
        self._given_way: dict[str, str] = {}
        self._any_plan: Placement | None = None

    def make_case(self, problem: Problem) -> Case:
        """As the other method has it; what limits can hold together is found out here."""
        case = self.inner.make_case(problem)
        self._settle(case)
        return case

    def write_out_pairs(self, problem: Problem) -> tuple[Problem, Forced]:
        """As the other method does."""
        return self.inner.write_out_pairs(problem)

    def demand(self, problem: Problem, windows: Windows) -> Windows:
        """As the other method does."""
        return self.inner.demand(problem, windows)

    def find_balanced_now(self, case: Case) -> Found:
        """What the other method finds, where it keeps the limits; else the plan decides."""
        found = self.inner.find_balanced_now(case)
        return found if found.placement is None or self._keeps(case, found.placement) else Found(None)

    def find_plan(self, case: Case) -> Found:
        """The other method's plan, where it keeps the limits: it is then the best that does."""
        found = self.inner.find_plan(case)
        if found.placement is None or not list_broken(self.kept, found.placement):
            return found
        mended = mend(case.problem, case.target, self.kept, found.placement)
        start = mended if not list_broken(self.kept, mended) and case.reaches_target(mended) else None
        solved = self.solve_plan(case, start)
        if solved.placement is not None or solved.impossible:
            return solved
        return Found(start, found_by=FoundBy.GREEDY)

    def find_least_excess(self, case: Case) -> Placement:
        """Of the placements that keep the limits, one of little excess."""
        return mend(case.problem, case.target, self.kept, self.inner.find_least_excess(case))

    def has_no_more_excess(self, case: Case, own: Placement, found: Placement) -> bool:
        """As the other method, for a plan that keeps the limits where the new one does."""
        if len(list_broken(self.kept, own)) > len(list_broken(self.kept, found)):
            return False
        return self.inner.has_no_more_excess(case, own, found)

    def solve_plan(self, case: Case, start: Placement | None) -> Found:
        """The best plan that keeps the limits; nothing where there is no solver. `start`: one that keeps them, if known."""
        return Found(None)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit]) -> bool:
        """Whether a placement was found that keeps some limits, or may be found later."""
        if self._any_plan is None:
            self._any_plan = self.inner.find_least_excess(case)
        return not list_broken(limits, mend(case.problem, case.target, limits, self._any_plan))

    def find_rebalance(self, case: Case, plan: Placement, *, hold: bool | BoolArray) -> Rebalanced:
        """The other method's, of whose moves as many are made as are allowed; those that R3 forces are."""
        found = self.inner.find_rebalance(case, plan, hold=hold)
        most = self._limits.most_moves
        if most is None:
            return found
        moved, free = _find_moves(case, found.answer)
        if int(moved.sum()) <= most:
            return found
        tasks = np.flatnonzero(free)
        # First what leaves a client that drains, then what is planned there, then in order.
        leaves = ~_is_owned_by(case.problem, case.problem.draining)[tasks]
        order = tasks[np.lexsort((tasks, plan.active[tasks] != found.answer.active[tasks], leaves))]
        held = np.broadcast_to(hold, case.problem.T).copy()
        held[order[max(0, most - int((moved & ~free).sum())) :]] = True
        return replace(self.inner.find_rebalance(case, plan, hold=held), bounds={})

    def find_relief(
        self, case: Case, options: ReliefOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """The other method's, among the options that the limits leave."""
        found = self.inner.find_relief(case, self._restrict_relief(options), plan, price)
        most = self._limits.most_moves
        if found is None or most is None:
            return found
        # What R3 forces may be beyond the limit already: temporary offload adds nothing to it.
        allowed = max(most, int(_find_moved(case.problem, options.start).sum()))
        return found if int(_find_moved(case.problem, found[0]).sum()) <= allowed else (options.start, None)

    def _restrict_relief(self, options: ReliefOptions) -> ReliefOptions:
        """The options without places where a limit does not want the task.

        Logged tasks change roles, so only pins speak of them. A stateless task that a limit speaks of stays where it is, as the
        flow does not count copies by limit.
        """
        problem = options.problem
        columns, pools = options.columns.copy(), options.pools.copy()
        stays = problem.col_client == options.start[problem.col_task]
        for limit in self.kept:
            if limit.kind is Kind.PIN:
                barred = limit.tasks[problem.col_task] & ~limit.clients[problem.col_client]
                tasks = limit.tasks
            else:
                tasks = limit.tasks if limit.weight is None or limit.kind is Kind.FORBID else limit.weight > 0
                barred = tasks[problem.col_task] & options.pools[problem.col_task]
            columns &= ~barred | stays
            pools &= ~tasks
        return replace(options, columns=columns, pools=pools)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """As the other method does."""
        return self.inner.evaluate_plan(case, plan)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As the other method, for a plan that keeps the limits where the new one does."""
        if len(list_broken(self.kept, own)) > len(list_broken(self.kept, found)):
            return False
        return self.inner.keeps_remembered(case, own, found)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether it keeps the limits, and the other method wants no better."""
        return self._keeps(case, now) and self.inner.is_configured_optimum(case, now)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int]:
        """As the other method, whose bounds limits can only make worse to reach."""
        return self.inner.bound_configured(case, now)

    def is_not_worth_moving(self, case: Case, previous: Placement) -> bool:
        """As the other method, of what keeps the limits."""
        return self._keeps(case, previous) and self.inner.is_not_worth_moving(case, previous)

    def find_unserved(self, problem: Problem) -> Mapping[str, str]:
        """As the other method."""
        return self.inner.find_unserved(problem)

    def write_notes(self, problem: Problem) -> list[str]:
        """As the other method."""
        self.limited |= self.inner.limited
        return self.inner.write_notes(problem)

    def find_given_way(self) -> Mapping[str, str]:
        """Limits that cannot hold, and why."""
        return self._given_way

    def _keeps(self, case: Case, answer: Placement) -> bool:
        if list_broken(self.kept, answer):
            return False
        if self._limits.most_moves is None:
            return True
        moved, free = _find_moves(case, answer)
        return int(moved.sum()) <= self._limits.most_moves or not free.any()

    def _settle(self, case: Case) -> None:
        """Which limits hold, and why the others cannot."""
        problem = case.problem
        if not self._limits.placements or not problem.T:
            return
        is_possible = partial(self.can_hold, case)
        self.kept = choose_compatible(self._limits.placements, is_possible)
        kept = set(map(id, self.kept))
        words = self._limits.words or {}
        for limit in self._limits.placements:
            if id(limit) in kept:
                continue
            conflict = find_conflict([*self.kept, limit], is_possible)
            others = [words[other.name] for other in conflict if other is not limit]
            self._given_way[limit.name] = (
                f"it cannot hold together with {' and '.join(others)}" if others else "no placement of all tasks can keep it"
            )


def _find_moves(case: Case, answer: Placement) -> tuple[BoolArray, BoolArray]:
    """(T,) owned tasks that become active on none of their owners, and of these the ones that an owner may keep."""
    problem = case.problem
    moved = _find_moved(problem, answer.active)
    may = np.bincount(problem.col_task[problem.col_owner & case.forced.leading], minlength=problem.T) > 0
    return moved, moved & may


def _find_moved(problem: Problem, active: IntArray) -> BoolArray:
    """(T,) owned tasks that become active (T,) on none of their owners."""
    keys = np.arange(problem.T) * problem.C + active
    return problem.has_owner & ~problem.flag_of(keys, problem.col_owner)


def _is_owned_by(problem: Problem, clients: BoolArray) -> BoolArray:
    """(T,) tasks that one of the clients owns."""
    return np.bincount(problem.col_task[problem.col_owner & clients[problem.col_client]], minlength=problem.T) > 0
