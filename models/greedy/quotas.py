"""Tools of the greedy methods: choosing in order while quotas last, auctioning and dealing out places.

All of them work on whole arrays and depend on nothing but their arguments.
"""

from __future__ import annotations

import numpy as np

from optassign.models.problem import BoolArray, IntArray

_BIDDINGS = 60
"""Rounds of an auction; what is not decided then stays open."""
_STEPS = 40
"""Steps from nothing to the mean worth in which bids rise: fewer end sooner, more come nearer to the optimum."""
_ANY_PRICE = 1 << 40
"""More than any worth, less than that of what must be taken."""
_NEAR = 256
"""Pairs that are looked at first for a swap."""
_MISSES = 64
"""Pairs that found no swap, after which no more swaps are looked for."""


def rank_within(group: IntArray) -> IntArray:
    """(n,) how many elements of the same group stand before each element."""
    if not len(group):
        return group
    order = np.argsort(group, kind="stable")
    arranged = group[order]
    first = np.empty(len(group), dtype=np.bool_)
    first[0] = True
    np.not_equal(arranged[1:], arranged[:-1], out=first[1:])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    return rank


def accept_pairs(order: IntArray, left: IntArray, left_room: IntArray, right: IntArray, right_room: IntArray) -> BoolArray:
    """(n,) the pairs that a greedy choice takes: best first, while both sides of the pair have room.

    Where all agree on the order, this is deferred acceptance: the left sides propose their best pairs, the right sides keep
    the best of those, and what they turn down is gone for good.

    Args:
        order: pairs, best first; pairs that are missing are not taken.
        left, right: (n,) sides of each pair.
        left_room, right_room: how many pairs each side may take.
    """
    taken = np.zeros(len(left), dtype=np.bool_)
    for _ in range(_BIDDINGS):
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

    An auction (Bertsekas): tasks bid for their best places what these are worth to them above the next best, a place that is
    full goes to the highest bids. A pair is a place of a client in a cell, and a cell belongs to one client.

    Args:
        worth: (n,) > 0.
        quota: pairs that a task may have.
        task, cell, client: (n,) of each pair.
        least: (T,) pairs that the task should have at any price.
        cell_room, client_room: pairs that a cell or client takes.
    """
    n, tasks = len(worth), len(least)
    taken, bid = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
    if not n:
        return taken
    cells, cell = np.unique(cell, return_inverse=True)
    cell_room = cell_room[cells]
    step = 1 + int(np.mean(np.minimum(worth, _ANY_PRICE // 4))) // _STEPS
    for _ in range(_BIDDINGS):
        held = np.bincount(task[taken], minlength=tasks)
        urgent, free = np.maximum(least - held, 0), quota - held
        some = np.flatnonzero(~taken & (free > 0)[task])
        floor = np.maximum(
            _floor(bid, taken, cell, cell_room)[cell[some]], _floor(bid, taken, client, client_room)[client[some]]
        )
        value = worth[some] - floor
        can = value > np.where(urgent > 0, -_ANY_PRICE, 0)[task[some]]
        some, value = some[can], value[can]
        if not len(some):
            break
        order = np.lexsort((-value, task[some]))
        some, value = some[order], value[order]
        place, wanted = rank_within(task[some]), value > 0
        # A task that lacks pairs it should have pays any price for them, but no more than an alternative costs.
        number = np.bincount(task[some[wanted & (place < free[task[some]])]], minlength=tasks)
        hurry = number <= urgent
        slots = np.where(hurry, urgent, free)[task[some]]
        next_best = np.where(hurry, -_ANY_PRICE, 0)
        following = place == slots
        next_best[task[some[following]]] = np.maximum(value[following], next_best[task[some[following]]])
        bidding = (place < slots) & (wanted | hurry[task[some]])
        some = some[bidding]
        limit = worth[some] + np.where(hurry[task[some]], _ANY_PRICE, 0)
        bid[some] = np.minimum(worth[some] - next_best[task[some]] + step, limit)
        touched = np.zeros(len(client_room), dtype=np.bool_)
        touched[client[some]] = True
        taken[some] = True
        rivals = np.flatnonzero(taken & touched[client])
        taken[rivals] = False
        rivals = rivals[np.argsort(-bid[rivals], kind="stable")]
        rivals = rivals[rank_within(cell[rivals]) < cell_room[cell[rivals]]]
        taken[rivals[rank_within(client[rivals]) < client_room[client[rivals]]]] = True
    return taken


def _floor(bid: IntArray, taken: BoolArray, place: IntArray, room: IntArray) -> IntArray:
    """What a new bid must pass: the least bid of a full place, nothing elsewhere."""
    least = np.full(len(room), np.iinfo(np.int64).max)
    np.minimum.at(least, place[taken], bid[taken])
    full = np.bincount(place[taken], minlength=len(room)) >= room
    least[~full] = 0
    return np.where(room > 0, least, 1 << 61)


def deal_places(tasks: IntArray, need: IntArray, places: IntArray, forbidden: IntArray) -> tuple[IntArray, IntArray]:
    """Gives each task `need` different clients, client c `places[c]` times; ties go to the least task and client.

    Clients with most places left come first, as in Gale and Ryser's proof; pairs that must not be are swapped with others.

    Args:
        tasks: (K,) ascending.
        need: (K,) places for each.
        places: (C,)
        forbidden: keys task × C + client that must not come out, sorted.

    Returns:
        Keys, and the tasks of the places that could not be given out.
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
    keys, lost = _swapped(slot_task, slot_client, wrong, forbidden, C)
    return keys, np.concatenate([lost, too_many])


def _contains(sorted_keys: IntArray, keys: IntArray) -> BoolArray:
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.bool_)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: BoolArray = sorted_keys[at] == keys
    return found


def _swapped(
    slot_task: IntArray, slot_client: IntArray, wrong: BoolArray, forbidden: IntArray, C: int
) -> tuple[IntArray, IntArray]:
    """Swaps each wrong pair's client with the next pair's where that makes both right; pairs that find none are lost."""
    client = slot_client.copy()
    keys = slot_task * C + client
    right, open_, misses = set(keys[~wrong].tolist()), wrong.copy(), 0
    for i in np.flatnonzero(wrong).tolist():
        if int(keys[i]) not in right and not _contains(forbidden, keys[i : i + 1])[0]:
            open_[i] = False
            right.add(int(keys[i]))
            continue
        j = _partner(i, slot_task, client, open_, right, forbidden, C) if misses < _MISSES else -1
        if j < 0:
            misses += 1
            continue
        right.discard(int(keys[j]))
        client[i], client[j] = client[j], client[i]
        keys[[i, j]] = slot_task[[i, j]] * C + client[[i, j]]
        right.update(keys[[i, j]].tolist())
        open_[i] = False
    return keys[~open_], slot_task[open_]


def _partner(i: int, task: IntArray, client: IntArray, wrong: BoolArray, right: set[int], forbidden: IntArray, C: int) -> int:
    """The next pair, neighbours first, that can swap clients with pair i; −1 if there is none."""
    n = len(task)
    for begin, end in ((1, min(_NEAR, n)), (min(_NEAR, n), n)):
        near = (i + np.arange(begin, end)) % n
        mine, theirs = task[near] * C + client[i], task[i] * C + client[near]
        can = ~wrong[near] & ~_contains(forbidden, mine) & ~_contains(forbidden, theirs)
        for j, one, other in zip(near[can].tolist(), mine[can].tolist(), theirs[can].tolist(), strict=True):
            if one not in right and other not in right:
                return int(j)
    return -1
