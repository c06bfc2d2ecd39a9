"""The goals of a plan as expressions of the CP-SAT model, one function each (docs/rules.md, "The plan").

All are minimised. (a) `rack_traffic`, `tag_spread`, `load` where they are configured; (b) `restore_work`; (c) `cold_copies`;
(d) `cold_actives`; (e) `active_moves`; (f) `standby_moves`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from optassign.models.configured import load_carried
from optassign.models.cp_sat.variables import Expression, Variables, total, weighted
from optassign.models.forced import Forced


def restore_work(v: Variables, forced: Forced) -> Expression:
    """(b): lags of copies of rank > 0 that the plan wants or this answer forces, each counted once."""
    return _beyond_forced(v, forced, v.problem.col_cost.tolist(), forced.tie_cost.tolist(), forced.forced_work)


def cold_copies(v: Variables, forced: Forced) -> Expression:
    """(c): their number."""
    ones = (v.problem.col_rank > 0).astype(np.int64).tolist()
    return _beyond_forced(v, forced, ones, forced.tie_cold.astype(np.int64).tolist(), forced.forced_cold)


def _beyond_forced(v: Variables, forced: Forced, each: list[int], tie: list[int], paid: int) -> Expression:
    """Mandatory copies are paid already, and so are the first `choices` of a task's tied ones."""
    p = v.problem
    terms: list[cp_model.IntVar] = []
    costs: list[int] = []
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
            v.model.add(beyond >= total(copies) - int(forced.choices[task]))
            terms.append(beyond)
            costs.append(tie[task])
    return weighted(terms, np.array(costs, dtype=np.int64)) + paid


def cold_actives(v: Variables, forced: Forced) -> Expression:
    """(d): planned actives that are not caught up."""
    return total(v.actives(np.flatnonzero(v.problem.logged[v.problem.col_task] & (v.problem.col_rank > 0)).tolist()))


def rack_traffic(v: Variables, forced: Forced) -> Expression:
    """(a) pairs of a copy and a partition of its task that has no replica in the client's rack (KIP-925)."""
    p = v.problem
    if p.rack_of is None or p.crossings is None:
        return 0
    each = p.crossings[p.col_task, p.rack_of[p.col_client]].tolist()
    copies = [(variable, each[i]) for i in range(len(each)) if each[i] for variable in v.copies([i])]
    return weighted([variable for variable, _ in copies], np.array([cost for _, cost in copies], dtype=np.int64))


def tag_spread(v: Variables, forced: Forced) -> Expression:
    """(a) distinct tag values among the copies of each logged task, negated: more is better (KIP-708)."""
    p = v.problem
    reached: list[Expression] = []
    for values in p.tags:
        for task in np.flatnonzero(p.logged).tolist():
            columns: dict[int, list[int]] = {}
            for i in v.columns_of(task):
                columns.setdefault(int(values[p.col_client[i]]), []).append(i)
            for value, there in sorted(columns.items()):
                if value >= 0:
                    is_reached = v.model.new_bool_var("")
                    v.model.add(total(v.copies(there)) >= is_reached)
                    reached.append(is_reached)
    return -1 * total(reached)


def load(v: Variables, forced: Forced) -> Expression:
    """(a) the greatest load per thread × capacity, in thousandths of an even spread (KAFKA-4969)."""
    p = v.problem
    if p.load is None:
        return 0
    # What is carried is rounded down, so that the bound stays one; the least peak is above what it stands for by less than 1.
    carried = load_carried(p, p.col_task, p.col_client)
    peak = v.model.new_int_var(0, 1 << 50, "")
    for client in range(p.C):
        columns = np.flatnonzero(p.col_client == client).tolist()
        there = [(variable, carried[i]) for i in columns for variable in v.actives([i])]
        if there:
            load_there = weighted([variable for variable, _ in there], np.array([w for _, w in there], dtype=np.int64))
            v.model.add(load_there <= 1000 * peak)
    return peak


def active_moves(v: Variables, forced: Forced) -> Expression:
    """(e): tasks with a previous owner that are active elsewhere."""
    p = v.problem
    pooled = [variable for task, variable in v.pool_active.items() if p.has_owner[task]]
    return total([*v.actives(np.flatnonzero(p.has_owner[p.col_task] & ~p.col_owner).tolist()), *pooled])


def standby_moves(v: Variables, forced: Forced) -> Expression:
    """(f): standbys on clients that were not the task's standby before."""
    p = v.problem
    return total(v.standbys(np.flatnonzero(p.has_history[p.col_task] & ~p.col_standby).tolist()))


GOALS: dict[str, Callable[[Variables, Forced], Expression]] = {
    "rack_traffic": rack_traffic,
    "tag_spread": tag_spread,
    "load": load,
    "restore_work": restore_work,
    "cold_copies": cold_copies,
    "cold_actives": cold_actives,
    "active_moves": active_moves,
    "standby_moves": standby_moves,
}
