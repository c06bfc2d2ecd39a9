"""Actives by price under a greatest load: at home while there is room, what is too much shed at least cost, and dealt.

1. Every task is on its cheapest client; tasks that cost the same on all are dealt, longest first, and evened out.
2. Clients that carry too much shed their cheapest tasks that are heavy enough together, each to a client with room, by its
   price there; tasks that fit on no client stay. Most loaded clients come first, again and again.
3. If this does not go on, tasks are traded regardless of their price, from the most loaded client on.
4. Moves without a price even out the rest.

In this very rebalance only clients that R3 lets lead are open, and a move is the price (`find_leading_actives`).
"""

from __future__ import annotations

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.default_order import ACTIVE_MOVES
from optassign_models.load.dealing import Copies, deal, even_out
from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.load.prices import NOT_ALLOWED, Prices, make_prices
from optassign_models.policy.constants import EVEN_LOAD, PLACING_ROUNDS, ROUNDING
from optassign_models.problem import BoolArray, IntArray, Problem
from optassign_models.results import Actives
from optassign_models.shares import ShareFamilies


def place_actives(
    loads: LoadArrays, prices: Prices, level: float, start: IntArray | None = None, *, at_any_price: bool = True
) -> IntArray:
    """Return (T,) actives of little price with loads up to `level`, or beyond where that was not found.

    `start`: actives to begin from, −1 for tasks that are still to be placed; each at its cheapest client if None.
    `at_any_price`: trade for a level that is not reached otherwise, whatever it costs.
    """
    search, copies = _Search(loads, prices, level), Copies.of_actives(loads)
    search.begin(search.find_homes() if start is None else start)
    search.shed_all()
    search.fill_idle()
    if at_any_price and loads.greatest(search.active) > level * (1 + ROUNDING):
        search.begin(even_out(copies, search.active, np.ones(loads.T, dtype=np.bool_), level))
        search.return_home()
        search.fill_idle()
    return even_out(copies, search.active, search.is_free(), EVEN_LOAD)


