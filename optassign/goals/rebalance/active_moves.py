"""Goal (iv), `active_moves`: active tasks that this answer moves."""

from optassign.goals.goal import Goal
from optassign.goals.plan.active_moves import count_active_moves
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return count_active_moves(facts.state, facts.now)


GOAL = Goal(name="active_moves", place=40, unit="tasks", measure=_measure, is_count=True, depends_on_owners=True)
