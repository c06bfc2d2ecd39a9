"""The assignor `goal-chain`: goals optimised one after the other, as by Cruise Control (KIP-441, "Related Work", "Cruise
Control").

Cruise Control has an ordered list of goals, hard ones first. Each goal gets the assignment of the previous one and applies
actions greedily: a move of an active or a standby, a leadership movement from an active to a standby, a swap. Every earlier
goal may veto an action. The search ends at a satisfactory assignment, which need not be the best. It starts from the current
assignment and heals missing copies. An executor then limits the number of concurrent movements; leadership moves at once.

Translated:

* The goals and their order are optassign's (`optassign/goals/`). Hard goals are the active and the standbys of every task, one
  copy per client, and for the current answer R3 and R5. Next are the shares of balance, then goals (b) to (f) of the snapshot's
  order. Goals (a) are unknown here.
* The executor is `solve.py`: at most max_warmup_replicas warm-ups; caught-up copies change roles at once; a follow-up while the
  target is not reached.
* While a target is not reached, the search starts from it, and the chain is repeated until nothing changes. So the target
  converges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optassign.assignors.baselines.baseline import find_surviving
from optassign.assignors.baselines.chain_draft import ChainGoal, Costs, Draft
from optassign.assignors.baselines.chain_goals import (
    ActiveMigrationsGoal,
    ActiveMovesGoal,
    ActivesNotCaughtUpGoal,
    BalanceGoal,
    CompleteGoal,
    CopiesNotCaughtUpGoal,
    MostCaughtUpGoal,
    OneCopyPerClientGoal,
    RestoreWorkGoal,
    StandbyMigrationsGoal,
    TaskGoal,
)
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_situation
from optassign.utilities import AssignmentError
from optassign_models.goals import DEFAULT_ORDER
from optassign_models.goals.goal import ACTIVE_MOVES
from optassign_models.greedy.plan import choose_greedy_actives
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.problem import Problem
from optassign_models.rebalance import rebalance
from optassign_models.results import Found
from optassign_models.shares import ShareFamilies
from optassign_models.solving.inputs import RequestedLimits
from optassign_models.solving.method import Case, Method
from optassign_models.solving.situation import Situation
from optassign_models.solving.solve import solve

CHAIN_PASSES = 6
"""The most passes of the whole chain in a rebalance; the next rebalance continues from the result."""
CHAIN_PATIENCE = 10
"""The search gives up after this many counts that no action improves, which bounds the time."""


NAME = "goal-chain"
_KNOWN = frozenset({ACTIVE_MOVES.name, *(goal.name for goal in DEFAULT_ORDER)})
"""The goals of the target with a class of their own in `chain_goals.py`."""


class GoalChainAssignor:
    """KIP-924 TaskAssignor that optimises one goal after the other. The time limit has no effect."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        """Do nothing: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the answer; never raise for a valid snapshot."""
        situation = read_situation(state)
        # It serves no limits; the report says so.
        situation = replace(situation, requests=replace(situation.requests, limits=RequestedLimits()))
        return write_answer(state, situation, solve(situation, make_chain_method(situation)), NAME)

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Do nothing: the assignor keeps no state between calls."""


def make_chain_method(situation: Situation) -> Method:
    """Return the method that solves the stages by the chain. Nothing is proven, so there are no bounds."""
    order, chain = situation.requests.order, Chain(situation)
    unknown = {goal: f"{NAME} does not know it" for goal in order.asked_for if goal not in _KNOWN}
    return Method(order, chain.find_balanced_now, chain.place, find_unserved=lambda case, placed: unknown)