class _Search:
    """Actives, changed in place, and what their clients carry."""

    def __init__(self, loads: LoadArrays, prices: Prices, level: float) -> None:
        self._loads, self._prices, self._level = loads, prices, level
        self._start = prices.start
        self._room = loads.measure_room(level)
        self.active = np.full(loads.T, -1, dtype=np.int64)
        self._sums: FloatArray = np.zeros(loads.C)
        self._on: list[set[int]] = []

    def begin(self, active: IntArray) -> None:
        """Take up actives (T,); tasks without one (−1) are dealt and evened out."""
        is_missing = active < 0
        if is_missing.any():
            copies = Copies.of_actives(self._loads)
            active = even_out(copies, deal(copies, active), is_missing, self._level)
        self.active = active.copy()
        self._sums = self._loads.sum_up(active)
        self._on = [set() for _ in range(self._loads.C)]
        for task, client in enumerate(active.tolist()):
            self._on[client].add(task)

    def find_homes(self) -> IntArray:
        """(T,) each task's cheapest client among its columns, if threads bear it; −1 where none is cheaper than others."""
        prices, loads = self._prices, self._loads
        home = np.full(loads.T, -1, dtype=np.int64)
        fits = loads.is_oversized[prices.task] | loads.fits_thread(prices.task, prices.client, self._level)
        order = np.flatnonzero(fits & (prices.column < prices.pool[prices.task]))
        order = order[np.lexsort((prices.client[order], prices.column[order], prices.task[order]))]
        task, first = np.unique(prices.task[order], return_index=True)
        home[task] = prices.client[order[first]]
        oversized = np.flatnonzero(loads.is_oversized & (home >= 0))
        taken = np.zeros(loads.C, dtype=np.int64)
        for t in oversized.tolist():  # one on a thread
            taken[home[t]] += 1
            if taken[home[t]] > loads.threads[home[t]] or loads.capacity[home[t]] < loads.oversized_weight * (1 - ROUNDING):
                taken[home[t]] -= 1
                home[t] = -1
        return home

    def price_of(self, task: int, client: int) -> int:
        """Price of the task's active copy on the client."""
        own = slice(self._start[task], self._start[task + 1])
        at = np.flatnonzero(self._prices.client[own] == client)
        return int(self._prices.column[own][at[0]]) if len(at) else int(self._prices.pool[task])

    def is_free(self) -> BoolArray:
        """Return (T,) tasks that are where any client without a column is as cheap."""
        prices = self._prices
        free: BoolArray = np.ones(self._loads.T, dtype=np.bool_)
        here = self.active[prices.task] == prices.client
        free[prices.task[here & (prices.column != prices.pool[prices.task])]] = False
        # It may also go where it has a column, which must not cost more.
        free[prices.task[prices.column > prices.pool[prices.task]]] = False
        return free & ~self._loads.is_oversized

    def shed_all(self) -> None:
        """Let overloaded clients shed tasks, the most loaded first, until no client is overloaded or can shed."""
        for _ in range(PLACING_ROUNDS):
            over = np.flatnonzero(self._sums > self._room)
            if not len(over):
                return
            changed = False
            for client in over[np.argsort(-self._sums[over] / self._loads.size[over], kind="stable")].tolist():
                changed |= self._shed(client)
            if not changed:
                return

    def _shed(self, client: int) -> bool:
        """Move the cheapest tasks that weigh enough away from the client; return whether any was moved."""
        loads = self._loads
        tasks = np.array(sorted(t for t in self._on[client] if not loads.is_oversized[t]), dtype=np.int64)
        may_give = len(self._on[client]) - int(loads.least_number[client])
        if not len(tasks) or may_give <= 0:
            return False
        left = self._room - self._sums
        left[client] = -np.inf
        found = [self._find_place(task, client, left) for task in tasks.tolist()]
        there = np.array([price for price, _ in found], dtype=np.int64)
        more: IntArray = there - np.array([self.price_of(t, client) for t in tasks.tolist()], dtype=np.int64)
        open_ = np.flatnonzero(there < NOT_ALLOWED)
        need = float(self._sums[client] - self._room[client])
        leaving = tasks[open_][_cover_cheaply(loads.weight[tasks[open_]], more[open_], need)]
        moved = 0
        for task in leaving[np.argsort(-loads.weight[leaving], kind="stable")].tolist():
            if moved == may_give:
                break
            price, place = self._find_place(task, client, left)
            if price < NOT_ALLOWED:
                self._move(task, place)
                left[place] -= loads.weight[task]
                moved += 1
        return moved > 0

    def _find_place(self, task: int, client: int, left: FloatArray) -> tuple[int, int]:
        """Return the cheapest other client with room for the task, of equals the fullest; price NOT_ALLOWED where none has."""
        loads, prices = self._loads, self._prices
        weight = loads.weight[task]
        own = slice(self._start[task], self._start[task + 1])
        others, price = prices.client[own], prices.column[own]
        fits = (left[others] >= weight) & (others != client) & (weight <= self._level * loads.capacity[others] * (1 + ROUNDING))
        best, place = NOT_ALLOWED, -1
        if fits.any():
            at = int(np.argmin(np.where(fits, price, NOT_ALLOWED)))
            best, place = int(price[at]), int(others[at])
        if prices.pool[task] < best:
            room = np.where((left >= weight) & (loads.capacity * self._level * (1 + ROUNDING) >= weight), left, np.inf)
            room[others] = np.inf
            at = int(np.argmin(room))
            if np.isfinite(room[at]):
                best, place = int(prices.pool[task]), at
        return best, place

    def fill_idle(self) -> None:
        """Move the cheapest tasks to clients with idle threads and room, from clients that can spare one."""
        loads = self._loads
        number = np.array([len(tasks) for tasks in self._on], dtype=np.int64)
        for client in np.flatnonzero(number < loads.least_number).tolist():
            while number[client] < loads.least_number[client]:
                spare = np.flatnonzero((number > loads.least_number)[self.active] & ~loads.is_oversized)
                room = self._room[client] - self._sums[client]
                spare = spare[loads.weight[spare] <= min(room, self._level * loads.capacity[client])]
                if not len(spare):
                    break
                more = [self.price_of(t, client) - self.price_of(t, int(self.active[t])) for t in spare.tolist()]
                task = int(spare[np.argmin(more)])
                if min(more) >= NOT_ALLOWED // 2:
                    break
                number[self.active[task]] -= 1
                number[client] += 1
                self._move(task, client)

    def _move(self, task: int, client: int) -> None:
        here, weight = int(self.active[task]), self._loads.weight[task]
        self._on[here].discard(task)
        self._on[client].add(task)
        self._sums[here] -= weight
        self._sums[client] += weight
        self.active[task] = client

    def return_home(self) -> None:
        """Return tasks to cheaper clients that have room, the dearest first."""
        prices, loads = self._prices, self._loads
        now = np.array([self.price_of(t, c) for t, c in enumerate(self.active.tolist())], dtype=np.int64)
        away = np.flatnonzero((now > prices.base) & ~loads.is_oversized)
        for task in away[np.argsort(prices.base[away] - now[away], kind="stable")].tolist():
            here = int(self.active[task])
            if len(self._on[here]) <= loads.least_number[here]:
                continue
            price, place = self._find_place(task, here, self._room - self._sums)
            if price < now[task]:
                self._move(task, place)


