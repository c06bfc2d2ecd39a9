"""Relief without a solver: one task after the other, the one that gains most, as long as one gains."""

from __future__ import annotations

import numpy as np

from optassign.models.problem import IntArray
from optassign.models.relief import Price, ReliefOptions
from optassign.models.windows import Windows


def find_greedy_relief(options: ReliefOptions, windows: Windows, price: Price) -> IntArray:
    """Actives (T,) of a lower value, from those without relief."""
    problem, cost = options.problem, options.cost
    T, C, window = problem.T, problem.C, windows.active
    active = options.start.copy()
    count = np.bincount(active, minlength=C)
    at = problem.find(np.arange(T) * C + active)
    paid = np.where(at >= 0, cost.columns[np.maximum(at, 0)] if len(cost.columns) else 0, cost.pools)
    column, pooled = np.flatnonzero(options.columns), np.flatnonzero(options.pools)
    for _ in range(int(np.maximum(count - window.high, 0).sum()) + T):
        leaving, coming = (count > window.high).astype(np.int64), -(count >= window.high).astype(np.int64)
        emptiest = int(np.lexsort((np.arange(C), count - window.low))[0])
        task = np.concatenate([problem.col_task[column], pooled])
        to = np.concatenate([problem.col_client[column], np.full(len(pooled), emptiest)])
        price_there = np.concatenate([cost.columns[column], cost.pools[pooled]])
        at = problem.find(pooled * C + emptiest)
        has_column = np.flatnonzero(at >= 0) + len(column)
        price_there[has_column] = cost.columns[at[at >= 0]]
        gain = price.excess * (leaving[active[task]] + coming[to]) - (price_there - paid[task])
        gain[to == active[task]] = 0
        if not len(gain) or gain.max() <= 0:
            break
        best = int(np.lexsort((to, -task, -(count[active[task]] - window.high[active[task]]), -gain))[0])
        t, c = int(task[best]), int(to[best])
        count[active[t]] -= 1
        count[c] += 1
        active[t], paid[t] = c, price_there[best]
    return active
