"""The measures that every answer of every assignor is judged by, computed without a solver.

Moves, restore work and balance are KIP-441's cost function (section "Constraints and Cost Function"), rack-crossing
traffic KIP-925's, tags KIP-708's. Lags and restore work are offsets, as Python integers: sums may leave int64.
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
    counts,
    is_answer_balanced,
    measure_imbalance,
    spread,
    subtopology_balance,
)
from optassign.measuring.described import About
from optassign.measuring.facts import Facts, count_actives_not_caught_up, find_cold, list_pairs
from optassign.measuring.load import Loads
from optassign.measuring.moves import count_standby_migrations, find_moved_actives
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks
from optassign.measuring.spread import count_rack_crossings, count_tag_values

__all__ = ["Measures", "measure", "measure_weighted_cost"]


@dataclass(frozen=True, slots=True)
class Measures:
    """One answer, measured. Copies are active and standby copies; warm-ups are counted apart."""

    violations: Annotated[
        Mapping[Rule, int], About("rule → number", "rules that the answer breaks; empty: none", "rules broken")
    ]
    balanced: Annotated[bool, About("", "every count is in its share; if weights decide, the load is within its tolerance")]
    imbalance: Annotated[Mapping[ShareName, int], About("", "imbalance of the share {}", "imbalance: {}")]
    """Sum of e (e + 1) / 2 over the counts that are at distance e from their shares; all 0: balanced."""
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
    active_moves_logged: Annotated[int, About("tasks", "of these, those with a changelog", "  of them logged")]
    standby_migrations: Annotated[int, About("copies", "standbys where the task had none", "standbys moved")]
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
    tag_values_reachable: Annotated[
        int, About("values", "the same if nothing but the number of copies and of values limited it")
    ]
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
    """Every measure of one answer, also of one that breaks rules. Unknown tasks and clients count nowhere.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> optassign.measure(state, optassign.assign(state)).warmups
        2
    """
    placement, ranked = TaskPlacement.of(state, assignment), Ranks(state)
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
        weighted_load=Loads(state).find_greatest(placement),
        balanced=is_answer_balanced(state, assignment),
    )


def measure_weighted_cost(state: ApplicationState, answer: TaskAssignment) -> float:
    """Return what the plan of an answer costs by the weights of the snapshot's options, in units of weights."""
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
