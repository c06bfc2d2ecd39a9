"""How the stages of a rebalance are solved: the case that they share, and the functions of a method, with defaults for most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from optassign_models.goals import evaluate
from optassign_models.goals.goal import ACTIVE_MIGRATIONS, COPIES_NOT_CAUGHT_UP, RESTORE_WORK, find_active_moves
from optassign_models.greedy.plan import choose_greedy_actives
from optassign_models.limits import PlacementLimit, choose_compatible, find_conflict, list_broken, mend
from optassign_models.load.placing import LoadTarget, choose_least_loaded
from optassign_models.policy.constants import KEPT_PLAN_PARTS, MENDING_ROUNDS, MIGRATIONS_PER_CHANGELOG, ROUNDING
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, exact_sum, prepare
from optassign_models.rebalance import ChooseActives, OffloadOptions, rebalance
from optassign_models.results import Effort, Found, FoundBy
from optassign_models.shares import ShareFamilies, compute_shares, count_copies
from optassign_models.solving.inputs import RequestedLimits, RequestedOrder


@dataclass(frozen=True, eq=False)
class Case:
    """One problem to solve, prepared by `make_case`, with its shares, limits and method, and a cache of searches."""

    problem: Problem
    shares: ShareFamilies
    """The shares of balance, by the rules."""
    target: ShareFamilies
    """The shares that this rebalance demands: those of balance, or wider ones if they cannot be kept or are a cost."""
    method: Method
    load: LoadTarget | None = field(default=None, kw_only=True)
    """The target of loads, in place of shares; None unless load is balanced."""
    limits: RequestedLimits = field(default_factory=RequestedLimits, kw_only=True)
    """The operator's limits that hold together. They bind the plan, and an answer that is its own plan. On the way R3 to R5
    decide where copies are."""
    searched: dict[str, Found] = field(default_factory=dict, init=False)
    """Name of a search → its result, for searches that were made."""

    @property
    def effort(self) -> Effort:
        """The effort of the method, which must have a solver."""
        assert self.method.effort is not None
        return self.method.effort

    def search_now(self) -> Found:
        """Return the method's assignment that is balanced now. A case makes each search once."""
        return self._search_once("now", self.method.find_balanced_now)

    def search_plan(self) -> Found:
        """Return the method's plan that keeps the limits."""
        return self._search_once("plan", find_plan)

    def search_least_imbalance(self) -> Found:
        """Return the method's placement with little imbalance, which keeps the limits if the method can."""
        return self._search_once("least imbalance", self.method.find_least_imbalance)

    def search_free_placement(self) -> Found:
        """Return the method's placement with little imbalance, regardless of the limits."""
        return self._search_once("free placement", self.method.place)

    def _search_once(self, name: str, search: Callable[[Case], Found]) -> Found:
        """Return the result of a search, which is made at the first call with this name."""
        if name not in self.searched:
            self.searched[name] = search(self)
        return self.searched[name]

    def reaches_target(self, answer: Placement) -> bool:
        """Return whether every count is inside `target`, and the load is balanced if it is a goal."""
        return self.target.hold(count_copies(self.problem, answer)) and (self.load is None or self.load.holds(answer))

    def keeps_limits(self, placed: Placement) -> bool:
        """Return whether a plan keeps the limits on placements."""
        return not list_broken(self.limits.placements, placed)

    def breaks_no_more_limits(self, placed: Placement, other: Placement) -> bool:
        """Return whether a plan breaks no more limits than another one."""
        limits = self.limits.placements
        return len(list_broken(limits, placed)) <= len(list_broken(limits, other))

    def may_be_plan(self, placed: Placement) -> bool:
        """Return whether a placement reaches the target and keeps the limits."""
        return self.reaches_target(placed) and self.keeps_limits(placed)

    def is_balanced(self, answer: Placement) -> bool:
        """Return whether every count is inside its share, or the load is balanced."""
        return self.shares.hold(count_copies(self.problem, answer)) if self.load is None else self.reaches_target(answer)

    def has_no_more_imbalance(self, own: Placement, found: Placement) -> bool:
        """Return whether the remembered plan has no more imbalance than the found plan, for R11 if no plan is balanced."""
        mine, theirs = (self._measure(each, self.shares) for each in (own, found))
        if self.load is None:
            return mine <= theirs
        return mine[0] <= theirs[0] * (1 + ROUNDING) and mine[1] <= theirs[1]

    def has_fewer_faults(self, placed: Placement, other: Placement) -> bool:
        """Return whether a placement breaks fewer limits than another one, or as many and has less imbalance."""
        broken, others = (len(list_broken(self.limits.placements, each)) for each in (placed, other))
        return (broken, *self._measure(placed, self.target)) < (others, *self._measure(other, self.target))

    def _measure(self, placed: Placement, shares: ShareFamilies) -> tuple[float, ...]:
        """Return the imbalance of each family of shares or, under load, the greatest load and the number of idle threads."""
        return shares.imbalance(count_copies(self.problem, placed)) if self.load is None else self.load.measure(placed)

    def widen_target_to(self, answer: Placement) -> Case:
        """Return the case with its target widened to the counts, or the load, of the answer."""
        target = self.target.widen_to(count_copies(self.problem, answer))
        return replace(self, target=target, load=None if self.load is None else self.load.widen_to(answer))

    def after_restoring(self, placed: Placement) -> Case:
        """Return the case of the next rebalance, if all copies of `placed` are restored and all other state is gone."""
        return replace(self, problem=self.problem.after_restoring(placed))

    def has_few_moves(self, answer: Placement) -> bool:
        """Return whether an answer keeps the limit on active moves, or makes no move that R3 does not force."""
        if self.limits.most_moves is None:
            return True
        moved, free = self.find_moves(answer)
        return int(moved.sum()) <= self.limits.most_moves or not free.any()

    def bound_optimum(self, answer: Placement) -> dict[str, int] | None:
        """Return a bound of each goal (a) if the assignment is at their optimum and keeps the limits; otherwise None.

        At the optimum probing may stop.
        """
        if not (self.keeps_limits(answer) and self.has_few_moves(answer)):
            return None
        return self.method.bound_configured(self, answer)

    def find_moves(self, answer: Placement) -> tuple[BoolArray, BoolArray]:
        """Return (T,) whether an owned task becomes active on none of its owners, and (T,) whether that move is free (R3)."""
        problem, moved = self.problem, find_active_moves(self.problem, answer.active)
        may = np.bincount(problem.col_task[problem.col_owner & self.problem.forced.leading], minlength=problem.T) > 0
        return moved, moved & may


