"""How the stages of a rebalance are solved: the case that they share, and what a method finds, with defaults for the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from optassign_models.forced import Forced, find_forced, keeps_r3_to_r5, prepare
from optassign_models.goals import evaluate
from optassign_models.goals.default_order import ACTIVE_MIGRATIONS, COPIES_NOT_CAUGHT_UP, RESTORE_WORK, find_active_moves
from optassign_models.limits import PlacementLimit, choose_compatible, find_conflict, list_broken, mend
from optassign_models.load.dealing import LoadTarget
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.constants import KEPT_PLAN_PARTS, MENDING_ROUNDS, MIGRATIONS_PER_CHANGELOG, ROUNDING
from optassign_models.problem import BoolArray, IntArray, Placement, Problem
from optassign_models.rebalance import ChooseActives, rebalance
from optassign_models.results import Found, FoundBy
from optassign_models.shares import ShareFamilies, compute_imbalance, compute_shares, count_copies
from optassign_models.solving.inputs import RequestedLimits, RequestedOrder


@dataclass(frozen=True, eq=False)
class Case:
    """The problem, with as many pairs written out as the method wants, and what belongs to it."""

    problem: Problem
    forced: Forced
    """The copies that R3 to R5 force in this rebalance."""
    shares: ShareFamilies
    """The shares of balance, by the rules."""
    target: ShareFamilies
    """The shares that this rebalance demands: those of balance, or wider ones if they cannot be kept or are a cost."""
    load: LoadTarget | None = field(default=None, kw_only=True)
    """The target in place of shares, which demand nothing then; None unless load is balanced."""
    limits: RequestedLimits = field(default_factory=RequestedLimits, kw_only=True)
    """Those of an operator's limits that hold together. They bind the plan, and the answer that is its own plan. On the way R3
    to R5 decide where copies are."""
    method: Method = field(kw_only=True)
    limited: bool = field(default=False, kw_only=True)
    """A limit ended a search that chose among the limits."""
    searched: dict[str, Found] = field(default_factory=dict, init=False)
    """Name of a search → its result, for searches that were made."""

    def search_now(self) -> Found:
        """Return the assignment balanced now that the method finds."""
        return self.search_once("now", self.method.find_balanced_now)

    def search_plan(self) -> Found:
        """Return the plan that the method finds."""
        return self.search_once("plan", self.method.find_plan)

    def search_least_imbalance(self) -> Found:
        """Return the placement of little imbalance that the method finds."""
        return self.search_once("least imbalance", self.method.find_least_imbalance)

    def search_once(self, name: str, search: Callable[[Self], Found]) -> Found:
        """Return the result of a search, which is made the first time that this name is asked for."""
        if name not in self.searched:
            self.searched[name] = search(self)
        return self.searched[name]

    def reaches_target(self, answer: Placement) -> bool:
        """Return whether every count is inside the shares that are demanded, or the load is balanced."""
        return self.target.hold(count_copies(self.problem, answer)) if self.load is None else self.load.holds(answer)

    def keeps_limits(self, placed: Placement) -> bool:
        """Return whether a plan keeps the limits on placements."""
        return not list_broken(self.limits.placements, placed)

    def breaks_no_more_limits(self, placed: Placement, other: Placement) -> bool:
        """Return whether a plan breaks no more limits than another one."""
        limits = self.limits.placements
        return len(list_broken(limits, placed)) <= len(list_broken(limits, other))

    def may_be_plan(self, placed: Placement) -> bool:
        """Return whether every count is inside the shares that are demanded, and the limits are kept."""
        return self.reaches_target(placed) and self.keeps_limits(placed)

    def is_balanced(self, answer: Placement) -> bool:
        """Return whether every count is inside its share, or the load is balanced."""
        return self.shares.hold(count_copies(self.problem, answer)) if self.load is None else self.load.holds(answer)

    def has_no_more_imbalance(self, own: Placement, found: Placement) -> bool:
        """Return whether a remembered plan has no more imbalance than the plan found, for R11 if nothing is balanced."""
        if self.load is not None:
            mine, theirs = (self.load.measure(each) for each in (own, found))
            return mine[0] <= theirs[0] * (1 + ROUNDING) and mine[1] <= theirs[1]
        problem, shares = self.problem, self.shares
        return compute_imbalance(problem, shares, own) <= compute_imbalance(problem, shares, found)

    def has_fewer_faults(self, placed: Placement, other: Placement) -> bool:
        """Return whether a placement breaks fewer limits than another one, or as many and has less imbalance."""

        def measure(placed: Placement) -> tuple[float, ...]:
            broken = len(list_broken(self.limits.placements, placed))
            if self.load is not None:
                return broken, *self.load.measure(placed)
            return broken, *self.target.imbalance(count_copies(self.problem, placed))

        return measure(placed) < measure(other)

    def widen_target_to(self, answer: Placement) -> Case:
        """Return the same case, which demands no more of any count, or of loads, than the answer has."""
        if self.load is not None:
            return replace(self, load=self.load.widen_to(answer))
        return replace(self, target=self.target.widen_to(count_copies(self.problem, answer)))

    def as_restored(self, placed: Placement) -> Case:
        """Return the same case once these copies, and no others, have all their state."""
        problem = self.problem.as_restored(placed)
        return replace(self, problem=problem, forced=find_forced(problem))

    def keeps_r3_to_r5(self, answer: Placement) -> bool:
        """Return whether an assignment with the right number of copies keeps R3 and R5."""
        return keeps_r3_to_r5(self.problem, self.forced, answer)

    def has_few_moves(self, answer: Placement) -> bool:
        """Return whether an answer keeps the limit on active moves, or makes no move that R3 does not force."""
        if self.limits.most_moves is None:
            return True
        moved, free = self.find_moves(answer)
        return int(moved.sum()) <= self.limits.most_moves or not free.any()

    def allows_offload(self, options: OffloadOptions, active: IntArray) -> bool:
        """Return whether offload to these actives (T,) keeps the limit on moves, or moves no more than R3 forces."""
        most = self.limits.most_moves
        if most is None:
            return True
        forced, moved = (int(find_active_moves(self.problem, each).sum()) for each in (options.start, active))
        return moved <= max(most, forced)

    def find_moves(self, answer: Placement) -> tuple[BoolArray, BoolArray]:
        """Return (T,) owned tasks that become active on none of their owners, and of these the ones that an owner may keep."""
        problem, moved = self.problem, find_active_moves(self.problem, answer.active)
        may = np.bincount(problem.col_task[problem.col_owner & self.forced.leading], minlength=problem.T) > 0
        return moved, moved & may


def is_within_a_little(mine: float, theirs: float) -> bool:
    """Return whether a value of the remembered plan is no more than 2% above another's."""
    return (mine - theirs) * KEPT_PLAN_PARTS <= abs(theirs)


