"""This rebalance, given the plan: goals (i) to (iv) task by task, then one flow for (v).

R3 to R5 and goals (i) to (iv) concern each task alone, so the optimum of one task has a closed form:

* tied places go to clients of the plan first, in any role there: this maximises the copies on target (i) and minimises the
  restore work off target (ii);
* the choice of the active among the most caught-up clients does not affect (i) and (ii). It is the planned active if
  possible, otherwise an owner, otherwise any of these clients.

All actives that this leaves open are equal in (i) to (iv), so one flow over them minimises (v).

Temporary offload, which precedes these goals, has tasks active on clients with room for a while (docs/reference/rules.md,
"Temporary offload").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.goals.goal import PairCosts, find_active_moves, price_active_moves
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.policy.constants import OFF_S
from optassign_models.problem import (
    BoolArray,
    IntArray,
    Placement,
    Problem,
    exact_sum,
    find_sorted,
    make_placement,
    prepare,
    rank_within,
)
from optassign_models.results import Found, FoundBy
from optassign_models.shares import ShareFamilies

REBALANCE_GOALS = ("copies_on_target", "restore_work_off_target", "actives_on_target", "active_moves", "active_imbalance")
"""Goals (i) to (v) in their order."""
COPIES_ON_TARGET, RESTORE_WORK_OFF_TARGET, ACTIVES_ON_TARGET, ACTIVE_MOVES, ACTIVE_IMBALANCE = REBALANCE_GOALS

OFFLOAD = "offload"

ChooseActives = Callable[[Problem, ShareFamilies, BoolArray], tuple[IntArray, int | None]]
"""Returns the actives (T,), each on one of the columns (A,), and a bound of their imbalance; with None no goal has a bound."""


def rebalance(
    problem: Problem, shares: ShareFamilies, plan: Placement, choose: ChooseActives, hold: bool | BoolArray = False
) -> Found:
    """Return the answer that keeps R1–R5 and is best in goals (i) to (v).

    `choose` picks among the actives left open. `hold`: whether owners keep their tasks where R3 permits; (T,) or one for all.
    """
    C, T = problem.C, problem.T
    standby_keys = plan.standby_keys(C)
    problem = prepare(problem.with_columns(np.concatenate([np.arange(T) * C + plan.active, standby_keys])))
    forced = problem.forced
    planned_active = plan.active[problem.col_task] == problem.col_client
    planned_standby = find_sorted(standby_keys, problem.col_keys) >= 0

    # (i) and (ii) do not depend on the active. Either all leading clients must hold copies anyway, or all copies are on tied
    # clients. Then at most s of these are of the plan, unless its active is one, so an active off target takes a free place.
    open_actives = _narrow(problem, forced.leading, forced.leading & problem.col_owner)
    open_actives = _narrow(problem, open_actives, forced.leading & planned_active)
    is_held = np.broadcast_to(hold, T)[problem.col_task]
    open_actives = _narrow(problem, open_actives, problem.col_owner & forced.leading & is_held)
    active, least_imbalance = choose(problem, shares, open_actives)
    active_column = np.zeros(len(problem.col_task), dtype=np.bool_)
    active_column[problem.find(np.arange(T) * C + active)] = True

    slots = forced.choices.copy()
    np.subtract.at(slots, problem.col_task[active_column & forced.tied], 1)
    taken = _best_tied(problem, forced.tied & ~active_column, slots, planned_active, planned_standby)
    np.subtract.at(slots, problem.col_task[taken], 1)
    keys = problem.col_keys[(taken | (forced.mandatory & ~active_column)) & problem.logged[problem.col_task]]
    keys = np.concatenate([keys, _from_pools(problem, slots, active, keys)])
    answer = make_placement(active, keys, C)
    assert len(answer.standby_task) == problem.standbys * int(problem.logged.sum())
    if least_imbalance is None:
        return Found(answer, found_by=FoundBy.GREEDY)
    bounds = {**rebalance_values(problem, answer, plan), ACTIVE_IMBALANCE: least_imbalance}
    if not _ties_cost_alike(problem):
        # (ii) then depends on the choice of the active, which the open actives ignore.
        bounds = {COPIES_ON_TARGET: bounds[COPIES_ON_TARGET]}
    return Found(answer, bounds=bounds)


def rebalance_values(problem: Problem, answer: Placement, plan: Placement) -> dict[str, int]:
    """Return goal → value of an answer, for goals (i) to (iv)."""
    C, unlogged = problem.C, ~problem.logged
    mine, planned = answer.copy_keys(C, problem.logged), plan.copy_keys(C, problem.logged)
    led_by_plan = answer.active == plan.active
    return {
        COPIES_ON_TARGET: len(np.intersect1d(mine, planned, assume_unique=True)) + int(np.sum(led_by_plan & unlogged)),
        RESTORE_WORK_OFF_TARGET: exact_sum(problem.cost_of(np.setdiff1d(mine, planned, assume_unique=True))),
        ACTIVES_ON_TARGET: int(np.sum(led_by_plan)),
        ACTIVE_MOVES: int(find_active_moves(problem, answer.active).sum()),
    }


def _narrow(problem: Problem, actives: BoolArray, better: BoolArray) -> BoolArray:
    """Return (A,) the columns of `better` for tasks that have any there, and those of `actives` for other tasks."""
    has_better = np.bincount(problem.col_task[better], minlength=problem.T) > 0
    return better | (actives & ~has_better[problem.col_task])


def _ties_cost_alike(problem: Problem) -> bool:
    """Return whether all tied clients of each task cost the same.

    They do, except for lags of 1 or 2 next to unknown lags (problem.py).
    """
    forced = problem.forced
    on_columns = problem.col_cost[forced.tied] == forced.tie_cost[problem.col_task[forced.tied]]
    in_pools = problem.pool_cost[forced.pool_tied] == forced.tie_cost[forced.pool_tied]
    return bool(on_columns.all() and in_pools.all())


def _best_tied(
    problem: Problem, tied: BoolArray, slots: IntArray, planned_active: BoolArray, planned_standby: BoolArray
) -> BoolArray:
    """Return (A,) whether a tied column gets one of its task's `slots` (T,); columns of the plan come first."""
    at = np.flatnonzero(tied)
    wanted = np.where(planned_standby[at], 0, np.where(planned_active[at], 1, 2))
    # Of equally wanted clients, a draining one comes last for a copy that it did not have.
    is_new = problem.draining[problem.col_client[at]] & ~problem.col_standby[at] & ~problem.col_owner[at]
    ties = (each[at] for each in (problem.col_client, problem.col_lag, ~problem.col_standby, problem.col_cost))
    order = at[np.lexsort((*ties, is_new, wanted, problem.col_task[at]))]
    task = problem.col_task[order]
    taken = np.zeros(len(tied), dtype=np.bool_)
    taken[order[rank_within(task) < slots[task]]] = True
    return taken


