"""Goal `offload`, before (i): active tasks too many on clients, for as long as they stay, and what moves cost to lessen
them."""

from optassign.formats.configs import OffloadPrices
from optassign.formats.state import TaskInfo
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int | None:
    to_balance = facts.answer.report.to_balance_ms
    if to_balance is None:
        return None
    too_many = sum(max(0, number - share.high) for number, share in facts.active_counts.values())
    prices = facts.state.options.relief
    return too_many * (to_balance // 1000) + sum(_count_extra(facts, task) * _price(task, prices) for task in facts.state.tasks)


def _count_extra(facts: Facts, task: TaskInfo) -> int:
    """Count moves of the task, now and back to the plan, beyond the moves that the plan needs from its present place."""
    owners, now, plan = facts.owners[task.id], set(facts.now.active[task.id]), set(facts.plan.active[task.id])
    moves = (bool(owners) and now.isdisjoint(owners)) + now.isdisjoint(plan)
    return moves - (bool(owners) and plan.isdisjoint(owners))


def _price(task: TaskInfo, prices: OffloadPrices) -> int:
    return prices.logged if task.stateful else prices.stateless


GOAL = Goal(name="offload", place=5, unit="seconds", measure=_measure, is_count=True, depends_on_owners=True)
