"""The constraints of the CP-SAT models, one function each: R1 to R5, the pools, the shares (docs/reference/rules.md).

The imbalance of a family of shares is an objective instead, where shares do not bind.
"""

from __future__ import annotations

import numpy as np

from optassign_models.cp_sat.solver import Objective
from optassign_models.cp_sat.variables import Expression, Variables, count_families, total
from optassign_models.forced import Forced
from optassign_models.problem import LOGGED, STATELESS
from optassign_models.shares import Shares


def require_one_active(v: Variables) -> None:
    """R1: every task is active exactly once."""
    for task in range(v.problem.T):
        terms: list[Expression] = [*v.actives(v.columns_of(task))]
        if task in v.pool_active:
            terms.append(v.pool_active[task])
        v.model.add(total(terms) == 1)


def require_one_copy_per_client(v: Variables) -> None:
    """R2: no client holds two copies of a task."""
    for a, b in zip(v.active, v.standby, strict=True):
        if a is not None and b is not None:
            v.model.add_at_most_one([a, b])


def require_standby_number(v: Variables) -> None:
    """R4: a logged task has exactly `standbys` standbys."""
    if v.problem.standbys:
        for task in np.flatnonzero(v.problem.logged).tolist():
            v.model.add(total(v.standbys(v.columns_of(task))) == v.problem.standbys)


def require_pools_to_add_up(v: Variables) -> None:
    """Tasks' copies in a pool equal clients' copies of it."""
    by_group: dict[int, list[int]] = {}
    for task in v.pool_active:
        by_group.setdefault(int(v.problem.group[task]), []).append(task)
    for group, tasks in by_group.items():
        taken = total(v.pool_active[t] for t in tasks)
        v.model.add(taken == total(v.place_active[group, c] for c in range(v.problem.C)))


def require_shares(v: Variables, shares: Shares) -> None:
    """Balanced: every count of the five families inside its share."""
    for counts, share in zip(count_families(v), shares.in_order(), strict=True):
        for expression, low, high in zip(counts, share.low.ravel().tolist(), share.high.ravel().tolist(), strict=True):
            if isinstance(expression, int):
                if not low <= expression <= high:
                    v.model.add_bool_or([])  # nothing can be here, though something must
            else:
                v.model.add_linear_constraint(expression, low, high)


def require_actives_on_most_caught_up(v: Variables, forced: Forced) -> None:
    """R3."""
    for variable, leads in zip(v.active, forced.leading.tolist(), strict=True):
        if variable is not None and not leads:
            v.model.add(variable == 0)


def require_standbys_on_next_most_caught_up(v: Variables, forced: Forced) -> None:
    """R5: mandatory columns hold a copy, and besides them only tied ones."""
    logged = v.problem.logged[v.problem.col_task]
    for i in np.flatnonzero(logged).tolist():
        if forced.mandatory[i]:
            v.model.add(total(v.copies([i])) == 1)
        elif not forced.tied[i]:
            v.model.add(total(v.copies([i])) == 0)


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