def _cover_cheaply(weight: FloatArray, price: IntArray, need: float) -> IntArray:
    """Return items (k,) of little price that weigh `need` together; all of (n,) if they weigh less.

    Step by step the cheapest for what it covers of the rest; then the superfluous ones are left out, the dearest first.
    """
    chosen: list[int] = []
    worth, rest = np.maximum(price, 0).astype(np.float64), need
    while rest > 0 and len(chosen) < len(weight):
        at = int(np.argmin(worth / np.maximum(np.minimum(weight, rest), 1e-12)))
        chosen.append(at)
        worth[at] = np.inf
        rest -= float(weight[at])
    for item in sorted(chosen, key=lambda at: (-int(price[at]), at)):
        if weight[item] <= -rest:
            chosen.remove(item)
            rest += float(weight[item])
    return np.array(sorted(chosen), dtype=np.int64)


def find_leading_actives(problem: Problem, forced: Forced, loads: LoadArrays, most: float) -> IntArray | None:
    """Return (T,) actives that R3 allows now, with loads up to `most` and few moves; None where none were found."""
    moved = ACTIVE_MOVES.cost_per_active
    assert moved is not None
    costs = moved(problem)
    column = np.where(forced.leading, costs.columns, NOT_ALLOWED)
    pool = np.where(forced.pool_leading, costs.pools, NOT_ALLOWED)
    prices = make_prices(problem, loads, column, pool)
    if np.any(prices.base >= NOT_ALLOWED):
        return None
    active = place_actives(loads, prices, most, at_any_price=False)
    if loads.greatest(active) > most * (1 + ROUNDING):
        return None
    at = problem.find(np.arange(problem.T) * problem.C + active)
    allowed = np.where(
        at >= 0, forced.leading[np.maximum(at, 0)] if len(at) and len(forced.leading) else False, forced.pool_leading
    )
    return active if allowed.all() else None


def choose_least_loaded(
    loads: LoadArrays, problem: Problem, shares: ShareFamilies, columns: BoolArray, pools: BoolArray
) -> Actives | None:
    """For each task one of its columns, on the least loaded client if there are several; the heaviest choose first.

    Only the columns in `columns` (A,) are used. None where a task has none of them; `pools` (T,) are not used.
    """
    number = np.bincount(problem.col_task[columns], minlength=problem.T)
    if np.any(number == 0):
        return None
    active = np.full(problem.T, -1, dtype=np.int64)
    single = columns & (number[problem.col_task] == 1)
    active[problem.col_task[single]] = problem.col_client[single]
    sums = loads.sum_up(active)
    size = np.where(loads.size > 0, loads.size, 1e-9)
    several = np.flatnonzero(number > 1)
    chosen = np.flatnonzero(columns)
    start = np.searchsorted(problem.col_task[chosen], np.arange(problem.T + 1))
    for task in several[np.lexsort((several, -loads.weight[several]))].tolist():
        clients = problem.col_client[chosen[start[task] : start[task + 1]]]
        carried = loads.weigh_pairs(np.full(len(clients), task), clients)
        at = int(np.argmin((sums[clients] + carried) / size[clients]))
        active[task] = clients[at]
        sums[clients[at]] += carried[at]
    return Actives(active, [])
