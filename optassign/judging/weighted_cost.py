"""The one sum of preset `weighted`, measured on an answer without a solver (docs/reference/rules.md, "Preset weighted")."""

from math import ceil

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import find_moved_actives
from optassign.goals.plan.standby_migrations import count_standby_migrations
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.facts import Facts

__all__ = ["measure_weighted_cost"]


def measure_weighted_cost(state: ApplicationState, answer: TaskAssignment) -> float:
    """Return what the plan of an answer costs by the weights of the snapshot's options, in units of weights."""
    facts, weights = Facts(state, answer), state.options.weights
    imbalance = measure_imbalance(state, facts.plan)
    by_client = imbalance["active"] + imbalance["stateful_active"] + imbalance["copies"]
    by_subtopology = imbalance["subtopology_active"] + imbalance["subtopology_copies"]
    ends = state.full_lags.values()
    mean = max(1.0, sum(ends) / len(ends)) if ends else 1.0
    hundredths = sum(ceil(100.0 * offsets / mean) for offsets in facts.cold.values())
    moves = len(find_moved_actives(state, facts.plan)) + count_standby_migrations(state, facts.plan)
    cost = weights.instance * by_client + weights.subtopology * by_subtopology + weights.stickiness * (hundredths + moves)
    return round(cost, 3)
