"""Greedy."""
from __future__ import annotations
import numpy as np
from .first import First
from .problem import LOGGED, IntArray, Placement, Problem, placement
from .windows import Windows, count
from .greedy_copies import Prices, greedy_copies
from .greedy_actives import Options, owners, relieved, ideal, keep_owners, loose_actives, settled, spread, excess_of

def greedy_plan(problem: Problem, first: First, windows: Windows, trace=None) -> Placement:
    import time
    t0=time.time()
    C, T = problem.C, problem.T
    logged = np.flatnonzero(problem.logged)
    prices = Prices.of(problem, first)
    column_logged = problem.logged[problem.col_task]
    pools = problem.logged & (problem.pool_size > 0)
    keys, lost = greedy_copies(problem, first, windows, prices, must=np.zeros(len(column_logged), dtype=np.bool_), allowed=column_logged, pools=pools, effort=500_000)
    assert not len(lost)
    t1=time.time()
    p = problem.with_columns(keys)
    columns = np.zeros(len(p.col_task), dtype=np.bool_)
    columns[p.find(keys)] = True
    columns |= ~p.logged[p.col_task] & p.col_owner
    cost = np.where(p.logged[p.col_task] & (p.col_rank > 0), 1 << 28, 0) + np.where(p.has_owner[p.col_task] & ~p.col_owner, (1 << 20) + (T - p.col_task) * (1 << 19) // T, 0) + np.where(p.col_standby & ~p.col_owner, 1<<18, 0)
    pool_cost = np.where(p.has_owner, (1 << 20) + (T - np.arange(T)) * (1 << 19) // T, 0)
    options = Options(columns, ~p.logged, cost, pool_cost)
    t2=time.time()
    active = owners(p, options)
    t3=time.time()
    active = spread(p, windows, options, active)
    t35=time.time()
    active = relieved(p, options, active, windows.group_active, [ideal(p)], [np.zeros(C, dtype=np.int64)], 40)
    t4=time.time()
    active = loose_actives(p, windows, active)
    t5=time.time()
    e0=excess_of(windows,p,active)
    active = settled(p, windows, options, active, None, 30, 500_000)
    t6=time.time()
    if trace is not None:
        trace.update(e0=e0,e1=excess_of(windows,p,active),copies=round(t1-t0,3),options=round(t2-t1,3),keep=round(t3-t2,3),spread=round(t35-t3,3),relieved=round(t4-t35,3),loose=round(t5-t4,3),settled=round(t6-t5,3))
    return placement(active, np.setdiff1d(keys, logged * C + active[logged]), C)
