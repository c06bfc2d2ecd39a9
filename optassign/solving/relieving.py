"""Relief of overloaded clients while the plan is on its way (docs/rules.md, "Relief")."""

from __future__ import annotations

from optassign.models.relief import RELIEF, Price, find_relief_options, swap_roles
from optassign.solving.arrays import Arrays
from optassign.solving.case import Case
from optassign.solving.method import Method
from optassign.solving.pace import estimate_to_balance
from optassign.solving.solution import Solution

_LOAD = "load"
"""Where this goal is configured, a task is worth its weight, and numbers of tasks say nothing of load."""


def relieve(arrays: Arrays, case: Case, method: Method, solution: Solution) -> None:
    """Let tasks be active elsewhere for a while, in `solution`, where that lessens excess for long enough to be worth the
    moves."""
    plan, answer = solution.plan, solution.answer
    assert plan is not None
    if _LOAD in method.order.names or not solution.followup or case.target is not case.windows:
        return
    solution.to_balance_ms = estimate_to_balance(case.problem, arrays.pace, solution)
    if solution.to_balance_ms is None:
        return
    price = Price(solution.to_balance_ms // 1000, arrays.relief.stateless, arrays.relief.logged)
    options = find_relief_options(case.problem, plan, answer, price)
    value = options.evaluate(case.windows, price, answer.active)
    bound: int | None = options.bound_moves()
    if value != bound:
        found = method.find_relief(case, options, plan, price)
        if found is None:
            solution.to_balance_ms = None
            return
        active, bound = found
        if options.evaluate(case.windows, price, active) < value:
            solution.answer = swap_roles(answer, active, case.problem.logged, case.problem.C)
            solution.balanced = case.is_balanced(solution.answer)
            solution.bounds["rebalance"] = {}  # those of the goals after this one were of the answer without relief
    if bound is not None:
        solution.bounds.setdefault("rebalance", {})[RELIEF] = bound