def is_within_tolerance(mine: float, theirs: float) -> bool:
    """Return whether the first value, of the remembered plan, is at most 2% above the second."""
    return (mine - theirs) * KEPT_PLAN_PARTS <= abs(theirs)


def find_plan(case: Case) -> Found:
    """Return a plan inside the target that keeps R1, R2, R4 and the limits; no placement if none is found.

    Limits only exclude plans, so the best plan without limits is the best with limits if it keeps them.
    """
    found = case.method.search_free_plan(case)
    if found.placement is None or case.keeps_limits(found.placement):
        return found
    limited = case.method.search_limited_plan(case, found)
    return replace(limited, limited=found.limited or limited.limited, default_reason=found.default_reason)


def take_balanced(case: Case) -> Found:
    """Return the method's placement with little imbalance, if it is inside the target."""
    found = case.search_free_placement()
    return found if case.reaches_target(found.whole) else replace(found, placement=None)


def mend_plan(case: Case, free: Found) -> Found:
    """Return the plan after few moves towards the limits; no placement if it then breaks a limit or the target."""
    mended = mend(case.problem, case.target, case.limits.placements, free.whole)
    return Found(mended if case.may_be_plan(mended) else None, found_by=FoundBy.GREEDY)


def mend_least_imbalance(case: Case) -> Found:
    """Return a plan with little imbalance after single moves towards the limits, for groups without a balanced plan.

    Under limits, the searches of later rebalances are made at once while they improve the plan. Otherwise a group could come
    to rest with a poor plan and find a better one at the next request.
    """
    best, limited = None, False
    for _ in range(1 + MENDING_ROUNDS if case.limits.placements else 1):
        found = (case if best is None else case.after_restoring(best)).search_free_placement()
        limited |= found.limited
        mended = mend(case.problem, case.target, case.limits.placements, found.whole)
        if best is not None and not case.has_fewer_faults(mended, best):
            break
        best = mended
    return Found(best, found_by=FoundBy.GREEDY, limited=limited)


def keep_by_default_order(case: Case, own: Placement, found: Placement) -> bool:
    """Return whether the remembered plan stays (R11): the found plan saves too little in goals (b) and (c).

    The later goals never replace a plan: plans would flip between equals while lags grow, and tasks would move twice. For the
    same reason a plan with more migrations has to be worth them.
    """
    mine, theirs = (evaluate(case.problem, plan) for plan in (own, found))
    more = max(0, theirs[ACTIVE_MIGRATIONS.name] - mine[ACTIVE_MIGRATIONS.name])
    logged = case.problem.end[case.problem.logged]
    changelog = exact_sum(logged) // max(1, len(logged))
    for goal, one in ((RESTORE_WORK, changelog), (COPIES_NOT_CAUGHT_UP, 1)):
        saved = mine[goal.name] - theirs[goal.name]
        if not is_within_tolerance(mine[goal.name], theirs[goal.name]) and saved * MIGRATIONS_PER_CHANGELOG > more * one:
            return False
    return True


