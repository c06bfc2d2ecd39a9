"""Goal (d), `cold_actives`: planned actives that are not caught up."""

from collections.abc import Iterable

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts, Pair
from optassign.measuring.placement import Placement


def count_cold_actives(cold: Iterable[Pair], placement: Placement) -> int:
    """Those of the cold copies that are active."""
    return sum(placement.active[task].count(client) for task, client in cold)


def _measure(facts: Facts) -> int:
    return count_cold_actives(facts.cold_in_plan, facts.plan)


GOAL = Goal(name="cold_actives", place=60, unit="tasks", measure=_measure, is_count=True)