class Chain:
    """The chain of goals, with the placement from which its next search starts."""

    def __init__(self, situation: Situation) -> None:
        own = situation.problem.remembered_plan
        self._start = own if own is not None else find_surviving(situation)
        self._searched: ShareFamilies | None = None
        """The shares for which `_start` was searched."""
        self._goals = tuple(name for name in situation.requests.order.names if name in _KNOWN)

    def find_balanced_now(self, case: Case) -> Found:
        """Return the result of the chain with R3 and R5 as hard goals; no placement if a hard goal or a share is violated."""
        problem, shares = case.problem, case.target
        if _is_out_of_reach(problem, shares):
            return Found(None, found_by=NAME)
        costs, draft = Costs(problem), Draft(problem, self._start)
        draft.open_pool = (problem.forced.pool_leading | problem.forced.pool_tied).tolist()
        chain = (
            CompleteGoal(costs),
            OneCopyPerClientGoal(),
            MostCaughtUpGoal(costs, lambda near: rebalance(problem, shares, near, choose_greedy_actives).whole),
            *make_balance_goals(shares, costs, CHAIN_PATIENCE),
        )
        if not optimise(chain, draft, until_missed=True):
            return Found(None, found_by=NAME)
        optimise((*chain, ActiveMovesGoal(costs, draft)), draft)
        return Found(draft.placement(), found_by=NAME)

    def place(self, case: Case) -> Found:
        """Return Cruise Control's proposal, balanced or not. A search with other shares starts from it."""
        problem, shares = case.problem, case.target
        if shares is self._searched:
            return Found(self._start, found_by=NAME)
        costs, draft = Costs(problem), Draft(problem, self._start)
        soft = make_plan_goals(self._goals, costs, draft)
        chain = (CompleteGoal(costs), OneCopyPerClientGoal(), *make_balance_goals(shares, costs), *soft)
        for _ in range(CHAIN_PASSES):
            before = draft.actions
            optimise(chain, draft)
            if draft.actions == before:
                break
        self._searched, self._start = shares, draft.placement()
        return Found(self._start, found_by=NAME)


def optimise(chain: Sequence[ChainGoal], draft: Draft, *, until_missed: bool = False) -> bool:
    """Run one pass of the chain: each goal in turn, under the veto of earlier ones.

    With `until_missed`, end and return False at the first goal that is not fully met.
    """
    for number, goal in enumerate(chain):
        goal.optimise(draft, chain[:number])
        if until_missed and goal.measure(draft):
            return False
    return True


def make_balance_goals(shares: ShareFamilies, costs: Costs, patience: int = 100) -> tuple[ChainGoal, ...]:
    """Return a goal of balance for each family of shares, in order."""
    return tuple(BalanceGoal(family, share, costs, patience) for family, share in enumerate(shares))


def make_plan_goals(names: Sequence[str], costs: Costs, draft: Draft) -> tuple[ChainGoal, ...]:
    """Return the named goals, (b) to (f) or `active_moves`, in the order of `names` (`optassign/goals/order.py`)."""
    known: tuple[TaskGoal, ...] = (
        RestoreWorkGoal(costs),
        CopiesNotCaughtUpGoal(costs),
        ActivesNotCaughtUpGoal(costs),
        ActiveMovesGoal(costs, draft),
        ActiveMigrationsGoal(costs, draft),
        StandbyMigrationsGoal(costs, draft),
    )
    by_name = {goal.name: goal for goal in known}
    return tuple(by_name[name] for name in names)


def _is_out_of_reach(problem: Problem, shares: ShareFamilies) -> bool:
    """Return whether R3 or R5 keeps a client, mostly a new client, below the lower bound of its share of copies or actives."""
    forced = problem.forced
    for allowed, pool, share in (
        (forced.mandatory | forced.tied, forced.pool_tied, shares.copies),
        (forced.leading, forced.pool_leading, shares.active),
    ):
        in_columns = np.bincount(problem.col_client[allowed], minlength=problem.C)
        in_pools = int(pool.sum()) - np.bincount(problem.col_client[pool[problem.col_task]], minlength=problem.C)
        if np.any(in_columns + in_pools < share.low):
            return True
    return False