def _from_pools(problem: Problem, slots: IntArray, active: IntArray, keys: IntArray) -> IntArray:
    """Return keys of copies for slots (T,) that no column fills, on clients of the pool, those with fewest copies first.

    Such slots are rare, since plans fill their ties first.
    """
    C = problem.C
    load = np.bincount(keys % C, minlength=C) + np.bincount(active[problem.logged], minlength=C)
    given: list[int] = []
    for task in np.flatnonzero(slots > 0).tolist():
        pool = np.setdiff1d(np.arange(C), problem.col_client[problem.col_start[task] : problem.col_start[task + 1]])
        picked = pool[np.lexsort((load[pool], problem.draining[pool]))[: slots[task]]]
        load[picked] += 1
        given.extend((task * C + picked).tolist())
    return np.array(given, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OffloadOptions:
    """The clients on which each task may be active during offload, and the costs in seconds."""

    problem: Problem
    """With a column for each pair that differs from its pool."""
    shares: ShareFamilies
    excess_cost: int
    """The cost of an active task beyond its client's share: the time to balance, for which it is likely to stay."""
    columns: BoolArray
    """(A,) whether the task may be active on the column's client."""
    pools: BoolArray
    """(T,) whether the task may be active on any client of its pool; only for stateless tasks."""
    cost: PairCosts
    """Prices of extra moves, which the plan does not need."""
    start: IntArray
    """(T,) actives without offload."""
    planned: IntArray
    """(T,) actives of the plan."""

    def evaluate(self, active: IntArray) -> int:
        """Return the cost of actives (T,), seconds: of each active beyond a share, and of each extra move."""
        return self.excess_cost * self.shares.count_too_many(active) + int(self.price(active).sum())

    def price(self, active: IntArray) -> IntArray:
        """Return (T,) the prices of the extra moves of actives (T,), seconds."""
        return self.problem.look_up(np.arange(self.problem.T) * self.problem.C + active, self.cost.columns, self.cost.pools)

    def bound_moves(self) -> int:
        """Return the least total price of moves of any permitted actives, seconds."""
        least = np.where(self.pools, self.cost.pools, np.iinfo(np.int64).max)
        column = np.flatnonzero(self.columns)
        np.minimum.at(least, self.problem.col_task[column], self.cost.columns[column])
        return int(least.sum())


def find_offload_options(
    problem: Problem, shares: ShareFamilies, plan: Placement, answer: Placement, excess_cost: int, prices: tuple[int, int]
) -> OffloadOptions:
    """Return the options of offload for an answer without offload.

    If offload of logged tasks is on and a client has too many, actives that return to their target clients may stay.

    Args:
        excess_cost: the cost of an active task beyond its client's share, seconds.
        prices: the prices of an extra move of a stateless and of a logged task, seconds.
    """
    C, standby_keys = problem.C, answer.standby_keys(problem.C)
    here, planned = (np.arange(problem.T) * C + active for active in (answer.active, plan.active))
    problem = prepare(problem.with_columns(np.concatenate([here, planned, standby_keys])))
    stateless = ~problem.stateful
    stays = problem.col_keys == here[problem.col_task]
    may_stay = prices[1] < OFF_S and shares.count_too_many(answer.active) > 0
    goes_home = may_stay & (here == planned)
    columns = stays | stateless[problem.col_task] | _find_swaps(problem, standby_keys, here, goes_home)

    moves, is_off_target = price_active_moves(problem), problem.col_keys != planned[problem.col_task]
    needed, each = find_active_moves(problem, plan.active), np.where(stateless, *prices)
    on_columns = (moves.columns + is_off_target - needed[problem.col_task]) * each[problem.col_task]
    cost = PairCosts(on_columns, (moves.pools + 1 - needed) * each)
    return OffloadOptions(problem, shares, excess_cost, columns, stateless, cost, answer.active, plan.active)


def _find_swaps(problem: Problem, standby_keys: IntArray, here: IntArray, goes_home: BoolArray) -> BoolArray:
    """Return (A,) whether the column is a caught-up standby that may become active.

    It may if the task's owner is active in the answer and caught up. An owner may stay active if its task is on its way to a
    caught-up target client (`goes_home`, (T,)).
    """
    ready = problem.forced.leading & (problem.col_rank == 0)
    runs = problem.logged & problem.flag_of(here, problem.col_owner & ready)
    stays = problem.logged & goes_home & problem.flag_of(here, ready)
    may_lead = runs[problem.col_task] | (stays[problem.col_task] & problem.col_owner)
    return (find_sorted(standby_keys, problem.col_keys) >= 0) & ready & may_lead


def swap_roles(answer: Placement, active: IntArray, logged: BoolArray, clients: int) -> Placement:
    """Return the answer with other actives (T,). The former active of a logged task becomes a standby in exchange."""
    tasks = np.flatnonzero(logged & (active != answer.active))
    others = np.setdiff1d(answer.standby_keys(clients), tasks * clients + active[tasks], assume_unique=True)
    return make_placement(active, np.append(others, tasks * clients + answer.active[tasks]), clients)


def restrict_offload(options: OffloadOptions, limits: Sequence[PlacementLimit]) -> OffloadOptions:
    """Return the options without places that a limit excludes.

    Logged tasks only exchange roles, so only pins concern them. A stateless task under another limit stays, as the flow does
    not count copies by limit.
    """
    problem = options.problem
    columns, pools = options.columns.copy(), options.pools.copy()
    stays = problem.col_client == options.start[problem.col_task]
    for limit in limits:
        tasks = limit.weight > 0 if limit.kind is Kind.MOST else limit.tasks
        barred = ~limit.clients[problem.col_client] if limit.kind is Kind.PIN else options.pools[problem.col_task]
        columns &= ~(tasks[problem.col_task] & barred) | stays
        pools &= ~tasks
    return replace(options, columns=columns, pools=pools)


def find_greedy_offload(options: OffloadOptions) -> tuple[IntArray, None]:
    """Return actives (T,) that cost no more than those without offload, chosen without a solver, and None: no bound is proven.

    Tasks go from clients with too many to those with room, the cheapest moves first:

    1. stateless tasks back to owners, which is no extra move;
    2. stateless tasks to the clients with most room;
    3. logged tasks to caught-up standbys.
    """
    problem, start = options.problem, options.start
    active, paid = start.copy(), options.price(start)
    room = options.shares.active.high - np.bincount(active, minlength=problem.C)
    stateless = options.pools[problem.col_task]
    back, swaps = np.flatnonzero(options.columns & stateless & problem.col_owner), np.flatnonzero(options.columns & ~stateless)
    pooled = np.flatnonzero(options.pools)[::-1]
    to_pools = pooled, np.full_like(pooled, -1), options.cost.pools[pooled]
    to_owners, to_standbys = ((problem.col_task[at], problem.col_client[at], options.cost.columns[at]) for at in (back, swaps))
    for task, client, cost in (to_owners, to_pools, to_standbys):
        extra = cost - paid[task]
        for k in np.lexsort((room[active[task]], extra)).tolist():
            t, c = int(task[k]), int(client[k]) if client[k] >= 0 else int(np.argmax(room))
            if extra[k] < options.excess_cost and room[active[t]] < 0 < room[c] and active[t] == start[t]:
                room[active[t]] += 1
                room[c] -= 1
                active[t] = c
    return active, None
