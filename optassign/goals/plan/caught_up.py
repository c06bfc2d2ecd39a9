"""Copies that are not caught up: goals (b) `restore_work`, (c) `copies_not_caught_up` and (d) `actives_not_caught_up`.

(b) sums the offsets to replay for the copies not caught up that are on target or that R3 to R5 force in this answer; (c)
counts these copies (docs/reference/rules.md, "The target"). (d) counts target actives that are not caught up.
"""

from optassign.goals.goal import Goal
from optassign.measuring.facts import count_actives_not_caught_up

RESTORE_WORK = Goal("restore_work", 40, "offsets", measure=lambda facts: sum(facts.cold.values()), is_reported_at_rest=True)
COPIES_NOT_CAUGHT_UP = Goal("copies_not_caught_up", 50, "copies", measure=lambda facts: len(facts.cold), is_count=True)
ACTIVES_NOT_CAUGHT_UP = Goal(
    name="actives_not_caught_up",
    place=60,
    unit="tasks",
    measure=lambda facts: count_actives_not_caught_up(facts.not_caught_up_on_target, facts.plan),
    is_count=True,
)
GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
