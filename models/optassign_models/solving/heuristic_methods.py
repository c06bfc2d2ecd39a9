"""The stages without a solver: by counts (optassign_models/greedy/), or by load within its tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from optassign_models.goals.load import LOAD
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers
from optassign_models.greedy.plan import find_greedy_answer_now, find_greedy_plan
from optassign_models.load.placing import LoadTarget, even_out, place_actives, place_standbys
from optassign_models.policy.constants import EVEN_LOAD
from optassign_models.problem import IntArray, Placement
from optassign_models.rebalance import find_greedy_offload
from optassign_models.results import Found, FoundBy
from optassign_models.shares import spare_draining_clients
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import Case, Method, find_rebalance, keep_by_default_order
from optassign_models.zones import spread_zones


def make_greedy_method(order: RequestedOrder) -> Method:
    """Return the method of goals (b) to (f) in their default order, for any `order`; then tags and racks, by swaps."""
    return Method(
        order,
        find_balanced_now=_find_greedy_answer_now,
        place=lambda case: Found(
            spread_zones(case.problem, case.target, find_greedy_plan(case.problem, case.target), now=False),
            found_by=FoundBy.GREEDY,
        ),
        find_unserved=partial(
            _find_unserved,
            known="greedy knows goals (b) to (f) in their default order",
            then={TAG_SPREAD.name: "it swaps standbys", RACK_TRAFFIC.name: "tasks trade places"},
        ),
        search_free_plan=_search_greedy_plan,
        search_limited_plan=_search_again,
        find_offload=find_greedy_offload,
        keeps_remembered=_keep_by_zones,
        bound_configured=_bound_zones,
    )


def _find_greedy_answer_now(case: Case) -> Found:
    """Return an assignment balanced now if the heuristic finds one; moves may be more than the fewest."""
    answer = find_greedy_answer_now(case.problem, case.target)
    spread = None if answer is None else spread_zones(case.problem, case.target, answer, now=True)
    return Found(spread, found_by=FoundBy.GREEDY)


def _search_greedy_plan(case: Case) -> Found:
    """Return the greedy plan, or the answer balanced now with standbys swapped if that reaches more zones.

    Otherwise a group could be at rest with a poor plan, and find a better one at the next request.
    """
    plans = [plan for plan in (case.search_free_placement().whole,) if case.reaches_target(plan)]
    if not plans or TAG_SPREAD.evaluate(case.problem, plans[0]) > bound_by_numbers(case.problem):
        now = case.search_now().placement
        swapped = None if now is None else spread_zones(case.problem, case.target, now, now=False)
        plans += [swapped] if swapped is not None and case.reaches_target(swapped) else []
    return Found(min(plans, key=partial(TAG_SPREAD.evaluate, case.problem), default=None), found_by=FoundBy.GREEDY)


def _search_again(case: Case, free: Found) -> Found:
    """Return the plan with little imbalance that keeps the limits, if it is balanced; its standbys swapped if that keeps them.

    Limits are kept by moves that leave zones aside. Without the swaps a group at rest would make them at its next request.
    """
    placed = case.search_least_imbalance().whole
    plans = [placed, spread_zones(case.problem, case.target, placed, now=False)]
    allowed = [plan for plan in plans if case.may_be_plan(plan)]
    return Found(min(allowed, key=partial(TAG_SPREAD.evaluate, case.problem), default=None), found_by=FoundBy.GREEDY)


def _keep_by_zones(case: Case, own: Placement, found: Placement) -> bool:
    """Return whether to keep the remembered plan: if it has copies in more zones, or in as many and by the default order.

    A missed deadline must not cost a zone.
    """
    mine, theirs = (TAG_SPREAD.evaluate(case.problem, plan) for plan in (own, found))
    return mine < theirs or (mine == theirs and keep_by_default_order(case, own, found))


def _bound_zones(case: Case, now: Placement) -> dict[str, int] | None:
    """Return None if the remembered plan (perhaps a solver's) or a greedy plan reaches more zones than `now`; otherwise {}."""
    missing, others = TAG_SPREAD.evaluate(case.problem, now), [case.problem.remembered_plan]
    if missing > bound_by_numbers(case.problem):
        others.append(case.search_plan().placement)
    return {} if all(missing <= TAG_SPREAD.evaluate(case.problem, each) for each in others if each is not None) else None


def _find_unserved(case: Case, placed: Placement, *, known: str, then: Mapping[str, str]) -> dict[str, str]:
    """Return goal → why a method with the goals `known` does not serve it. `then`: goal → the method's change afterwards."""
    asked_for = [goal for goal in case.method.order.asked_for if case.load is None or goal != LOAD.name]
    return {goal: f"{known}; then {then[goal]} for this one" if goal in then else f"{known} only" for goal in asked_for}


def make_load_method(order: RequestedOrder, tolerance: float) -> Method:
    """Return the method: load within `tolerance` (a share), then goals (b) to (f), then tags and racks by swaps of standbys."""
    return Method(
        order,
        find_balanced_now=_answer_under_load,
        place=lambda case: Found(place_under_load(case), found_by=FoundBy.GREEDY),
        find_unserved=partial(
            _find_unserved,
            known="the load, then goals (b) to (f) in their default order",
            then=dict.fromkeys((TAG_SPREAD.name, RACK_TRAFFIC.name), "standbys are swapped"),
        ),
        set_target=lambda case: replace(
            case, target=spare_draining_clients(case.problem), load=LoadTarget.of(case.problem, tolerance)
        ),
    )


def _answer_under_load(case: Case) -> Found:
    """Return the answer on the way to a plan that is found without a solver, if it is balanced already."""
    answer = find_rebalance(case, place_under_load(case)).whole
    return Found(answer if case.reaches_target(answer) else None, found_by=FoundBy.GREEDY)


def get_load(case: Case) -> LoadTarget:
    """Return the target of a case under load."""
    assert case.load is not None
    return case.load


def place_under_load(case: Case, preferred: IntArray | None = None) -> Placement:
    """Return a plan that restores little, within the tolerance; the target's dealt copies if no such plan is found.

    preferred: (T,) clients of actives to try first, −1 for none.
    """
    load = get_load(case)
    return finish_under_load(case, place_actives(case.problem, load.loads, load.most_of_actives, preferred))


def finish_under_load(case: Case, active: IntArray) -> Placement:
    """Return the plan with these actives (T,), within the tolerance; with the dealt actives if no such plan is found."""
    load = get_load(case)
    placed = spread_zones(case.problem, case.target, _add_standbys(case, active), now=False)
    return placed if load.holds(placed) else _add_standbys(case, load.dealt.active)


def _add_standbys(case: Case, active: IntArray) -> Placement:
    """Return the placement with these actives (T,), and standbys.

    If standbys have weight, copies are traded; if loads remain too great, the placement is the target's `dealt`.
    """
    problem, load, loads = case.problem, get_load(case), get_load(case).loads
    placed = place_standbys(problem, loads, active, load.most)
    if not loads.standbys:
        return placed
    client = loads.locate(placed)
    is_cold = problem.find(loads.copy_task * problem.C + client) < 0
    client = even_out(loads, client, is_cold & ~loads.is_active, load.least * EVEN_LOAD)
    for movable in (~loads.is_active, np.ones(len(client), dtype=np.bool_)):
        client = even_out(loads, client, movable, load.most)
    placed = loads.read(client)
    return placed if load.holds(placed) else load.dealt
