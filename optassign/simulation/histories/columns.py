"""The columns of a grade table: which sums each is made of, and which way it is better."""

from __future__ import annotations

from dataclasses import dataclass

from optassign.simulation.histories.grades import Grades

__all__ = ["COLUMNS", "GROUPS", "Column"]


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
