"""Goal (v), `active_imbalance`: how far this answer's actives are from their shares."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return facts.imbalance["active"] + facts.imbalance["stateful_active"] + facts.imbalance["subtopology_active"]


GOAL = Goal(name="active_imbalance", place=50, unit="e (e + 1) / 2 at distance e", measure=_measure, is_count=True)
