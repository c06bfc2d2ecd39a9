"""Goal (d), `cold_actives`: planned actives that are not caught up."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement
from optassign.measuring.ranks import Ranks


def count_cold_actives(ranks: Ranks, placement: Placement) -> int:
    """Active copies of rank > 0."""
    return sum(ranks.of(task, client) > 0 for task, clients in placement.active.items() for client in clients)


def _measure(facts: Facts) -> int:
    return count_cold_actives(facts.ranks, facts.plan)


GOAL = Goal(name="cold_actives", place=60, unit="tasks", measure=_measure, is_count=True)
