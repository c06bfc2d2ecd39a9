"""Goals in any order under a greatest load: one CP-SAT model of all pairs of task and client, for groups that are small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from optassign_models.cp_sat.model import Variables
from optassign_models.cp_sat.plan import make_placement_model, minimise
from optassign_models.cp_sat.solver import Objective, coarsen_costs
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.goals import GoalModel
from optassign_models.load.loads import LoadArrays
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import Placement, Problem
from optassign_models.results import Found

_GRAIN = 10**7
"""Weights are rounded up to this part of the greatest room."""


def solve_under_load(
    problem: Problem,
    forced: Forced,
    loads: LoadArrays,
    most: float,
    goals: Sequence[GoalModel],
    deadline: Deadline,
    work: float,
    start: Placement,
    require: Callable[[Variables], None] | None = None,
) -> Found:
    """The best plan with loads up to `most`, goal after goal; never worse than `start`, which has all pairs as columns.

    require: adds further constraints, which `start` may break.
    """
    problem, forced, resolution = coarsen_costs(problem, forced)
    v = make_placement_model(problem)
    _require_load(v, loads, most, start)
    if require is not None:
        require(v)
    objectives = tuple(Objective(goal.name, goal.express(v, forced), goal.starts_from_hint) for goal in goals)
    planned = minimise(v, objectives, deadline, work, start, None)
    # Rounded costs prove nothing about the offsets, nor about what comes after them.
    return planned if resolution == 1 else replace(planned, bounds={}, proved=frozenset())


def _require_load(v: Variables, loads: LoadArrays, most: float, start: Placement) -> None:
    """Loads up to `most`, and a task for each thread wherever the start has one; what the start has is allowed."""
    p = v.problem
    room = loads.measure_room(most)
    grain = max(float(room.max()), 1e-9) / _GRAIN
    weight = np.ceil(loads.weigh_pairs(p.col_task, p.col_client) / grain).astype(np.int64)
    fits = loads.fits_thread(p.col_task, p.col_client, most) & (loads.size[p.col_client] > 0)
    is_start = start.active[p.col_task] == p.col_client
    has = np.bincount(p.col_client[is_start], weights=weight[is_start], minlength=p.C)
    beside = np.zeros(len(p.col_task), dtype=np.int64)
    had = np.zeros(len(p.col_task), dtype=np.bool_)
    if loads.standby is not None:
        beside = np.ceil(loads.standby[p.col_task] * (loads.size[p.col_client] > 0) / grain).astype(np.int64)
        had = np.isin(p.col_keys, start.standby_keys(p.C))
        has = has + np.bincount(p.col_client[had], weights=beside[had], minlength=p.C)
        drains = (loads.size[p.col_client] == 0) & p.logged[p.col_task] & ~had
        bears = loads.standby[p.col_task] <= most * loads.capacity[p.col_client] * (1 + ROUNDING)
        for variable in v.standbys(np.flatnonzero(drains | ~(bears | had)).tolist()):
            v.model.add(variable == 0)
    number = np.bincount(start.active, minlength=p.C)
    for client in range(p.C):
        columns = np.flatnonzero(p.col_client == client)
        for i in columns[~(fits | is_start)[columns]].tolist():
            for variable in v.actives([i]):
                v.model.add(variable == 0)
        actives = [(variable, int(weight[i])) for i in columns.tolist() for variable in v.actives([i])]
        there = actives + [(variable, int(beside[i])) for i in columns.tolist() if beside[i] for variable in v.standbys([i])]
        if not there:
            continue
        load = v.weighted([variable for variable, _ in there], np.array([w for _, w in there], dtype=np.int64))
        v.model.add(load <= int(max(np.floor(room[client] / grain), has[client])))
        least = min(int(number[client]), int(loads.least_number[client]))
        if least:
            v.model.add(v.total([variable for variable, _ in actives]) >= least)
