"""Goal (d), `actives_not_caught_up`: planned actives that are not caught up."""

from collections.abc import Iterable

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts, Pair
from optassign.measuring.placement import Placement


def count_actives_not_caught_up(cold: Iterable[Pair], placement: Placement) -> int:
    """Those of the copies not caught up that are active."""
    return sum(placement.active[task].count(client) for task, client in cold)


def _measure(facts: Facts) -> int:
    return count_actives_not_caught_up(facts.cold_in_plan, facts.plan)


GOAL = Goal(name="actives_not_caught_up", place=60, unit="tasks", measure=_measure, is_count=True)
