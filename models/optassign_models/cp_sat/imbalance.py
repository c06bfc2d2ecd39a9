"""Imbalance as objectives of the CP-SAT models: how far counts are from their shares, where they may miss them."""

from __future__ import annotations

import numpy as np

from optassign_models.cp_sat.solver import Objective
from optassign_models.cp_sat.variables import Expression, Variables, count_families, total
from optassign_models.problem import LOGGED, STATELESS
from optassign_models.shares import Shares

FAMILIES = ("active_imbalance", "stateful_imbalance", "copies_imbalance", "group_active_imbalance", "group_copies_imbalance")
"""Names of the imbalance of each family of shares, in order: three per client, two per client and subtopology."""


def make_imbalance_objectives(v: Variables, shares: Shares) -> tuple[Objective, ...]:
    """Imbalance of each family: e (e + 1) / 2 at distance e, as the upper envelope of its tangents."""
    objectives = []
    p = v.problem
    sizes = np.bincount(p.group, minlength=p.G)
    per_cell = np.repeat(sizes, p.C).tolist()
    sums = [p.T, int(sizes[p.kind != STATELESS].sum()), int(sizes[p.kind == LOGGED].sum())]
    at_most = [*([number] * p.C for number in sums), per_cell, per_cell]
    for name, counts, share, most in zip(FAMILIES, count_families(v), shares.in_order(), at_most, strict=True):
        costs: list[Expression] = []
        for expression, low, high, number in zip(
            counts, share.low.ravel().tolist(), share.high.ravel().tolist(), most, strict=True
        ):
            if isinstance(expression, int):
                away = max(low - expression, expression - high, 0)
                costs.append(away * (away + 1) // 2)
                continue
            costs.append(_imbalance(v, expression, low, high, number))
        objectives.append(Objective(name, total(costs)))
    return tuple(objectives)


def _imbalance(v: Variables, expression: Expression, low: int, high: int, number: int) -> Expression:
    """`number`: no count is greater."""
    reach = most = max(low, number - high, 0)
    away = v.model.new_int_var(0, most, "")
    v.model.add(away >= expression - high)
    v.model.add(away >= low - expression)
    cost = v.model.new_int_var(0, most * (most + 1) // 2, "")
    for k in range(1, reach + 1):
        v.model.add(cost >= k * away - k * (k - 1) // 2)
    return cost
