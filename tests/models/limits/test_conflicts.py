"""Tests of minimal sets of conflicting limits, and of the limits that give way, against a naive search of all sets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from optassign_models.limits import choose_compatible, find_conflict


def make_oracle(seed: int, number: int) -> list[frozenset[int]]:
    """Return up to four random sets of items; the items of a set cannot hold together."""
    dice = random.Random(seed)
    return [frozenset(dice.sample(range(number), dice.randint(1, min(4, number)))) for _ in range(dice.randint(1, 4))]


def all_smallest(items: Sequence[int], contradictions: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """Return every set of items that cannot hold together, although each of its proper subsets can."""

    def is_possible(chosen: frozenset[int]) -> bool:
        return not any(bad <= chosen for bad in contradictions)

    sets = [frozenset(chosen) for size in range(len(items) + 1) for chosen in combinations(items, size)]
    bad = [chosen for chosen in sets if not is_possible(chosen)]
    return {chosen for chosen in bad if all(is_possible(chosen - {item}) for item in chosen)}


@pytest.mark.parametrize("seed", range(60))
def test_a_conflict_is_one_of_the_naive_search(seed: int) -> None:
    number = 1 + seed % 7
    contradictions, items = make_oracle(seed, number), list(range(number))
    asked = 0

    def is_possible(chosen: Sequence[int]) -> bool:
        nonlocal asked
        asked += 1
        return not any(bad <= set(chosen) for bad in contradictions)

    found = find_conflict(items, is_possible)
    assert frozenset(found) in all_smallest(items, contradictions), (seed, contradictions)
    assert asked <= number


@pytest.mark.parametrize("seed", range(60))
def test_the_last_named_give_way(seed: int) -> None:
    number = 1 + seed % 7
    contradictions, items = make_oracle(seed, number), list(range(number))

    def is_possible(chosen: Sequence[int]) -> bool:
        return not any(bad <= set(chosen) for bad in contradictions)

    kept = choose_compatible(items, is_possible)
    possible = [chosen for size in range(number + 1) for chosen in combinations(items, size) if is_possible(chosen)]
    # The first item in which two sets differ decides: the set that has it is better.
    best = max(possible, key=lambda chosen: [item in chosen for item in items])
    assert kept == list(best), (seed, contradictions)
