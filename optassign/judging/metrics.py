"""The measures that every answer of every assignor is judged by, computed without a solver.

Moves, restore work and balance are KIP-441's cost function (section "Constraints and Cost Function"), rack-crossing
traffic KIP-925's, tags KIP-708's. Lags and restore work are offsets, as Python integers: sums may leave int64.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import find_moved_actives
from optassign.goals.plan.actives_not_caught_up import count_actives_not_caught_up
from optassign.goals.plan.load import weigh_load
from optassign.goals.plan.rack_traffic import count_rack_crossings
from optassign.goals.plan.standby_migrations import count_standby_migrations
from optassign.goals.plan.tag_spread import count_tag_values
from optassign.judging.validation import Rule, validate
from optassign.measuring.balance import (
    SHARE_NAMES,
    ShareName,
    counts,
    is_answer_balanced,
    measure_imbalance,
    spread,
    subtopology_balance,
)
from optassign.measuring.facts import find_cold, list_pairs
from optassign.measuring.placement import Placement
from optassign.measuring.ranks import Ranks

__all__ = ["ConvergenceMeasures", "Measures", "measure"]


@dataclass(frozen=True, slots=True)
class Measures:
    """One answer, measured. Copies are active and standby copies; warm-ups are counted apart."""

    violations: Mapping[Rule, int]
    """Violations of every rule that is broken."""
    spread: Mapping[ShareName, float]
    """Greatest minus least count per thread × capacity."""
    imbalance: Mapping[ShareName, int]
    """Sum of e (e + 1) / 2 over the counts that are at distance e from their shares; all 0: balanced."""
    subtopology_balance: int
    """KIP-441's literal one: number of clients executing a subtopology, most minus least."""
    active_moves: int
    active_moves_logged: int
    """The moved active tasks that have a changelog."""
    standby_migrations: int
    restore_work: int
    """Offsets that the copies of rank > 0 have to replay."""
    copies_not_caught_up: int
    """Copies of rank > 0."""
    actives_not_caught_up: int
    """Active tasks that are not caught up."""
    warmups: int
    warmup_work: int
    """Offsets that the warm-ups of rank > 0 have to replay."""
    tag_values_reached: int
    """Distinct values of the configured tags among the copies of a task, summed over logged tasks and tags."""
    tag_values_reachable: int
    """The same if nothing but the number of copies and of values limited it."""
    rack_crossings: int | None
    """Pairs of a copy and a partition of its task that has no replica in the client's rack; None: racks not known."""
    weighted_load: float
    """The greatest weight of active tasks per thread × capacity, in even spreads; 1 is even."""
    balanced: bool
    """Whether every count is in its share or, where weights decide, the load within its tolerance of its bound."""


def measure(state: ApplicationState, assignment: TaskAssignment) -> Measures:
    """Every measure of one answer, also of one that breaks rules. Unknown tasks and clients count nowhere."""
    placement, ranked = Placement.of(state, assignment), Ranks(state)
    counted = counts(state, placement)
    cold = find_cold(ranked, list_pairs(placement))
    cold_warmups = find_cold(ranked, ((task.id, client) for task in state.tasks for client in placement.warmup[task.id]))
    moved = find_moved_actives(state, placement)
    reached, reachable = count_tag_values(state, placement)
    return Measures(
        violations=dict(Counter(violation.rule for violation in validate(state, assignment))),
        spread=spread(state, counted),
        imbalance=measure_imbalance(state, counted),
        subtopology_balance=subtopology_balance(state, counted),
        active_moves=len(moved),
        active_moves_logged=sum(state.all_tasks[task].logged for task in moved),
        standby_migrations=count_standby_migrations(state, placement),
        restore_work=sum(cold.values()),
        copies_not_caught_up=len(cold),
        actives_not_caught_up=count_actives_not_caught_up(cold, placement),
        warmups=sum(len(clients) for clients in placement.warmup.values()),
        warmup_work=sum(cold_warmups.values()),
        tag_values_reached=reached,
        tag_values_reachable=reachable,
        rack_crossings=count_rack_crossings(state, placement),
        weighted_load=weigh_load(state, placement),
        balanced=is_answer_balanced(state, assignment),
    )


@dataclass(frozen=True, slots=True)
class ConvergenceMeasures:
    """Answers after one another, measured (docs/reference/rules.md, "Measures of a convergence").

    Begin with `ConvergenceMeasures()`, and add each by `then`.
    """

    rebalances: int = 0
    settled: bool = False
    """Whether the last answer asked for no follow-up."""
    violations: int = 0
    active_moves: int = 0
    """Each is a pause of its task."""
    active_moves_logged: int = 0
    moves_by_task: Mapping[str, int] = field(default_factory=dict)
    """Task that has moved -> in how many of the answers."""
    standby_migrations: int = 0
    restored_offsets: int = 0
    task_seconds_without_caught_up_active: float = 0.0
    imbalance: Mapping[ShareName, int] = field(default_factory=lambda: dict.fromkeys(SHARE_NAMES, 0))
    """Imbalance of each share, summed over the steps."""

    @property
    def moved_more_than_once(self) -> int:
        """How many tasks moved in more than one of the answers."""
        return sum(number > 1 for number in self.moves_by_task.values())

    @property
    def moves_repeated(self) -> int:
        """Moves beyond the first of each task."""
        return sum(self.moves_by_task.values()) - len(self.moves_by_task)

    def then(
        self,
        step: Measures,
        *,
        followup: bool,
        moved: Iterable[str],
        restored_offsets: int | None = None,
        task_seconds: float = 0.0,
    ) -> "ConvergenceMeasures":
        """With one more rebalance.

        moved: the tasks that `step.active_moves` counts. restored_offsets: what was replayed until the next rebalance; None:
        everything this answer has to restore, warm-ups included. task_seconds: until then, summed over the tasks, the time
        without a caught-up active.
        """
        restored = step.restore_work + step.warmup_work if restored_offsets is None else restored_offsets
        return replace(
            self,
            rebalances=self.rebalances + 1,
            settled=not followup,
            violations=self.violations + sum(step.violations.values()),
            active_moves=self.active_moves + step.active_moves,
            active_moves_logged=self.active_moves_logged + step.active_moves_logged,
            moves_by_task=Counter(self.moves_by_task) + Counter(moved),
            standby_migrations=self.standby_migrations + step.standby_migrations,
            restored_offsets=self.restored_offsets + restored,
            task_seconds_without_caught_up_active=self.task_seconds_without_caught_up_active + task_seconds,
            imbalance={name: self.imbalance[name] + step.imbalance[name] for name in SHARE_NAMES},
        )
