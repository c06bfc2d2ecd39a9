"""The plan: the one that the method finds or, while it is as good, the remembered one (R11)."""

from __future__ import annotations

from optassign.solving.case import Case
from optassign.solving.methods.method import Method
from optassign.solving.situation.situation import Situation
from optassign.solving.standing import spread_ties
from optassign.solving.step import Target
from optassign_models.problem import Placement
from optassign_models.results import Found


def choose_target(situation: Situation, case: Case, method: Method, found: Found) -> Target:
    """The plan that was found or, while it is as good, the remembered one."""
    own, placed = case.problem.remembered_plan, found.whole
    if own is not None and _keeps_remembered(case, method, own, placed):
        return Target(own, found, is_remembered=True)
    return Target(spread_ties(situation, placed), found, is_remembered=False)


def find_rough_plan(case: Case, method: Method) -> Placement:
    """The plan of least imbalance, where none was found inside the shares."""
    rough, own = method.find_least_imbalance(case), case.problem.remembered_plan
    if own is not None and case.breaks_no_more_limits(own, rough) and method.has_no_more_imbalance(case, own, rough):
        return own  # otherwise plans of equal imbalance would take turns, each outside of the other's widened shares
    return rough


def look_ahead(case: Case, method: Method, answer: Placement, *, impossible: bool) -> Placement | None:
    """The better placement that the next rebalance would find if the group came to rest by an answer; None: it finds none.

    impossible: none can be inside the shares.
    """
    later = case.as_restored(answer)
    if not impossible:
        for find in (method.find_balanced_now, method.find_plan):
            found = find(later).placement
            if found is not None and case.may_be_plan(found):
                return found
    least = method.find_least_imbalance(later)
    return least if method.has_fewer_faults(case, least, answer) else None


def _keeps_remembered(case: Case, method: Method, own: Placement, found: Placement) -> bool:
    """R11: whether the remembered plan stays although another one was found."""
    if not case.reaches_target(own) or not case.breaks_no_more_limits(own, found):
        return False
    return method.keeps_remembered(case, own, found)
