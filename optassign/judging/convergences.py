"""Measures of a convergence: the rebalances from a snapshot until the group is at rest (docs/reference/rules.md)."""

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from optassign.display import make_frame, make_html
from optassign.formats.assignment import TaskAssignment, Waiting
from optassign.judging.metrics import Measures
from optassign.measuring.described import About, measured, to_json

if TYPE_CHECKING:
    from optassign.display import DataFrame

_REBALANCE = ("active_moves", "moves_repeated", "restored_offsets", "warmups", "waiting", "balanced", "followup", "seconds")
"""Columns of a rebalance in frames and notebooks."""


@dataclass(frozen=True, slots=True)
class PlayedRebalance:
    """The measures of one answer of a convergence."""

    measures: Measures
    moved: tuple[str, ...]
    """The tasks that `measures.active_moves` counts."""
    moves_repeated: int
    """The number of `moved` tasks that had moved before in this convergence."""
    followup: bool
    """Whether the answer requests a follow-up rebalance."""
    waiting: tuple[Waiting, ...]
    """The target copies for which the follow-up waits."""
    stalled: bool
    """Whether the answer reports that no warm-up makes progress."""
    restored_offsets: int
    """Offsets replayed until the next rebalance."""
    seconds: float
    """Seconds that the assignor took."""

    def as_json(self) -> dict[str, Any]:
        """Return an entry of `history` in the JSON of a convergence."""
        return {
            "followup": self.followup,
            "stalled": self.stalled,
            "restored_offsets": self.restored_offsets,
            "seconds": round(self.seconds, 6),
            "balanced": self.measures.balanced,
            **asdict(self.measures),
            "moves_repeated": self.moves_repeated,
            "waiting": [entry.model_dump() for entry in self.waiting],
        }


