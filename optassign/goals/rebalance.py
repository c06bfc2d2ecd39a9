"""The goals of this rebalance on its way to the target: temporary offload, then goals (i) to (v) of docs/reference/rules.md."""

from types import MappingProxyType

from optassign.formats.state import TaskInfo
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.moves import count_active_moves


def _measure_offload(facts: Facts) -> int | None:
    """Return the surplus active tasks × seconds until the target, plus the price of extra moves; None if the time is
    unknown.
    """
    to_balance = facts.answer.report.to_balance_ms
    if to_balance is None:
        return None
    too_many = sum(max(0, number - share.high) for number, share in facts.active_counts.values())
    prices = facts.state.options.relief
    extra = sum(_count_extra(facts, t) * (prices.logged if t.stateful else prices.stateless) for t in facts.state.tasks)
    return too_many * (to_balance // 1000) + extra


def _count_extra(facts: Facts, task: TaskInfo) -> int:
    """Return the moves of the task, now and later to its target, beyond a direct move from its owner to its target."""
    owners, now, plan = facts.owners[task.id], set(facts.now.active[task.id]), set(facts.plan.active[task.id])
    moves = (bool(owners) and now.isdisjoint(owners)) + now.isdisjoint(plan)
    return moves - (bool(owners) and plan.isdisjoint(owners))


def _count_copies_on_target(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(len(set(now.copies(task)).intersection(plan.copies(task))) for task in facts.state.all_tasks)


def _count_actives_on_target(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(len(set(now.active[task]).intersection(plan.active[task])) for task in facts.state.all_tasks)


def _sum_active_imbalance(facts: Facts) -> int:
    return facts.imbalance["active"] + facts.imbalance["stateful_active"] + facts.imbalance["subtopology_active"]


_GOALS = (
    Goal("offload", 5, "seconds", _measure_offload, is_count=True, depends_on_owners=True),
    Goal("copies_on_target", 10, "copies", _count_copies_on_target, more_is_better=True),
    Goal("restore_work_off_target", 20, "offsets", lambda facts: sum(facts.not_caught_up_off_target.values())),
    Goal("actives_on_target", 30, "tasks", _count_actives_on_target, more_is_better=True),
    Goal(
        name="active_moves",
        place=40,
        unit="tasks",
        measure=lambda facts: count_active_moves(facts.state, facts.now),
        is_count=True,
        depends_on_owners=True,
    ),
    Goal("active_imbalance", 50, "e (e + 1) / 2 at distance e", _sum_active_imbalance, is_count=True),
)
REBALANCE_GOALS = MappingProxyType({goal.name: goal for goal in _GOALS})
"""Name → goal, in order."""
