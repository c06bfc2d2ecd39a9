"""Dealing places to tasks, each on clients of its own: for whole arrays, and where not all can be dealt.

1. Tasks of greatest need come first, and clients with most places left, as in the theorem of Gale (1957) and Ryser (1957).
2. Pairs that are forbidden or came out twice swap their clients with others.
"""

from __future__ import annotations

import numpy as np

from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.policy.constants import MISSES, NEAR_PAIRS
from optassign_models.problem import BoolArray, IntArray


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
