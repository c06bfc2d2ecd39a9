"""Active copies as a min-cost flow: task → (subtopology, client) → logged → stateful → all of a client → sink.

The windows of the actives are laminar (all tasks of a client ⊃ its stateful ones ⊃ those of a subtopology; without standbys the
window of the copies of logged tasks stands between), so the flow is exact, and its optimum proven. Standbys are left out: as
a part of the whole problem this is a relaxation, and its optimum a bound.
"""

from __future__ import annotations

import numpy as np

from optassign.models.flows.network import Network
from optassign.models.pooling import deal_pool
from optassign.models.problem import LOGGED, STATELESS, BoolArray, IntArray, Problem
from optassign.models.results import Actives
from optassign.models.windows import Window, Windows


def find_balanced_actives(
    problem: Problem,
    windows: Windows,
    columns: BoolArray,
    pools: BoolArray,
    goals: tuple[str, ...] = ("cold_actives", "active_moves"),
    prefer: IntArray | None = None,
    last_tie: bool = True,
) -> Actives | None:
    """Actives inside all windows, on the given columns (A,) and pools (T,) only; None where there are none.

    Goals, in order: `cold_actives` (planned actives of rank > 0), `active_moves`; then `prefer` (A,), a cost for each
    column, where given; last, a client keeps its smallest tasks (not needed where only bounds are asked for).
    """
    return _solve(problem, windows, columns, pools, goals, prefer, last_tie, excess=False)


def find_least_excess_actives(problem: Problem, windows: Windows, columns: BoolArray, pools: BoolArray) -> Actives | None:
    """Actives of least excess, summed over the three families of active windows, and among these of fewest moves."""
    return _solve(problem, windows, columns, pools, ("active_moves",), None, True, excess=True)


def _solve(
    problem: Problem,
    windows: Windows,
    columns: BoolArray,
    pools: BoolArray,
    goals: tuple[str, ...],
    prefer: IntArray | None,
    last_tie: bool,
    excess: bool,
) -> Actives | None:
    T, C, G = problem.T, problem.C, problem.G
    if not T:
        return Actives(np.zeros(0, dtype=np.int64), [0] * (len(goals) + excess))
    names = (
        (("active_excess",) if excess else ())
        + goals
        + (("prefer",) if prefer is not None else ())
        + (("tie",) if last_tie else ())
    )
    network = Network(len(names))
    tasks, cells = network.add_nodes(T), network.add_nodes(G * C)
    logged, stateful, clients = network.add_nodes(C), network.add_nodes(C), network.add_nodes(C)
    pool_nodes, sink = network.add_nodes(G), network.add_nodes(1)
    network.add_supply(tasks, 1)
    network.add_supply(sink, -T)

    column = np.flatnonzero(columns)
    task, client = problem.col_task[column], problem.col_client[column]
    moved = problem.has_owner[task] & ~problem.col_owner[column]
    early = T - task
    cost: dict[str, IntArray] = {
        "cold_actives": (problem.col_rank[column] > 0).astype(np.int64),
        "active_moves": moved.astype(np.int64),
        "tie": moved * early,
    }
    if prefer is not None:
        cost["prefer"] = prefer[column]
    on_columns = network.add_arcs(
        tasks[task],
        cells[problem.group[task] * C + client],
        1,
        cost={i: cost[n] for i, n in enumerate(names) if n in cost},
    )

    pooled = np.flatnonzero(pools & (problem.pool_size > 0))
    moved = problem.has_owner[pooled]
    cost = {
        "cold_actives": (problem.pool_rank[pooled] > 0).astype(np.int64),
        "active_moves": moved.astype(np.int64),
        "tie": moved * (T - pooled),
    }
    if prefer is not None:
        cost["prefer"] = np.full(len(pooled), max(0, int(prefer.max(initial=0))), dtype=np.int64)
    network.add_arcs(
        tasks[pooled], pool_nodes[problem.group[pooled]], 1, cost={i: cost[n] for i, n in enumerate(names) if n in cost}
    )
    in_pool = np.bincount(problem.group[pooled], minlength=G)
    used = np.repeat(np.flatnonzero(in_pool), C)
    at = np.tile(np.arange(C), int(np.sum(in_pool > 0)))
    from_pool = network.add_arcs(pool_nodes[used], cells[used * C + at], in_pool[used])

    reach = (np.bincount(problem.group[task] * C + client, minlength=G * C) + np.repeat(in_pool, C)).reshape(G, C)
    level = np.stack([clients, stateful, logged])[problem.kind]
    none = np.zeros(C, dtype=np.int64)
    in_logged = windows.copies if not problem.standbys and not excess else Window(none, np.full(C, T))
    for tails, ends, window, most in (
        (cells, level.ravel(), _flat(windows.group_active), reach.ravel()),
        (logged, stateful, in_logged, reach[problem.kind == LOGGED].sum(axis=0)),
        (stateful, clients, windows.stateful, reach[problem.kind != STATELESS].sum(axis=0)),
        (clients, np.broadcast_to(sink, (C,)), windows.active, reach.sum(axis=0)),
    ):
        if excess:
            _add_soft_window(network, tails, ends, window, most)
        else:
            network.add_arcs(tails, ends, np.minimum(window.high, T), low=window.low)

    result = network.solve()
    if result is None:
        return None
    active = np.full(T, -1, dtype=np.int64)
    on = result.flow[on_columns] > 0
    active[task[on]] = client[on]
    places = np.zeros((G, C), dtype=np.int64)
    places[used, at] = result.flow[from_pool]
    bounds = result.bounds[: len(goals) + excess]
    if excess:
        bounds[0] += _excess_of_nothing(windows)
    return Actives(_deal_actives(problem, active, places), bounds)


