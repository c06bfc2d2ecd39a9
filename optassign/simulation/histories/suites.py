"""A suite of histories under several assignors, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optassign.simulation.histories.columns import COLUMNS
from optassign.simulation.histories.drawing import SUITES, draw_history
from optassign.simulation.histories.grades import Grades, add_up
from optassign.simulation.histories.playing import play_history

__all__ = ["Graded", "count_histories", "play_suite"]


@dataclass
class Graded:
    """One assignor's results."""

    assignor: str
    by_seed: dict[int, Grades] = field(default_factory=dict)

    @property
    def total(self) -> Grades:
        """Of all histories."""
        return add_up(self.by_seed.values())

    @property
    def wrong(self) -> list[int]:
        """Seeds of the histories in which a rule was broken, or the group did not come to rest."""
        return [seed for seed, grades in self.by_seed.items() if grades.violations or grades.unsettled]

    def as_json(self) -> dict[str, Any]:
        """The columns by their names, and the sums they are made of; numbers to the millionth."""
        total = self.total
        values = {column.key: column.compute(total) for column in COLUMNS}
        return {
            **{key: None if value is None else round(value, 6) for key, value in values.items()},
            "wrong": self.wrong,
            "sums": total.as_json(),
        }


def count_histories(suite: str) -> int:
    """How many a suite has by default. KeyError for one that there is not."""
    return SUITES[suite].histories


def play_suite(suite: str, seed: int, count: int, assignor: str, tell: Callable[[int], None] | None = None) -> Graded:
    """The histories with the seeds from `seed` on, in their order; `tell`: told how many are played."""
    graded = Graded(assignor)
    for number, one in enumerate(range(seed, seed + count), start=1):
        graded.by_seed[one] = play_history(draw_history(suite, one), assignor)
        if tell is not None:
            tell(number)
    return graded
