"""Sums over the copies not caught up that a plan wants or that R3 to R5 force in this answer, each copy counted once.

Goals (b) and (c) are such sums: of restore costs, and of ones. Copies that are mandatory now are paid already, and so are the
first `choices` of a task's cold tied copies: which of the tied clients has them makes no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.problem import IntArray

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def express_forced_sum(v: Variables, forced: Forced, column_cost: IntArray, tie_cost: IntArray, paid: int) -> Expression:
    """The sum as a CP-SAT expression.

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
        priced = not forced.mandatory[i] and not (forced.tied[i] and forced.tie_cold[p.col_task[i]])
        if priced and each[i]:
            for variable in v.copies([i]):
                terms.append(variable)
                costs.append(each[i])
    for task in np.flatnonzero(forced.tie_cold).tolist():
        copies = v.copies(i for i in v.columns_of(task) if forced.tied[i])
        if tie[task] and len(copies) > forced.choices[task]:
            beyond = v.model.new_int_var(0, p.standbys + 1, "")
            v.model.add(beyond >= v.total(copies) - int(forced.choices[task]))
            terms.append(beyond)
            costs.append(tie[task])
    return v.weighted(terms, np.array(costs, dtype=np.int64)) + paid