@dataclass(frozen=True, slots=True)
class Convergence:
    """The rebalances from a snapshot until the group is at rest.

    Add a measure as a property: JSON, `optassign compare`, the tables on Spark and the studies find it by its name.
    """

    history: tuple[PlayedRebalance, ...]
    final: TaskAssignment
    last_look: PlayedRebalance | None
    """The answer after the end of the history, which shows whether the group is stable; None if it was not requested."""
    is_confirmed: bool
    """Whether `last_look` changed nothing (R7) and requested no follow-up (R8)."""
    lower_bound: Annotated[
        int | None, About("offsets", "proven lower bound of any convergence, by the first answer; null: no proof")
    ] = None
    planned_moves: Annotated[
        int | None, About("tasks", "active migrations of the first answer's target; null: not reported")
    ] = None
    least_moves: Annotated[
        int | None,
        About("tasks", "proven least active migrations of an equally good target, by the first answer; null: no proof"),
    ] = None

    @property
    @measured("rebalances", "until nothing changes: rebalances")
    def rebalances(self) -> int:
        """Rebalances until no follow-up was requested."""
        return len(self.history)

    @property
    @measured("", "  converges")
    def settled(self) -> bool:
        """The last answer requested no follow-up and is not stalled."""
        return self.last_look is not None and not self.history[-1].stalled

    @property
    @measured("", "  is stable")
    def rests(self) -> bool:
        """One more answer changed nothing."""
        return self.is_confirmed

    @property
    @measured("")
    def stable(self) -> bool:
        """Settled and rests; null: not simulated, or cut short."""
        return self.settled and self.rests

    @property
    @measured("", "  balanced in the end")
    def balanced(self) -> bool:
        """The last answer is balanced."""
        return self.history[-1].measures.balanced

    @property
    @measured("tasks", "  active tasks moved")
    def moved_active(self) -> int:
        """Active moves in all rebalances; each stops its task."""
        return sum(played.measures.active_moves for played in self.history)

    @property
    @measured("tasks", "    of them logged")
    def moved_logged(self) -> int:
        """Active moves of logged tasks in all rebalances."""
        return sum(played.measures.active_moves_logged for played in self.history)

    @property
    @measured("tasks", "    moves beyond a task's first")
    def moves_repeated(self) -> int:
        """Active moves beyond the first of each task."""
        moved = self._count_moves()
        return moved.total() - len(moved)

    @property
    @measured("tasks", "  tasks moved more than once")
    def moved_more_than_once(self) -> int:
        """Tasks that moved in more than one rebalance."""
        return sum(number > 1 for number in self._count_moves().values())

    @property
    @measured("copies")
    def standby_migrations(self) -> int:
        """Standby migrations in all rebalances."""
        return sum(played.measures.standby_migrations for played in self.history)

    @property
    @measured("offsets", "  restored, offsets")
    def restored_offsets(self) -> int:
        """Offsets replayed in all rebalances, warm-ups included."""
        return sum(played.restored_offsets for played in self.history)

    @property
    @measured("rule → number", "  rules broken")
    def violations(self) -> Mapping[str, int]:
        """Rules broken by all answers judged."""
        total = Counter[str]()
        for played in self._list_judged():
            total.update(played.measures.violations)
        return dict(sorted(total.items()))

    @property
    @measured("answers")
    def answers(self) -> int:
        """Judged answers: one per rebalance, and the one after the end."""
        return len(self._list_judged())

    @property
    @measured("")
    def imbalance(self) -> int:
        """Imbalance of all shares, summed over the rebalances."""
        return sum(sum(played.measures.imbalance.values()) for played in self.history)

    @property
    @measured("")
    def final_imbalance(self) -> int:
        """Imbalance of all shares in the last answer."""
        return sum(self.history[-1].measures.imbalance.values())

    @property
    @measured("tasks per thread × capacity")
    def final_spread(self) -> float:
        """Greatest minus least count of active tasks in the last answer."""
        return float(self.history[-1].measures.spread["active"])

    @property
    @measured("s", "  seconds a rebalance, median")
    def seconds(self) -> float:
        """Median seconds of a call."""
        return statistics.median(played.seconds for played in self.history)

    @property
    @measured("s")
    def most_seconds(self) -> float:
        """Most seconds of a call."""
        return max(played.seconds for played in self.history)

    @property
    @measured("s")
    def total_seconds(self) -> float:
        """Seconds of all calls."""
        return sum(played.seconds for played in self.history)

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with a row for each rebalance, numbered from 1. MissingPackageError without pandas."""
        return make_frame(self._list_rows(), ("rebalance", *_REBALANCE))

    def _repr_html_(self) -> str:
        rest = "stable" if self.stable else "not stable"
        work = f"{self.moved_active:,} moves, {self.restored_offsets:,} offsets restored"
        title = f"{self.rebalances:,} rebalances, {rest}: {work}"
        return make_html(title, ("rebalance", *_REBALANCE), [tuple(row.values()) for row in self._list_rows()])

    def _list_rows(self) -> list[dict[str, Any]]:
        """Return a row for each rebalance, in the order of the columns."""
        found = []
        for number, played in enumerate(self.history, start=1):
            row = {**played.as_json(), "waiting": len(played.waiting)}
            found.append({"rebalance": number, **{name: row[name] for name in _REBALANCE}})
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the JSON that `optassign converge` prints."""
        played = [rebalance.as_json() for rebalance in self.history]
        return {**to_json(self), "history": played, "final": self.final.model_dump(mode="json")}

    def __str__(self) -> str:
        """Return the history, one line a rebalance, for the message of a failing test."""
        lines = [
            f"{n:4} followup={played.followup} waiting={len(played.waiting)} warmups={played.measures.warmups}"
            f" moves={played.measures.active_moves} repeated={played.moves_repeated} restored={played.restored_offsets}"
            f" imbalance={dict(played.measures.imbalance)} violations={dict(played.measures.violations)}"
            for n, played in enumerate(self.history, start=1)
        ]
        end = f"settled={self.settled} rests={self.rests} restored={self.restored_offsets} bound={self.lower_bound}"
        return "\n".join([*lines, f"{end} violations={dict(self.violations)}"])

    def _list_judged(self) -> tuple[PlayedRebalance, ...]:
        return self.history if self.last_look is None else (*self.history, self.last_look)

    def _count_moves(self) -> Counter[str]:
        """Return task → number of rebalances in which it moved."""
        return Counter(task for played in self.history for task in played.moved)
