"""Tests of the properties that define thrash (`optassign.simulation.history_grades`), on random episodes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from optassign.simulation.history_grades import measure_moving

Placement = frozenset[tuple[str, str]]
SEEDS = range(200)


def draw_placement(dice: random.Random, tasks: str = "abcdef") -> Placement:
    return frozenset((task, client) for task in tasks for client in "123" if dice.random() < 0.4)


def draw_episode(seed: int, tasks: str = "abcdef") -> list[Placement]:
    dice = random.Random(seed)
    return [draw_placement(dice, tasks) for _ in range(dice.randint(1, 6))]


def check(holds: Callable[[list[Placement]], bool]) -> None:
    for seed in SEEDS:
        episode = draw_episode(seed)
        assert holds(episode), (seed, episode)


@pytest.mark.parametrize(
    ("owners", "made", "undone"),
    [
        ("A", 0, 0),
        ("AB", 1, 0),
        ("ABA", 2, 2),
        ("ABC", 2, 1),
        ("ABAB", 3, 2),
        ("AABB", 1, 0),
        ("ABABABA", 6, 6),
    ],
)
def test_thrash_of_a_single_task(owners: str, made: int, undone: int) -> None:
    assert measure_moving([frozenset({("t", owner)}) for owner in owners]) == (made, undone)


def test_moves_in_one_direction_are_no_thrash() -> None:
    def grows_then_shrinks(episode: list[Placement]) -> bool:
        union: Placement = frozenset()
        growing = [union := union | placement for placement in episode]
        return measure_moving(growing).undone == 0 and measure_moving(growing[::-1]) == (0, 0)

    check(grows_then_shrinks)


def test_moves_back_and_forth_are_all_thrash() -> None:
    def there_and_back(episode: list[Placement]) -> bool:
        once = [*episode, *episode[-2::-1]]
        twice = [*once, *once[1:]]
        made, undone = measure_moving(once)
        return made == undone and measure_moving(twice) == (2 * made, 2 * undone)

    check(there_and_back)


def test_thrash_is_at_most_the_moves_and_rest_adds_none() -> None:
    def is_bounded(episode: list[Placement]) -> bool:
        made, undone = measure_moving(episode)
        doubled = [placement for placement in episode for _ in range(2)]
        return 0 <= undone <= made and measure_moving(doubled) == (made, undone)

    check(is_bounded)


def test_thrash_does_not_depend_on_names() -> None:
    def is_the_same_renamed(episode: list[Placement]) -> bool:
        renamed = [frozenset((task.upper(), {"1": "3", "2": "1", "3": "2"}[c]) for task, c in each) for each in episode]
        return measure_moving(renamed) == measure_moving(episode)

    check(is_the_same_renamed)


def test_thrash_of_independent_tasks_adds_up() -> None:
    def adds_up(episode: list[Placement]) -> bool:
        some = [frozenset(pair for pair in each if pair[0] in "abc") for each in episode]
        others = [each - mine for each, mine in zip(episode, some, strict=True)]
        made, undone = (a + b for a, b in zip(measure_moving(some), measure_moving(others), strict=True))
        return measure_moving(episode) == (made, undone)

    check(adds_up)


def test_two_episodes_in_a_row_have_at_least_the_sum() -> None:
    for seed in SEEDS:
        first, second = draw_episode(seed), draw_episode(seed + 1_000)
        second = [first[-1], *second]
        whole, parts = measure_moving([*first, *second[1:]]), (measure_moving(first), measure_moving(second))
        assert whole.made == sum(part.made for part in parts), seed
        assert whole.undone >= sum(part.undone for part in parts), (seed, first, second)