def explain_unserved(asked_for: Iterable[str], known: str, then: Mapping[str, str]) -> dict[str, str]:
    """Return goal → why a method with the goals `known` does not serve it. `then`: goal → what the method does afterwards."""
    return {goal: f"{known}; then {then[goal]} for this one" if goal in then else f"{known} only" for goal in asked_for}


class Method(ABC):
    """Finds what `solve.solve` asks for. One object serves one rebalance."""

    def __init__(self, order: RequestedOrder) -> None:
        self.order = order

    def make_case(self, problem: Problem, limits: RequestedLimits | None = None) -> Case:
        """Return the case of the problem, with those of an operator's limits that hold together: the last named give way."""
        case, limits = self.prepare_case(problem), limits if limits is not None else RequestedLimits()
        if not limits.placements or not case.problem.T:
            return replace(case, limits=replace(limits, placements=()))
        found = self.search_least_imbalance(case)
        start = found.whole

        def is_possible(some: Sequence[PlacementLimit]) -> bool:
            return self.can_hold(case, some, start) is True

        kept = choose_compatible(limits.placements, is_possible)
        words, given_way = limits.words or {}, {}
        for limit in limits.placements:
            if any(limit is one for one in kept):
                continue
            conflict = find_conflict([*kept, limit], is_possible)
            others = " and ".join(words[other.name] for other in conflict if other is not limit)
            if self.can_hold(case, conflict, start) is not False:
                why = "no placement was found that keeps it" + (f" together with {others}" if others else "")
            else:
                why = f"it cannot hold together with {others}" if others else "no placement of all tasks can keep it"
            given_way[limit.name] = why
        return replace(case, limits=replace(limits, placements=tuple(kept), given_way=given_way), limited=found.limited)

    def prepare_case(self, problem: Problem) -> Case:
        """Return the case, with as many pairs of the pools written out as columns as the method wants."""
        problem, forced = prepare(problem)
        shares = compute_shares(problem)
        return Case(problem, forced, shares, shares, method=self)

    @abstractmethod
    def find_balanced_now(self, case: Case) -> Found:
        """Return an assignment that keeps R1 to R5 and the target now, with few active moves; nothing if the plan decides."""

    def find_plan(self, case: Case) -> Found:
        """Return a plan that keeps R1, R2, R4 and the limits; inside the target unless `impossible`.

        Limits only take plans away: the best plan without them is the best with them, where it keeps them.
        """
        found = self.search_plan(case)
        if found.placement is None or case.keeps_limits(found.placement):
            return found
        limited = self.search_limited_plan(case, found)
        return replace(limited, limited=found.limited or limited.limited, default_reason=found.default_reason)

    @abstractmethod
    def search_plan(self, case: Case) -> Found:
        """Return a plan that keeps R1, R2 and R4, whatever the limits say; inside the target unless `impossible`."""

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """Return a plan that keeps the limits, too; `free`: one that does not."""
        mended = self.mend(case, free.whole)
        return Found(mended if case.may_be_plan(mended) else None, found_by=FoundBy.GREEDY)

    def find_least_imbalance(self, case: Case) -> Found:
        """Return a plan of little imbalance that keeps the limits, found by single moves, for groups without a balanced one.

        Under limits, what later rebalances would find is taken at once while it gets better. Otherwise a group could come to
        rest by a poor plan and find a better one at the next request.
        """
        found = self.search_least_imbalance(case)
        best, limited = self.mend(case, found.whole), found.limited
        for _ in range(MENDING_ROUNDS if case.limits.placements else 0):
            again = self.search_least_imbalance(case.as_restored(best))
            limited |= again.limited
            mended = self.mend(case, again.whole)
            if not case.has_fewer_faults(mended, best):
                break
            best = mended
        return Found(best, found_by=FoundBy.GREEDY, limited=limited)

    @abstractmethod
    def search_least_imbalance(self, case: Case) -> Found:
        """Return a placement of little imbalance, whatever the limits say."""

    def mend(self, case: Case, placed: Placement) -> Placement:
        """Return the placement, with few copies moved so that it keeps the limits."""
        return mend(case.problem, case.target, case.limits.placements, placed)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Return whether some placement keeps these limits; None where none was found from `start`, which proves nothing."""
        return None if list_broken(limits, mend(case.problem, case.target, limits, start)) else True

    def find_rebalance(self, case: Case, plan: Placement, *, hold: bool | BoolArray) -> Found:
        """Return the answer on the way to a plan: task by task, then all actives that this leaves open.

        `hold`: owners that may keep their tasks do, of all or these (T,).
        """
        return rebalance(case.problem, case.shares, plan, self.choose_open_actives(case), hold)

    @abstractmethod
    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Return the function that chooses the actives which the plan and R3 to R5 leave open in this rebalance."""

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """Return actives (T,) with fewer beyond clients' shares, and a bound of the goal's value. None if it is not served."""
        return None

    def bound_weighted(self, case: Case) -> tuple[bool, int | None]:
        """Return whether the plan is one of least weighted sum, and a bound of all plans in the unit of the weights."""
        return False, None

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """Return whether a remembered plan stays (R11) although the plan found is better, because it is so only by a little.

        Plans that are left for one of fewer actives not caught up, migrations or standby migrations flip between equals while
        lags grow, and tasks move twice. For the same reason a plan with more migrations has to be worth them.
        """
        mine, theirs = (evaluate(case.problem, case.forced, plan) for plan in (own, found))
        more = max(0, theirs[ACTIVE_MIGRATIONS.name] - mine[ACTIVE_MIGRATIONS.name])
        logged = case.problem.end[case.problem.logged]
        changelog = int(logged.sum()) // max(1, len(logged))
        for goal, one in ((RESTORE_WORK, changelog), (COPIES_NOT_CAUGHT_UP, 1)):
            saved = mine[goal.name] - theirs[goal.name]
            if not is_within_a_little(mine[goal.name], theirs[goal.name]) and saved * MIGRATIONS_PER_CHANGELOG > more * one:
                return False
        return True

    def bound_optimum(self, case: Case, answer: Placement) -> dict[str, int] | None:
        """Return a bound of each goal (a) if the assignment is at their optimum and keeps the limits; otherwise None.

        At the optimum probing may stop.
        """
        if not (case.keeps_limits(answer) and case.has_few_moves(answer)):
            return None
        return self.bound_configured(case, answer)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return these bounds without regard to limits; None if goals (a), or the weighted sum, could be better."""
        return {}

    def is_not_worth_moving(self, case: Case, previous: Placement) -> bool:
        """Return whether an assignment that keeps R3 to R5 stays although it is not balanced, as too little would be gained."""
        return False

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Return the requests of the snapshot (`RequestedOrder.asked_for`) that this plan does not serve → why."""
        return {}
