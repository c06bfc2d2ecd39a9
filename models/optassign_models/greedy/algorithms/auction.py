"""An auction of places (Bertsekas, The Auction Algorithm: A Distributed Relaxation Method for the Assignment Problem, 1988).

Each round has two steps:

1. Tasks bid for the places that are worth most to them above the price, as much as these are worth above the next best.
2. Places that have got bids keep the highest of them, as many as there is room for.

A place is one of a client in a *cell*, and a cell belongs to one client: both limit how many pairs they take.
"""

from __future__ import annotations

import numpy as np

from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.policy.constants import BID_STEPS, MATCHING_ROUNDS
from optassign_models.problem import BoolArray, IntArray

_ANY_PRICE = 1 << 40
"""More than any worth, less than that of what must be taken."""
_NO_ROOM = 1 << 61
"""Price of a place that takes no task."""


def auction_pairs(
    worth: IntArray,
    task: IntArray,
    quota: int,
    least: IntArray,
    cell: IntArray,
    cell_room: IntArray,
    client: IntArray,
    client_room: IntArray,
) -> BoolArray:
    """(n,) pairs of nearly greatest worth: at most `quota` for each task, and what cells and clients have room for.

    Args:
        worth: (n,) > 0, of each pair (task, place).
        quota: pairs that a task may have.
        task, cell, client: (n,) of each pair.
        least: (T,) pairs that the task should have at any price.
        cell_room, client_room: pairs that a cell or client takes.
    """
    taken, bid = np.zeros(len(worth), dtype=np.bool_), np.zeros(len(worth), dtype=np.int64)
    if not len(worth):
        return taken
    cells, cell = np.unique(cell, return_inverse=True)
    cell_room = cell_room[cells]
    step = 1 + int(np.mean(np.minimum(worth, _ANY_PRICE // 4))) // BID_STEPS
    for _ in range(MATCHING_ROUNDS):
        prices = np.maximum(
            _compute_prices(bid, taken, cell, cell_room)[cell], _compute_prices(bid, taken, client, client_room)[client]
        )
        bidding, bids = _make_bids(worth, worth - prices, task, taken, quota, least, step)
        if not len(bidding):
            break
        bid[bidding] = bids
        taken[bidding] = True
        _keep_highest(taken, bid, bidding, cell, cell_room, client, client_room)
    return taken


def _compute_prices(bid: IntArray, taken: BoolArray, place: IntArray, room: IntArray) -> IntArray:
    """(places,) what a new bid must pass: the least bid of a place that is full, nothing elsewhere.

    place: (n,) cell or client of each pair; room: (places,) pairs that each takes.
    """
    least = np.full(len(room), np.iinfo(np.int64).max)
    np.minimum.at(least, place[taken], bid[taken])
    full = np.bincount(place[taken], minlength=len(room)) >= room
    least[~full] = 0
    return np.where(room > 0, least, _NO_ROOM)


def _make_bids(
    worth: IntArray, value: IntArray, task: IntArray, taken: BoolArray, quota: int, least: IntArray, step: int
) -> tuple[IntArray, IntArray]:
    """The pairs that bid in this round, and their bids.

    value: (n,) what each pair is worth above its price.
    """
    held = np.bincount(task[taken], minlength=len(least))
    urgent, free = np.maximum(least - held, 0), quota - held
    may_bid = ~taken & (free > 0)[task] & (value > np.where(urgent > 0, -_ANY_PRICE, 0)[task])
    pairs = np.flatnonzero(may_bid)
    pairs = pairs[np.lexsort((-value[pairs], task[pairs]))]
    of_task, value = task[pairs], value[pairs]
    place, wanted = rank_within(of_task), value > 0
    # A task that lacks pairs it should have pays any price for them, but no more than an alternative costs.
    number = np.bincount(of_task[wanted & (place < free[of_task])], minlength=len(least))
    hurry = number <= urgent
    slots = np.where(hurry, urgent, free)[of_task]
    next_best = np.where(hurry, -_ANY_PRICE, 0)
    following = place == slots
    next_best[of_task[following]] = np.maximum(value[following], next_best[of_task[following]])
    bids = (place < slots) & (wanted | hurry[of_task])
    pairs, of_task = pairs[bids], of_task[bids]
    highest = worth[pairs] + np.where(hurry[of_task], _ANY_PRICE, 0)
    return pairs, np.minimum(worth[pairs] - next_best[of_task] + step, highest)


def _keep_highest(
    taken: BoolArray,
    bid: IntArray,
    bidding: IntArray,
    cell: IntArray,
    cell_room: IntArray,
    client: IntArray,
    client_room: IntArray,
) -> None:
    """In place: of the pairs on clients that have got new bids, the highest are taken, as many as there is room for."""
    touched = np.zeros(len(client_room), dtype=np.bool_)
    touched[client[bidding]] = True
    rivals = np.flatnonzero(taken & touched[client])
    taken[rivals] = False
    rivals = rivals[np.argsort(-bid[rivals], kind="stable")]
    rivals = rivals[rank_within(cell[rivals]) < cell_room[cell[rivals]]]
    taken[rivals[rank_within(client[rivals]) < client_room[client[rivals]]]] = True
