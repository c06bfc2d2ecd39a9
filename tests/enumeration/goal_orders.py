"""The goals of a target as numbers to minimise, and the order in which a snapshot asks for them.

Source: docs/reference/rules.md, "The target" and "Configured goals".
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from group_facts import Group, exact
from load_measures import Loads
from placement_sets import GOALS, Space, Vector

Key = Callable[[Vector], Any]
"""A function from the sums of a placement to the quantity that a goal minimises: a number, or a tuple with one for each tag."""

CONFIGURED = ("rack_traffic", "rack_cost", "tag_spread", "load", "disk")
"""The configured goals, in the order of their table."""
LISTED = ("restore_work", "copies_not_caught_up", "actives_not_caught_up", "active_migrations", "standby_migrations")
"""Goals (b) to (f) of the target, in their order."""


def joins(group: Group, goal: str) -> bool:
    """Return whether a goal takes part in the order, if `options.goals` names it or is absent."""
    strategy = group.configs.get("rack_aware_assignment_strategy", "none")
    racks_known = all(client.rack is not None for client in group.clients) and all(
        task.sources and all(task.sources) and all(task.changelogs) and (task.changelogs or not task.logged)
        for task in group.tasks
    )
    if goal in {"rack_traffic", "rack_cost"}:
        return strategy != "none" and racks_known
    if goal == "tag_spread":
        is_named = goal in (group.options.get("goals") or [])
        return bool(group.configs.get("rack_aware_assignment_tags")) and (is_named or group.standbys > 0)
    if goal == "load":
        return _has_unlike_weights(group) or "load" in (group.options.get("goals") or [])
    if goal == "disk":
        return any(group.whole(t) > 0 for t, task in enumerate(group.tasks) if task.logged)
    return True


def _has_unlike_weights(group: Group) -> bool:
    return len({task.weight for task in group.tasks}) > 1


def list_goals(group: Group) -> list[str]:
    """Return the goals of the target in their order."""
    named = group.options.get("goals")
    if named is None:
        configured = [goal for goal in CONFIGURED if goal not in {"rack_cost", "disk"}]
        return [goal for goal in (*configured, *LISTED) if joins(group, goal)]
    return [goal for goal in named if joins(group, goal)]


def is_about_load(group: Group) -> bool:
    """Return whether load is balanced instead of counts."""
    if group.preset != "lexicographic" or not _has_unlike_weights(group):
        return False
    named = group.options.get("goals")
    if named is None:
        return True
    return "load" in named and ("restore_work" not in named or named.index("load") < named.index("restore_work"))


def puts_configured_goals_first(group: Group) -> bool:
    """Return whether no other goal precedes a configured one; otherwise the rules leave open what is balanced at once."""
    order = [goal in CONFIGURED for goal in list_goals(group)]
    return order == sorted(order, reverse=True)


class Goals:
    """The values of a group's goals, each a key to minimise."""

    def __init__(self, space: Space) -> None:
        """Prepare the goals of the group of a space."""
        self._space = space
        self._group = space.group
        self.loads = Loads(space.group)
        self._greatest: dict[Vector, Fraction] = {}

    def key(self, goal: str) -> Key:
        """Return the key of a goal."""
        if goal in GOALS:
            place = GOALS.index(goal)
            return lambda vector: vector[place]
        if goal == "tag_spread":
            start, end = len(GOALS), self._space.counts_at
            return lambda vector: tuple(-number for number in vector[start:end])
        if goal == "rack_cost":
            return self._rack_cost
        if goal == "load":
            return self._load
        if goal == "disk":
            return self._disk
        if goal == "weighted_cost":
            return self._weighted_cost
        raise ValueError(goal)

    def shown(self, goal: str, vector: Vector) -> Fraction:
        """Return the value that a report gives for the goal."""
        key = self.key(goal)(vector)
        return Fraction(-sum(key)) if isinstance(key, tuple) else Fraction(key)

    def _rack_cost(self, vector: Vector) -> int:
        configs = self._group.configs
        crossings, moves = vector[GOALS.index("rack_traffic")], self._moves(vector)
        traffic, overlap = configs.get("rack_aware_traffic_cost"), configs.get("rack_aware_non_overlap_cost")
        return crossings * (10 if traffic is None else traffic) + moves * (1 if overlap is None else overlap)

    @staticmethod
    def _moves(vector: Vector) -> int:
        return vector[GOALS.index("active_moves")] + vector[GOALS.index("standby_migrations")]

    def _load(self, vector: Vector) -> Fraction:
        actives = self._space.actives_on(vector)
        if actives not in self._greatest:
            self._greatest[actives] = self.loads.greatest(actives)
        return self._greatest[actives]

    def _disk(self, vector: Vector) -> Fraction:
        state = self._space.state_on(vector)
        return Fraction(max(state) * len(self._group.staying), sum(state)) if sum(state) else Fraction(0)

    def _weighted_cost(self, vector: Vector) -> Fraction:
        weights = {"instance": 1000.0, "subtopology": 100.0, "stickiness": 1.0} | self._group.options.get("weights", {})
        families = self._space.imbalances(vector, self._space.bounds)
        restored = vector[GOALS.index("hundredths")]
        return (
            exact(weights["instance"]) * sum(families[:3])
            + exact(weights["subtopology"]) * sum(families[3:])
            + exact(weights["stickiness"]) * (restored + self._moves(vector))
        )


def best(vectors: Iterable[Vector], key: Key) -> tuple[Any, list[Vector]]:
    """Return the least key among the vectors, and the vectors that have it."""
    least = None
    found: list[Vector] = []
    for vector in vectors:
        value = key(vector)
        if least is None or value < least:
            least, found = value, [vector]
        elif value == least:
            found.append(vector)
    return least, found
