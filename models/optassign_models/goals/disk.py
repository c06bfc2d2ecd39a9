"""Goal (a), `disk`: the greatest state on a client, active copies and standbys alike, in thousandths of an even spread.

A copy's state is rounded down to a millionth of an even spread, the greatest sum up to a thousandth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced, exact_sum
from optassign_models.goals.goal import EvaluatedPlan, GoalModel
from optassign_models.problem import IntArray, Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.model import Expression, Variables


def list_sizes(p: Problem) -> IntArray:
    """(T,) what a copy of each task adds to a client's state, in millionths of an even spread over the clients that stay."""
    staying = p.C if p.draining.all() else int(np.sum(~p.draining))
    size = np.where(p.logged, p.end, 0)
    total = max(1, exact_sum(size, np.ones(p.T, dtype=np.int64)) * (p.standbys + 1))
    return np.array([each * 1_000_000 * staying // total for each in size.tolist()], dtype=np.int64)


def _value(placed: EvaluatedPlan) -> int:
    p = placed.problem
    size, keys = list_sizes(p), placed.copy_keys
    return int(-(-np.bincount(keys % p.C, weights=size[keys // p.C], minlength=p.C).max() // 1000))


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    size = list_sizes(p)[p.col_task]
    peak = v.model.new_int_var(0, 1 << 50, "")
    for client in range(p.C):
        columns = np.flatnonzero((p.col_client == client) & (size > 0)).tolist()
        there = [(variable, int(size[i])) for i in columns for variable in v.copies([i])]
        if there:
            kept = v.weighted([variable for variable, _ in there], np.array([each for _, each in there], dtype=np.int64))
            v.model.add(kept <= 1000 * peak)
    return peak


DISK = GoalModel("disk", _value, _express, starts_from_hint=False)
GOALS = (DISK,)
