"""Copies that are not caught up: goals (b) `restore_work`, (c) `copies_not_caught_up` and (d) `actives_not_caught_up`.

(b) sums the lags of the copies not caught up that the plan wants or this answer forces, each counted once; (c) counts the same
copies. (d) counts planned actives that are not caught up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced, exact_sum
from optassign_models.goals.goal import EvaluatedPlan, ForcedCosts, GoalModel, PairCosts
from optassign_models.problem import IntArray, Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.model import Expression, Variables


def _express_forced_sum(v: Variables, forced: Forced, column_cost: IntArray, tie_cost: IntArray, paid: int) -> Expression:
    """The sum over copies not caught up that a plan wants or that R3 to R5 force in this answer, each copy counted once.

    Copies that are mandatory now are paid already, and so are the first `choices` of a task's cold tied copies: which of the
    tied clients has them makes no difference.

    Args:
        column_cost: (A,) what a copy on the column costs.
        tie_cost: (T,) what a further copy on one of the cold tied clients costs.
        paid: what the answer costs whatever is chosen.
    """
    p = v.problem
    terms = []
    costs: list[int] = []
    each, tie = column_cost.tolist(), tie_cost.tolist()
    for i in np.flatnonzero(p.logged[p.col_task]).tolist():
        priced = not forced.mandatory[i] and not (forced.tied[i] and forced.tie_not_caught_up[p.col_task[i]])
        if priced and each[i]:
            for variable in v.copies([i]):
                terms.append(variable)
                costs.append(each[i])
    for task in np.flatnonzero(forced.tie_not_caught_up).tolist():
        copies = v.copies(i for i in v.columns_of(task) if forced.tied[i])
        if tie[task] and len(copies) > forced.choices[task]:
            beyond = v.model.new_int_var(0, p.standbys + 1, "")
            v.model.add(beyond >= v.total(copies) - int(forced.choices[task]))
            terms.append(beyond)
            costs.append(tie[task])
    return v.weighted(terms, np.array(costs, dtype=np.int64)) + paid


def _sum_restore_work(placed: EvaluatedPlan) -> int:
    cost = placed.problem.cost_of(placed.copy_keys)
    beyond_ties = exact_sum(placed.forced.tie_cost, placed.beyond_ties)
    return placed.forced.forced_work + exact_sum(cost[placed.is_paid_beyond_forced]) + beyond_ties


def _express_restore_work(v: Variables, forced: Forced) -> Expression:
    return _express_forced_sum(v, forced, v.problem.col_cost, forced.tie_cost, forced.forced_work)


def _price_restore_work(problem: Problem) -> PairCosts:
    return PairCosts(problem.col_cost, problem.pool_cost)


def _force_restore_work(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_cost, forced.forced_work)


def _count_copies(placed: EvaluatedPlan) -> int:
    return placed.forced.forced_not_caught_up + int(placed.is_paid_beyond_forced.sum()) + int(placed.beyond_ties.sum())


def _express_copies(v: Variables, forced: Forced) -> Expression:
    is_cold = (v.problem.col_rank > 0).astype(np.int64)
    return _express_forced_sum(v, forced, is_cold, forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up)


def _price_copies(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def _force_copies(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up)


def _count_actives(placed: EvaluatedPlan) -> int:
    problem = placed.problem
    return int(np.sum((problem.rank_of(placed.active_keys) > 0) & problem.logged))


def _express_actives(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    return v.total(v.actives(np.flatnonzero(p.logged[p.col_task] & (p.col_rank > 0)).tolist()))


def _price_actives(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


RESTORE_WORK = GoalModel(
    "restore_work",
    _sum_restore_work,
    _express_restore_work,
    cost_per_copy=_price_restore_work,
    forced_costs=_force_restore_work,
)
COPIES_NOT_CAUGHT_UP = GoalModel(
    "copies_not_caught_up", _count_copies, _express_copies, cost_per_copy=_price_copies, forced_costs=_force_copies
)
ACTIVES_NOT_CAUGHT_UP = GoalModel("actives_not_caught_up", _count_actives, _express_actives, cost_per_active=_price_actives)
GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
