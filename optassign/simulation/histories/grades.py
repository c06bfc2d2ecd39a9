"""The results of a history under an assignor as sums, so that histories can be added up, and a suite's columns made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from optassign.measuring.described import About

__all__ = ["COLUMNS", "GROUPS", "Column", "Grades", "add_up"]


@dataclass
class Grades:
    """Sums over the changes of a history. At *rests* the group asks for no follow-up and everything is restored.

    Shares are those of docs/reference/rules.md: proportional to threads, no more than the tasks there are.
    """

    changes: Annotated[int, About("changes", "that happen to the group")] = 0
    answers: Annotated[int, About("answers", "judged, the start and the looks whether the group rests included")] = 0
    violations: Annotated[Counter[str], About("rule → number", "rules that answers broke; empty: none")] = field(
        default_factory=Counter
    )
    unsettled: Annotated[int, About("changes", "after which the group did not come to rest, the start included")] = 0
    """No end, stalled, or other when asked again."""
    rounds: Annotated[int, About("rebalances", "after changes, second passes left out")] = 0
    second_passes: Annotated[int, About("passes", "after changes, of cooperative rebalances: the second and further ones")] = 0
    altered_passes: Annotated[int, About("passes", "of them, those that answered other than the pass before")] = 0
    """The pass before had tasks revoked for its own answer."""
    rests: Annotated[int, About("rests", "after changes; what follows, up to `imbalance`, is summed over them")] = 0
    spread_stateful: Annotated[float, About("copies per thread", "max − min of stateful active tasks")] = 0.0
    spread_stateless: Annotated[float, About("copies per thread", "max − min of stateless tasks")] = 0.0
    spread_active: Annotated[float, About("copies per thread", "max − min of active tasks")] = 0.0
    spread_copies: Annotated[float, About("copies per thread", "max − min of active copies and standbys of logged tasks")] = 0.0
    above_stateful: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_stateless: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_active: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_copies: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    skew: Annotated[int, About("tasks", "active, that clients have above their shares of a subtopology, rounded up")] = 0
    """Skew that could be avoided."""
    imbalance: Annotated[int, About("", "of all five shares of docs/reference/rules.md")] = 0
    zone_reached: Annotated[int, About("values", "values of the tag among the copies of tasks, where it is configured")] = 0
    """Where tasks could be in several zones."""
    zone_reachable: Annotated[int, About("values", "the same, if nothing else were asked for")] = 0
    zone_blind: Annotated[int, About("values", "reached in the same history without tags")] = 0
    cluster_reached: Annotated[int, About("values", "values of the tag among the copies of tasks, where it is configured")] = 0
    cluster_reachable: Annotated[int, About("values", "the same, if nothing else were asked for")] = 0
    cluster_blind: Annotated[int, About("values", "reached in the same history without tags")] = 0
    moves: Annotated[int, About("tasks", "active tasks that went from a client that stays to another")] = 0
    kept: Annotated[int, About("copies", "before a change, that are still with their process when the group rests again")] = 0
    keepable: Annotated[int, About("copies", "before a change, of tasks and processes that stay")] = 0
    copies_not_caught_up: Annotated[int, About("copies", "active and standby, given to clients that have to restore them")] = 0
    actives_not_caught_up: Annotated[int, About("tasks", "of them active: tasks that stop until they are restored")] = 0
    restored: Annotated[int, About("offsets", "after changes")] = 0
    reused: Annotated[int, About("copies", "that a process had before it restarted, and has again when the group rests")] = 0
    reusable: Annotated[int, About("copies", "that a process had before it restarted, with state")] = 0
    zone_copies: Annotated[int, About("copies", "lost with a zone")] = 0
    zone_tasks: Annotated[int, About("tasks", "logged ones, when a zone was lost")] = 0
    zone_tasks_lost: Annotated[int, About("tasks", "of them, those without a copy outside of it")] = 0
    made: Annotated[int, About("tasks", "active ones put in place after changes")] = 0
    undone: Annotated[int, About("tasks", "thrash: of them, those that could be missed")] = 0
    copies_made: Annotated[int, About("copies", "put in place after changes, warm-ups included")] = 0
    copies_undone: Annotated[int, About("copies", "thrash: of them, those that could be missed")] = 0

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


@dataclass(frozen=True, slots=True)
class Column:
    """A quotient of two sums of `Grades`, or a sum where `per` is empty."""

    key: str
    """In JSON."""
    label: str
    sum: str
    per: str = ""
    is_share: bool = False
    """Shown in per cent."""
    best: str = "least"
    """Or most; empty: neither is better."""

    def compute(self, grades: Grades) -> float | None:
        """The value; None where there is nothing to divide by."""
        total = getattr(grades, self.sum)
        total = sum(total.values()) if self.sum == "violations" else total
        if not self.per:
            return float(total)
        base = getattr(grades, self.per)
        return total / base if base else None


def _spread_and_above(what: str, label: str) -> tuple[Column, Column]:
    return (
        Column(f"spread_{what}", f"max − min per thread, {label}", f"spread_{what}", "rests"),
        Column(f"above_{what}", f"above the even share, {label}", f"above_{what}", "rests"),
    )


_EVEN = [
    _spread_and_above("stateful", "stateful"),
    _spread_and_above("stateless", "stateless"),
    _spread_and_above("active", "all actives"),
    _spread_and_above("copies", "copies"),
]
GROUPS: dict[str, tuple[Column, ...]] = {
    "Rules and rest": (
        Column("violations", "rules broken", "violations"),
        Column("unsettled", "changes not settled", "unsettled"),
        Column("rounds", "rounds a change", "rounds", "changes"),
        Column("altered", "second passes that change the answer", "altered_passes", "second_passes", is_share=True),
    ),
    "Balance at rest": (
        *(spread for spread, _ in _EVEN),
        *(above for _, above in _EVEN),
        Column("skew", "avoidable subtopology skew", "skew", "rests"),
    ),
    "Tags": (
        Column("zone", "zones reached", "zone_reached", "zone_reachable", is_share=True, best="most"),
        Column("zone_blind", "the same, tag-blind", "zone_blind", "zone_reachable", is_share=True, best=""),
        Column("cluster", "clusters reached", "cluster_reached", "cluster_reachable", is_share=True, best="most"),
        Column("cluster_blind", "the same, tag-blind", "cluster_blind", "cluster_reachable", is_share=True, best=""),
        Column("lost", "tasks lost with their zone", "zone_tasks_lost", "zone_tasks", is_share=True),
        Column("lost_copies", "copies lost with a zone, per task", "zone_copies", "zone_tasks"),
    ),
    "Moves, state and thrash": (
        Column("moves", "moves a change", "moves", "changes"),
        Column("kept", "stickiness by process", "kept", "keepable", is_share=True, best="most"),
        Column("copies_not_caught_up", "copies without state, a change", "copies_not_caught_up", "changes"),
        Column("actives_not_caught_up", "of them active", "actives_not_caught_up", "changes"),
        Column("restored", "offsets restored, a change", "restored", "changes"),
        Column("reused", "reused after a restart", "reused", "reusable", is_share=True, best="most"),
        Column("thrash", "thrash of actives", "undone", "made", is_share=True),
        Column("thrash_copies", "thrash of copies", "copies_undone", "copies_made", is_share=True),
    ),
}
"""Title → columns."""
COLUMNS = tuple(column for columns in GROUPS.values() for column in columns)
