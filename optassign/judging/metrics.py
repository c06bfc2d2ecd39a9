"""The measures by which every answer of every assignor is judged, computed without a solver.

Moves, restore work and balance are KIP-441's cost function (section "Constraints and Cost Function"), reads across racks
KIP-925's, tags KIP-708's. Lags and restore work are offsets, as Python integers: sums may exceed int64.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import Rule, validate
from optassign.measuring.balance import (
    ShareName,
    count_copies,
    is_answer_balanced,
    measure_imbalance,
    measure_spread,
    measure_subtopology_balance,
)
from optassign.measuring.described import About
from optassign.measuring.facts import Facts, count_actives_not_caught_up, find_not_caught_up, list_pairs
from optassign.measuring.load import Loads
from optassign.measuring.moves import count_standby_migrations, find_moved_actives
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks
from optassign.measuring.spread import count_rack_crossings, count_tag_values


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of one answer. Copies are active and standby copies; warm-ups count separately."""

    violations: Annotated[
        Mapping[Rule, int], About("rule → number", "violations of the answer by rule; empty: none", "rules broken")
    ]
    balanced: Annotated[
        bool, About("", "every count is in its share or, if load is balanced, the load is within its tolerance")
    ]
    imbalance: Annotated[Mapping[ShareName, int], About("", "imbalance of the share {}", "imbalance: {}")]
    """Sum of e (e + 1) / 2 over the counts at distance e from their shares; 0 if balanced."""
    spread: Annotated[
        Mapping[ShareName, float],
        About("copies per thread × capacity", "greatest minus least count, share {}", "spread: {}"),
    ]
    subtopology_balance: Annotated[
        int,
        About(
            "clients",
            "KIP-441's: clients executing a subtopology, most minus least",
            "clients per subtopology, max − min",
        ),
    ]
    active_moves: Annotated[int, About("tasks", "active tasks that moved", "active tasks moved")]
    active_moves_logged: Annotated[int, About("tasks", "logged tasks that moved", "  of them logged")]
    standby_migrations: Annotated[int, About("copies", "standbys on clients that had none of the task", "standbys moved")]
    restore_work: Annotated[
        int, About("offsets", "to replay for the active and standby copies of this answer", "restored now, offsets")
    ]
    warmup_work: Annotated[int, About("offsets", "to replay for the warm-ups of rank > 0", "  and by warm-ups")]
    copies_not_caught_up: Annotated[int, About("copies", "active and standby copies of rank > 0", "copies not caught up")]
    actives_not_caught_up: Annotated[int, About("tasks", "active tasks that are not caught up", "active tasks not caught up")]
    warmups: Annotated[int, About("copies", "warm-ups", "warm-ups")]
    tag_values_reached: Annotated[
        int, About("values", "distinct tag values among the copies of a task, summed over logged tasks and tags")
    ]
    tag_values_reachable: Annotated[int, About("values", "the most that the numbers of copies and of values allow")]
    rack_crossings: Annotated[int | None, About("partitions", "read across racks; null: racks not known", "rack crossings")]
    """Pairs of a copy and a partition of its task that has no replica in the client's rack."""
    weighted_load: Annotated[
        float,
        About(
            "even spreads",
            "weight of the active tasks per thread × capacity, greatest ÷ mean",
            "weighted load, max ÷ mean",
        ),
    ]


def measure(state: ApplicationState, assignment: TaskAssignment) -> Measures:
    """Return every measure of one answer, which may break rules. Unknown tasks and clients do not count.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> optassign.measure(state, optassign.assign(state)).warmups
        2
    """
    placement, ranked = TaskPlacement.of(state, assignment), Ranks(state)
    counted = count_copies(state, placement)
    not_caught_up = find_not_caught_up(ranked, list_pairs(placement))
    warmups_not_caught_up = find_not_caught_up(
        ranked, ((task.id, client) for task in state.tasks for client in placement.warmup[task.id])
    )
    moved = find_moved_actives(state, placement)
    reached, reachable = count_tag_values(state, placement)
    return Measures(
        violations=dict(Counter(violation.rule for violation in validate(state, assignment))),
        spread=measure_spread(state, counted),
        imbalance=measure_imbalance(state, counted),
        subtopology_balance=measure_subtopology_balance(state, counted),
        active_moves=len(moved),
        active_moves_logged=sum(state.all_tasks[task].logged for task in moved),
        standby_migrations=count_standby_migrations(state, placement),
        restore_work=sum(not_caught_up.values()),
        copies_not_caught_up=len(not_caught_up),
        actives_not_caught_up=count_actives_not_caught_up(not_caught_up, placement),
        warmups=sum(len(clients) for clients in placement.warmup.values()),
        warmup_work=sum(warmups_not_caught_up.values()),
        tag_values_reached=reached,
        tag_values_reachable=reachable,
        rack_crossings=count_rack_crossings(state, placement),
        weighted_load=Loads(state).find_greatest(placement),
        balanced=is_answer_balanced(state, assignment),
    )


def measure_weighted_cost(state: ApplicationState, answer: TaskAssignment) -> float:
    """Return the cost of the answer's target by the weights of the snapshot's options, in units of weights."""
    facts, weights = Facts(state, answer), state.options.weights
    imbalance = measure_imbalance(state, facts.plan)
    by_client = imbalance["active"] + imbalance["stateful_active"] + imbalance["copies"]
    by_subtopology = imbalance["subtopology_active"] + imbalance["subtopology_copies"]
    ends = state.full_lags.values()
    mean = max(Fraction(1), Fraction(sum(ends), len(ends))) if ends else Fraction(1)
    hundredths = sum(ceil(100 * offsets / mean) for offsets in facts.cold.values())
    moves = len(find_moved_actives(state, facts.plan)) + count_standby_migrations(state, facts.plan)
    counts = (by_client, by_subtopology, hundredths + moves)
    return float(sum(weight * count for weight, count in zip(weights.exact, counts, strict=True)))
