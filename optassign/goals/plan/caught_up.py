"""Copies that are not caught up: goals (b) `restore_work`, (c) `copies_not_caught_up` and (d) `actives_not_caught_up`.

(b) sums the offsets to replay for the copies not caught up that are on target or that R3 to R5 force in this answer; (c)
counts these copies (docs/reference/rules.md, "The target"). (d) counts target actives that are not caught up.
"""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts, count_actives_not_caught_up


def _sum_restore_work(facts: Facts) -> int:
    return sum(facts.cold.values())


def _count_copies(facts: Facts) -> int:
    return len(facts.cold)


def _count_actives(facts: Facts) -> int:
    return count_actives_not_caught_up(facts.not_caught_up_on_target, facts.plan)


RESTORE_WORK = Goal(name="restore_work", place=40, unit="offsets", measure=_sum_restore_work, is_reported_at_rest=True)
COPIES_NOT_CAUGHT_UP = Goal(name="copies_not_caught_up", place=50, unit="copies", measure=_count_copies, is_count=True)
ACTIVES_NOT_CAUGHT_UP = Goal(name="actives_not_caught_up", place=60, unit="tasks", measure=_count_actives, is_count=True)
GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