def _flat(window: Window) -> Window:
    return Window(window.low.ravel(), window.high.ravel())


def _excess_of_nothing(windows: Windows) -> int:
    """The soft windows' costs start from zero tasks everywhere: this is the excess there."""
    lows = (windows.active.low, windows.stateful.low, windows.group_active.low)
    return sum(int(np.sum(low * (low + 1) // 2)) for low in lows)


def _add_soft_window(network: Network, tails: IntArray, heads: IntArray, window: Window, most: IntArray) -> None:
    """Parallel arcs of rising cost: −low, …, −1 up to the window, 0 inside, 1, 2, … beyond it."""
    below = np.minimum(window.low, most)
    inside = np.minimum(window.high, most) - below
    beyond = most - below - inside
    rows = np.repeat(np.arange(len(tails)), below)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(below) - below, below)
    network.add_arcs(tails[rows], heads[rows], 1, cost={0: step - window.low[rows]})
    some = np.flatnonzero(inside)
    network.add_arcs(tails[some], heads[some], inside[some])
    rows = np.repeat(np.arange(len(tails)), beyond)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(beyond) - beyond, beyond)
    network.add_arcs(tails[rows], heads[rows], 1, cost={0: step + 1})


def _deal_actives(problem: Problem, active: IntArray, places: IntArray) -> IntArray | None:
    """Tasks that took their pool get its places; a client with a column of a logged task is not in that task's pool."""
    active = active.copy()
    waiting = np.flatnonzero(active < 0)
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = waiting[problem.group[waiting] == group]
        forbidden = {}
        if problem.logged[tasks[0]]:
            for task in tasks.tolist():
                columns = slice(problem.col_start[task], problem.col_start[task + 1])
                forbidden[task] = set(problem.col_client[columns].tolist())
        keys = deal_pool(tasks, np.ones(len(tasks), dtype=np.int64), places[group], forbidden, problem.C)
        if keys is None:
            return None
        pairs = np.array(keys, dtype=np.int64)
        active[pairs // problem.C] = pairs % problem.C
    return active