@dataclass(frozen=True, eq=False)
class Method:
    """The functions by which a method solves the stages of a case. One object serves one rebalance."""

    order: RequestedOrder
    find_balanced_now: Callable[[Case], Found]
    """Returns an assignment that keeps R1 to R5 and the target now, with few active moves; no placement if the plan decides."""
    place: Callable[[Case], Found]
    """Returns a placement with little imbalance that keeps R1, R2 and R4, regardless of the limits."""
    find_unserved: Callable[[Case, Placement], Mapping[str, str]]
    """Returns the requests of the snapshot (`RequestedOrder.asked_for`) that this plan does not serve → why."""
    effort: Effort | None = None
    """None for a method without a solver."""
    start: Placement | None = None
    """A plan to begin with. If it is allowed, a solver's plan is no worse."""
    set_target: Callable[[Case], Case] = lambda case: case
    """Returns the case with the method's own target in place of the shares of balance."""
    search_free_plan: Callable[[Case], Found] = take_balanced
    """Returns a plan inside the target that keeps R1, R2 and R4, regardless of the limits; no placement if none is found."""
    search_limited_plan: Callable[[Case, Found], Found] = mend_plan
    """Returns a plan that also keeps the limits, given a plan that breaks some."""
    find_least_imbalance: Callable[[Case], Found] = mend_least_imbalance
    """Returns a plan with little imbalance that keeps the limits if the method can."""
    can_hold: Callable[[Problem, Sequence[PlacementLimit]], bool | None] = lambda problem, limits: None
    """Returns whether some placement keeps these limits; None if unknown. Called only if single moves find no placement."""
    choose_actives: ChooseActives = choose_greedy_actives
    """Chooses the actives that the plan and R3 to R5 leave open in this rebalance, unless load is balanced."""
    find_offload: Callable[[OffloadOptions], tuple[IntArray, int | None]] | None = None
    """Returns actives (T,) with fewer beyond clients' shares, and a bound of goal `offload`; None if the method has none."""
    keeps_remembered: Callable[[Case, Placement, Placement], bool] = keep_by_default_order
    """Returns whether the remembered plan stays (R11) although the found plan is better."""
    bound_configured: Callable[[Case, Placement], dict[str, int] | None] = lambda case, now: {}
    """Returns a bound of each goal (a), without regard to limits; None if these goals, or the weighted sum, could be better."""


def make_case(method: Method, problem: Problem, limits: RequestedLimits | None = None) -> Case:
    """Return the case of the problem, with the operator's limits that hold together; of others the last named give way."""
    problem = prepare(problem)
    shares = compute_shares(problem)
    case, limits = method.set_target(Case(problem, shares, shares, method)), limits or RequestedLimits()
    if not limits.placements or not problem.T:
        return replace(case, limits=replace(limits, placements=()))
    start = case.search_free_placement()

    def can_hold(some: Sequence[PlacementLimit]) -> bool | None:
        """Return whether some placement keeps these limits; None if unknown."""
        mended = mend(problem, case.target, some, start.whole)
        return method.can_hold(problem, some) if list_broken(some, mended) else True

    kept = choose_compatible(limits.placements, can_hold)
    words, given_way = limits.words or {}, {}
    for limit in limits.placements:
        if any(limit is one for one in kept):
            continue
        conflict = find_conflict([*kept, limit], can_hold)
        others = " and ".join(words[other.name] for other in conflict if other is not limit)
        if can_hold(conflict) is not False:
            in_time = "" if method.effort is None or method.effort.deadline.left else " in time"
            why = f"no placement was found{in_time} that keeps it" + (f" together with {others}" if others else "")
        else:
            why = f"it cannot hold together with {others}" if others else "no placement of all tasks can keep it"
        given_way[limit.name] = why
    case = replace(case, limits=replace(limits, placements=tuple(kept), given_way=given_way))
    case.searched["free placement"] = start  # limits do not affect this search
    return case


def find_rebalance(case: Case, plan: Placement, *, hold: bool | BoolArray = False) -> Found:
    """Return the answer on the way to a plan: task by task, then all actives that this leaves open.

    `hold`: as for `rebalance`.
    """
    choose = case.method.choose_actives if case.load is None else partial(choose_least_loaded, case.load.loads)
    return rebalance(case.problem, case.shares, plan, choose, hold)
