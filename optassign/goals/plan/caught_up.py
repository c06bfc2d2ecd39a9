"""Copies that are not caught up: goals (b) `restore_work`, (c) `copies_not_caught_up` and (d) `actives_not_caught_up`.

(b) sums the offsets to replay for the copies not caught up that the plan wants or R3 to R5 force in this answer; (c) counts
these copies (docs/reference/rules.md, "The target").
(d) counts planned actives that are not caught up.
"""

from collections.abc import Iterable

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts, Pair
from optassign.measuring.placement import TaskPlacement


def _sum_restore_work(facts: Facts) -> int:
    return sum(facts.cold.values())


def _count_copies(facts: Facts) -> int:
    return len(facts.cold)


def count_actives_not_caught_up(cold: Iterable[Pair], placement: TaskPlacement) -> int:
    """Those of the copies not caught up that are active."""
    return sum(placement.active[task].count(client) for task, client in cold)


def _count_actives(facts: Facts) -> int:
    return count_actives_not_caught_up(facts.cold_in_plan, facts.plan)


RESTORE_WORK = Goal(name="restore_work", place=40, unit="offsets", measure=_sum_restore_work, is_reported_at_rest=True)
COPIES_NOT_CAUGHT_UP = Goal(name="copies_not_caught_up", place=50, unit="copies", measure=_count_copies, is_count=True)
ACTIVES_NOT_CAUGHT_UP = Goal(name="actives_not_caught_up", place=60, unit="tasks", measure=_count_actives, is_count=True)
GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
