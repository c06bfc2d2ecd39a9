"""Goal (v), `active_excess`: how far this answer's actives are from their windows."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return facts.excess["active"] + facts.excess["stateful_active"] + facts.excess["subtopology_active"]


GOAL = Goal(name="active_excess", place=50, unit="e (e + 1) / 2 at distance e", measure=_measure, is_count=True)
