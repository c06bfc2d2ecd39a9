"""The hard goals of `goal-chain`: rules of the answer. They heal what is missing, and veto what would break them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from optassign.assignors.baselines.chain.goal import ChainGoal, Costs
from optassign.assignors.baselines.chain.model import ACTIVE, COPIES, Action, Draft
from optassign_models.problem import Placement


class CompleteGoal(ChainGoal):
    """Hard: every task is active and has all its standbys (R1, R4). Moves add and drop no copy; only its own healing does."""

    name = "complete"

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def measure(self, draft: Draft) -> int:
        """How many copies are missing."""
        wanted = len(draft.active) + draft.problem.standbys * sum(draft.logged)
        return wanted - sum(client >= 0 for client in draft.active) - sum(map(len, draft.standbys))

    def change(self, draft: Draft, action: Action) -> int:
        """Always 0: no action of another goal adds or drops a copy."""
        return 0

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Self-healing, as Cruise Control calls it.

        If an active is missing, the standby that lags least takes over. Other missing copies go to the client that restores
        least, among equals to the one with the fewest such copies for its size.
        """
        units = draft.problem.units
        actives, copies = np.array(draft.counts[ACTIVE]), np.array(draft.counts[COPIES])
        for task, active in enumerate(draft.active):
            if active < 0:
                ready = sorted(draft.standbys[task], key=lambda c: (self._costs.lag(task, c), c))
                client = ready[0] if ready else self._find_best(draft, task, actives / units)
                copies[client] += draft.logged[task] and not ready
                actives[client] += 1
                draft.add(task, client, active=True)
        for task in np.flatnonzero(draft.problem.logged).tolist():
            while len(draft.standbys[task]) < draft.problem.standbys:
                client = self._find_best(draft, task, copies / units)
                copies[client] += 1
                draft.add(task, client, active=False)

    def _find_best(self, draft: Draft, task: int, load: npt.NDArray[np.float64]) -> int:
        """The client without a copy that restores least, then of least load (C,); not a draining one while there is another."""
        key = np.lexsort((load, self._costs.of_clients(task), draft.problem.draining))
        order: list[int] = key.tolist()
        return next(client for client in order if not draft.holds(task, client))


class OneCopyPerClientGoal(ChainGoal):
    """Hard: all copies of a task are on different clients (R2)."""

    name = "one_copy_per_client"

    def measure(self, draft: Draft) -> int:
        """How many tasks have the active and a standby on one client."""
        return sum(client in standbys for client, standbys in zip(draft.active, draft.standbys, strict=True))

    def change(self, draft: Draft, action: Action) -> int:
        """How many copies would go where there is another one of their task."""
        return sum(not move.leadership and draft.holds(move.task, move.target) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Does nothing, since no start breaks the goal."""


class MostCaughtUpGoal(ChainGoal):
    """Hard, for an answer of this very rebalance: copies are on the most caught-up clients (R3, R5)."""

    name = "most_caught_up"

    def __init__(self, costs: Costs, find_nearest: Callable[[Placement], Placement]) -> None:
        """`find_nearest`: gives the assignment that keeps R3 and R5 with most copies where the given one has them."""
        self._costs, self._find_nearest = costs, find_nearest

    def measure(self, draft: Draft) -> int:
        """How many tasks have copies where they must not be now."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(not self._costs.is_allowed_now(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """How many of the tasks that move would have copies where they must not be now."""
        return sum(not self._costs.is_allowed_now(move.task, *draft.copies_after(move)) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Takes the nearest assignment that is allowed, if this one is not."""
        if self.measure(draft):
            draft.load(self._find_nearest(draft.placement()))
