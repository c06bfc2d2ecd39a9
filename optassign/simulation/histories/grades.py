"""The results of a history under an assignor: sums, so that histories can be added up; a suite's columns are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["Grades", "add_up"]


@dataclass
class Grades:
    """Sums over the changes of a history. At *rests* the group asks for no follow-up and everything is restored.

    Shares are those of docs/reference/rules.md: proportional to threads, no more than the tasks there are.
    """

    changes: int = 0
    answers: int = 0
    """All that were judged, the start and the looks whether the group rests included."""
    violations: Counter[str] = field(default_factory=Counter)
    """Rule → how often an answer broke it."""
    unsettled: int = 0
    """Changes, and the start, after which the group did not come to rest: no end, stalled, or other when asked again."""
    rounds: int = 0
    """Rebalances after changes, second passes left out."""
    second_passes: int = 0
    """After changes, in histories with cooperative rebalances: second passes and any further ones."""
    altered_passes: int = 0
    """Those among them that answered other than the pass before, which had tasks revoked for its own answer."""
    rests: int = 0
    """After changes; those of the following that are of placements are summed over them."""
    spread_stateful: float = 0.0
    """Max − min per thread of the stateful active tasks."""
    spread_stateless: float = 0.0
    spread_active: float = 0.0
    spread_copies: float = 0.0
    """Active copies and standbys of logged tasks."""
    above_stateful: int = 0
    """Tasks that clients have above their shares, rounded up."""
    above_stateless: int = 0
    above_active: int = 0
    above_copies: int = 0
    skew: int = 0
    """Active tasks that clients have of a subtopology above their shares of it, rounded up: skew that could be avoided."""
    imbalance: int = 0
    """The imbalance of all five shares of docs/reference/rules.md."""
    zone_reached: int = 0
    """Zones among the copies of logged tasks, where the tag is configured and tasks could be in several zones."""
    zone_reachable: int = 0
    zone_blind: int = 0
    """Zones reached in the same history without tags, at the same rests."""
    cluster_reached: int = 0
    cluster_reachable: int = 0
    cluster_blind: int = 0
    moves: int = 0
    """Active tasks that went from a client that stays to another."""
    kept: int = 0
    """Copies that were there before a change, and are still with their process when the group rests again."""
    keepable: int = 0
    """Copies before a change, of tasks and processes that stay."""
    copies_not_caught_up: int = 0
    """Active copies and standbys given to clients that have to restore them first."""
    actives_not_caught_up: int = 0
    """The active ones among them: tasks that stop until they are restored."""
    restored: int = 0
    """Offsets, in all, the start's left out."""
    reused: int = 0
    """Copies that a process had in a role before it restarted, with state on its disk, and has again when the group rests."""
    reusable: int = 0
    zone_copies: int = 0
    """Copies that were lost with a zone."""
    zone_tasks: int = 0
    """Logged tasks when a zone was lost."""
    zone_tasks_lost: int = 0
    """Those among them that had no copy outside of it."""
    made: int = 0
    """Active tasks put in place after changes."""
    undone: int = 0
    """Thrash: the superfluous ones among them."""
    copies_made: int = 0
    """Copies and warm-ups put in place."""
    copies_undone: int = 0

    def as_json(self) -> dict[str, Any]:
        """Name → value; `violations` sorted by rule."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
        return {**rounded, "violations": dict(sorted(self.violations.items()))}


def add_up(grades: Iterable[Grades]) -> Grades:
    """Of several histories."""
    total = Grades()
    for each in grades:
        for name in (one.name for one in fields(Grades)):
            setattr(total, name, getattr(total, name) + getattr(each, name))
    return total
