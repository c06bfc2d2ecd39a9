"""Places given to tasks, for whole arrays at once: by an auction, or dealt.

*The auction* (Bertsekas, The Auction Algorithm: A Distributed Relaxation Method for the Assignment Problem, 1988) is for places
of different worth. In each round tasks bid for the places that are worth most to them above the price, as much as these are
worth above the next best; then places that have got bids keep the highest of them, as many as there is room for. A place is one
of a client in a *cell*, and a cell belongs to one client: both limit how many pairs they take.

*Dealing* is for places that are all alike. Tasks of greatest need come first, and clients with most places left, as in the
theorem of Gale (1957) and Ryser (1957); pairs that are forbidden or came out twice swap their clients with others.

Both are deterministic: they depend on nothing but their arguments, and limits are numbers of steps, never times.
"""

from __future__ import annotations

import numpy as np

from optassign_models.policy.constants import BID_STEPS, MATCHING_ROUNDS, MISSES, NEAR_PAIRS
from optassign_models.problem import BoolArray, IntArray

_ANY_PRICE = 1 << 40
"""More than any worth, less than that of what must be taken."""
_NO_ROOM = 1 << 61
"""Price of a place that takes no task."""


def rank_within(group: IntArray) -> IntArray:
    """(n,) how many elements of the same group stand before each element."""
    if not len(group):
        return group
    order = np.argsort(group, kind="stable")
    arranged = group[order]
    begins = np.empty(len(group), dtype=np.bool_)
    begins[0] = True
    np.not_equal(arranged[1:], arranged[:-1], out=begins[1:])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return rank


def accept_pairs(order: IntArray, left: IntArray, left_room: IntArray, right: IntArray, right_room: IntArray) -> BoolArray:
    """(n,) the pairs that a greedy choice takes: best first, while both sides of the pair have room.

    This is deferred acceptance (Gale and Shapley, College Admissions and the Stability of Marriage, 1962). In each round the
    left sides propose their best pairs, as many as they have room for, and the right sides keep the best of those. A rejected
    pair is gone for good. Since all agree on the order, the stable matching that this ends with is the one that taking the
    best pair again and again would find.

    Args:
        order: pairs, best first; pairs that are missing are not taken.
        left, right: (n,) sides of each pair.
        left_room, right_room: how many pairs each side may take.
    """
    taken = np.zeros(len(left), dtype=np.bool_)
    for _ in range(MATCHING_ROUNDS):
        proposed = order[rank_within(left[order]) < left_room[left[order]]]
        kept = rank_within(right[proposed]) < right_room[right[proposed]]
        if kept.all():
            break
        gone = np.zeros(len(left), dtype=np.bool_)
        gone[proposed[~kept]] = True
        order = order[~gone[order]]
    taken[proposed[kept]] = True
    return taken


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


def deal_places(tasks: IntArray, need: IntArray, places: IntArray, forbidden: IntArray) -> tuple[IntArray, IntArray]:
    """Gives each task `need` different clients, client c `places[c]` times; ties go to the least task and client.

    Args:
        tasks: (K,) ascending.
        need: (K,) places for each.
        places: (C,) of each client.
        forbidden: keys task × C + client that must not come out, sorted.

    Returns:
        Keys, and the task of each place that could not be dealt.
    """
    C = len(places)
    by_need = np.argsort(-need, kind="stable")
    slot_task = np.repeat(tasks[by_need], need[by_need])
    client = np.repeat(np.arange(C), places)
    left = np.repeat(places, places) - rank_within(client)
    slot_client = client[np.lexsort((client, -left))][: len(slot_task)]
    slot_task, too_many = slot_task[: len(slot_client)], slot_task[len(slot_client) :]
    keys = slot_task * C + slot_client
    wrong = _contains(forbidden, keys)
    order = np.argsort(keys, kind="stable")
    wrong[order[1:][keys[order[1:]] == keys[order[:-1]]]] = True
    if not wrong.any():
        return keys, too_many
    keys, lost = _swap_wrong_pairs(slot_task, slot_client, wrong, forbidden, C)
    return keys, np.concatenate([lost, too_many])


def _contains(sorted_keys: IntArray, keys: IntArray) -> BoolArray:
    """(n,) whether each key is among the sorted ones."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.bool_)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: BoolArray = sorted_keys[at] == keys
    return found


def _swap_wrong_pairs(
    slot_task: IntArray, slot_client: IntArray, wrong: BoolArray, forbidden: IntArray, C: int
) -> tuple[IntArray, IntArray]:
    """Swaps each wrong pair's client with the next pair's where that makes both right.

    Returns:
        Keys of the pairs that are right, and the tasks of the pairs that found no partner.
    """
    client = slot_client.copy()
    keys = slot_task * C + client
    right, open_, misses = set(keys[~wrong].tolist()), wrong.copy(), 0
    for i in np.flatnonzero(wrong).tolist():
        if int(keys[i]) not in right and not _contains(forbidden, keys[i : i + 1])[0]:
            open_[i] = False  # its double has been swapped away
            right.add(int(keys[i]))
            continue
        j = _find_partner(i, slot_task, client, open_, right, forbidden, C) if misses < MISSES else -1
        if j < 0:
            misses += 1
            continue
        right.discard(int(keys[j]))
        client[i], client[j] = client[j], client[i]
        keys[[i, j]] = slot_task[[i, j]] * C + client[[i, j]]
        right.update(keys[[i, j]].tolist())
        open_[i] = False
    return keys[~open_], slot_task[open_]


def _find_partner(
    i: int, task: IntArray, client: IntArray, wrong: BoolArray, right: set[int], forbidden: IntArray, C: int
) -> int:
    """The next pair, neighbours first, that can swap clients with pair i; −1 if there is none."""
    n = len(task)
    for begin, end in ((1, min(NEAR_PAIRS, n)), (min(NEAR_PAIRS, n), n)):
        near = (i + np.arange(begin, end)) % n
        mine, theirs = task[near] * C + client[i], task[i] * C + client[near]
        can = ~wrong[near] & ~_contains(forbidden, mine) & ~_contains(forbidden, theirs)
        for j, one, other in zip(near[can].tolist(), mine[can].tolist(), theirs[can].tolist(), strict=True):
            if one not in right and other not in right:
                return int(j)
    return -1
