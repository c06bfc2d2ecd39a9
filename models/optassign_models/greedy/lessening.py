"""Actives moved one by one from clients above their shares to clients below, where no exchange is possible.

Each turn: the change of imbalance and of cost of every move is computed, and as many of the best moves as do not hinder each
other are made at once. It ends when no move lessens the imbalance, or keeps it and saves cost.
"""

from __future__ import annotations

import numpy as np

from optassign_models.greedy.active_options import ActiveOptions
from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.policy.greedy import LESSENING_TURNS
from optassign_models.problem import STATELESS, BoolArray, IntArray, Problem
from optassign_models.shares import Shares, count_actives


def lessen_imbalance(problem: Problem, shares: Shares, options: ActiveOptions, active: IntArray) -> IntArray:
    """(T,) the actives after moves of single tasks that lessen the imbalance, or keep it and save cost, until there are
    none."""
    active = active.copy()
    column = np.flatnonzero(options.columns)
    number = np.bincount(problem.col_task[column], minlength=problem.T)
    column = column[number[problem.col_task[column]] > 1]  # a task of one column has no choice
    task, client, cost = problem.col_task[column], problem.col_client[column], options.cost[column]
    own = np.zeros(problem.T, dtype=np.int64)
    for _ in range(LESSENING_TURNS):
        here, source = active[task] == client, active[task]
        own[task[here]] = cost[here]
        change = _compute_changes(problem, shares, active, task, client)
        move = np.flatnonzero(~here & ((change < 0) | ((change == 0) & (cost < own[task]))))
        if not len(move):
            break
        move = move[np.lexsort(((cost - own[task])[move], change[move]))]
        move = _choose_together(problem.C, move, source, client, change)
        active[task[move]] = client[move]
    return active


def _compute_changes(problem: Problem, shares: Shares, active: IntArray, task: IntArray, client: IntArray) -> IntArray:
    """(n,) by how much the imbalance changes if a task moves from where it is active to the client of the pair."""
    counts, source, group = count_actives(problem, active), active[task], problem.group[task]
    share, count = shares.group_active, counts.group_active
    change = share.next_imbalance(count)[group, client] - share.next_imbalance(count - 1)[group, source]
    stateful: BoolArray = (problem.kind != STATELESS)[group]
    for share, count, counted in (
        (shares.stateful, counts.stateful, stateful),
        (shares.active, counts.active, np.ones_like(stateful)),
    ):
        change += counted * (share.next_imbalance(count)[client] - share.next_imbalance(count - 1)[source])
    return change


def _choose_together(C: int, move: IntArray, source: IntArray, client: IntArray, change: IntArray) -> IntArray:
    """The moves, of those given best first, that can be made at once.

    Each move makes the next one between the same clients less worth: by one on each side of up to three shares.
    """
    gives, takes = np.ones(C, dtype=np.int64), np.ones(C, dtype=np.int64)
    np.maximum.at(gives, source[move], -change[move] // 8)
    np.maximum.at(takes, client[move], -change[move] // 8)
    moving = rank_within(source[move]) < gives[source[move]]
    moving[moving] = rank_within(client[move[moving]]) < takes[client[move[moving]]]
    # A client that both gave and took would be counted wrong; the first move always goes.
    giver = np.zeros(C, dtype=np.bool_)
    giver[source[move[moving]]] = True
    moving &= ~giver[client[move]]
    return move[moving] if moving.any() else move[:1]
