"""The goals of `goal-chain`: what each measures, which actions it wants, and which of later goals it vetoes.

Hard goals, and goals that are sums over tasks; those of balance are in `balance.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from optassign.assignors.baselines.chain.costs import Costs
from optassign.assignors.baselines.chain.model import ACTIVE, COPIES, Action, Draft, Move
from optassign.models.problem import Placement

_BATCH = 50
"""Moves that are tried by themselves, then as halves of swaps, before the next ones are looked at."""
_MOST_BATCHES, _MOST_BATCHES_OF_SWAPS = 40, 2
"""What is tried to mend one thing."""


class Goal(ABC):
    """One goal of the chain (Cruise Control's `Goal`)."""

    name: str

    @abstractmethod
    def measure(self, draft: Draft) -> int:
        """How far it is from being met; 0 is met."""

    @abstractmethod
    def change(self, draft: Draft, action: Action) -> int:
        """By how much an action would alter the measure."""

    @abstractmethod
    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """Take the actions that help and that no earlier goal vetoes."""

    def accepts(self, draft: Draft, action: Action) -> bool:
        """Its veto (Cruise Control's `actionAcceptance`)."""
        return self.change(draft, action) <= 0

    def helps(self, draft: Draft, action: Action, earlier: Sequence[Goal]) -> bool:
        """Whether an action brings it nearer and nobody vetoes."""
        return self.change(draft, action) < 0 and all(goal.accepts(draft, action) for goal in earlier)

    def take_first(self, draft: Draft, moves: Iterable[Move], earlier: Sequence[Goal], costs: Costs) -> bool:
        """Takes the first move that helps, by itself or as one half of a swap with the other half that restores least. False
        if there is none."""
        moves = iter(moves)
        for number in range(_MOST_BATCHES):
            batch = list(islice(moves, _BATCH))
            for move in batch:
                if self.helps(draft, (move,), earlier):
                    draft.apply((move,))
                    return True
            if number < _MOST_BATCHES_OF_SWAPS:
                for move in batch:
                    swaps = [(move, back) for back in _ways_back(draft, move)]
                    swaps = [swap for swap in swaps if self.helps(draft, swap, earlier)]
                    if swaps:
                        draft.apply(min(swaps, key=lambda swap: costs.of_pair(swap[1].task, swap[1].target)))
                        return True
            if len(batch) < _BATCH:
                break
        return False


def _ways_back(draft: Draft, move: Move) -> Iterator[Move]:
    """Moves of other tasks from the target of a move to its source."""
    source, target = move.target, move.source
    for task in draft.copies_on(source):
        if task == move.task:
            continue
        if target in draft.standbys[task]:
            if draft.active[task] == source:
                yield Move(task, source, target, leadership=True)
        elif draft.active[task] != target:
            yield Move(task, source, target)


class CompleteGoal(Goal):
    """Hard: R1 and R4, every copy is somewhere. Moves add and drop none: only its own healing does."""

    name = "complete"

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def measure(self, draft: Draft) -> int:
        """Missing copies."""
        wanted = len(draft.active) + draft.problem.standbys * sum(draft.logged)
        return wanted - sum(client >= 0 for client in draft.active) - sum(map(len, draft.standbys))

    def change(self, draft: Draft, action: Action) -> int:
        """None."""
        return 0

    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """Self-healing: the standby that lags least takes over; what else is missing goes where it restores least, and
        among those to the client with the fewest such copies for its size."""
        units = draft.problem.units
        actives, copies = np.array(draft.counts[ACTIVE]), np.array(draft.counts[COPIES])
        for task, active in enumerate(draft.active):
            if active < 0:
                ready = sorted(draft.standbys[task], key=lambda c: (self._costs.lag(task, c), c))
                client = ready[0] if ready else self._best(draft, task, actives / units)
                copies[client] += draft.logged[task] and not ready
                actives[client] += 1
                draft.add(task, client, active=True)
        for task in np.flatnonzero(draft.problem.logged).tolist():
            while len(draft.standbys[task]) < draft.problem.standbys:
                client = self._best(draft, task, copies / units)
                copies[client] += 1
                draft.add(task, client, active=False)

    def _best(self, draft: Draft, task: int, load: npt.NDArray[np.float64]) -> int:
        """Not a draining client while there is another."""
        key = np.lexsort((load, self._costs.of_clients(task), draft.problem.draining))
        order: list[int] = key.tolist()
        return next(client for client in order if not draft.holds(task, client))


class OneCopyPerClientGoal(Goal):
    """Hard: R2."""

    name = "one_copy_per_client"

    def measure(self, draft: Draft) -> int:
        """Clients that are both active and standby of a task."""
        return sum(client in standbys for client, standbys in zip(draft.active, draft.standbys, strict=True))

    def change(self, draft: Draft, action: Action) -> int:
        """Copies that would meet another one of their task."""
        return sum(not move.leadership and draft.holds(move.task, move.target) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """Nothing: no start breaks it."""


class MostCaughtUpGoal(Goal):
    """Hard, for what runs in this rebalance: R3 and R5."""

    name = "most_caught_up"

    def __init__(self, costs: Costs, nearest: Callable[[Placement], Placement]) -> None:
        """`nearest`: the assignment that keeps R3 and R5 with most copies where they are."""
        self._costs, self._nearest = costs, nearest

    def measure(self, draft: Draft) -> int:
        """Tasks with copies where they must not be now."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(not self._costs.allowed_now(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """Tasks that would be such."""
        return sum(not self._costs.allowed_now(move.task, *draft.after(move)) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """The nearest assignment, if this one is not allowed."""
        if self.measure(draft):
            draft.load(self._nearest(draft.placement()))


class TaskGoal(Goal):
    """Soft: the sum of a score of each task's copies."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs

    @abstractmethod
    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Of one task, 0 or more."""

    @abstractmethod
    def remedies(self, draft: Draft, task: int) -> Iterator[Move]:
        """Moves that may lower the score of a task."""

    def measure(self, draft: Draft) -> int:
        """The sum."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(self.score(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """Of the tasks that move."""
        return sum(self.score(move.task, *draft.after(move)) - self._now(draft, move.task) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """Task by task, the greatest score first."""
        scores = ((self._now(draft, task), task) for task in range(len(draft.active)))
        for _, task in sorted(((score, task) for score, task in scores if score), key=lambda entry: (-entry[0], entry[1])):
            while self._now(draft, task) and self.take_first(draft, [*self.remedies(draft, task)], earlier, self.costs):
                pass

    def _now(self, draft: Draft, task: int) -> int:
        return self.score(task, draft.active[task], draft.standbys[task])


class RestoreWorkGoal(TaskGoal):
    """Goal (b): offsets to be replayed."""

    name = "restore_work"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Restore work beyond what this answer forces."""
        return self.costs.work(task, (active, *standbys))[0]

    def remedies(self, draft: Draft, task: int) -> Iterator[Move]:
        """To clients with more of the state, the cheapest first."""
        targets = [client for client in draft.task_columns[task] if not draft.holds(task, client)]
        for target in sorted(targets, key=lambda client: (self.costs.of_pair(task, client), client)):
            for source in (draft.active[task], *sorted(draft.standbys[task])):
                yield Move(task, source, target)


class ColdCopiesGoal(RestoreWorkGoal):
    """Goal (c): copies of rank above 0."""

    name = "cold_copies"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Cold copies beyond what this answer forces."""
        return self.costs.work(task, (active, *standbys))[1]


class ColdActivesGoal(TaskGoal):
    """Goal (d): active tasks that are not caught up."""

    name = "cold_actives"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """1 or 0."""
        return int(not self.costs.caught_up(task, active))

    def remedies(self, draft: Draft, task: int) -> Iterator[Move]:
        """Leadership to a caught-up standby."""
        for target in sorted(draft.standbys[task]):
            if self.costs.caught_up(task, target):
                yield Move(task, draft.active[task], target, leadership=True)


class ActiveMovesGoal(TaskGoal):
    """Goal (e): active tasks that leave their owners."""

    name = "active_moves"

    def __init__(self, costs: Costs, draft: Draft) -> None:
        super().__init__(costs)
        self._owners = [[c for c in columns if costs.owned(task, c)] for task, columns in enumerate(draft.task_columns)]

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """1 or 0."""
        return int(bool(self._owners[task]) and active not in self._owners[task])

    def remedies(self, draft: Draft, task: int) -> Iterator[Move]:
        """Back to an owner."""
        for owner in self._owners[task]:
            yield Move(task, draft.active[task], owner, leadership=owner in draft.standbys[task])


class StandbyMovesGoal(TaskGoal):
    """Goal (f): standbys that leave their clients."""

    name = "standby_moves"

    def __init__(self, costs: Costs, draft: Draft) -> None:
        super().__init__(costs)
        self._before = [[c for c in columns if costs.was_standby(task, c)] for task, columns in enumerate(draft.task_columns)]
        self._history: list[bool] = draft.problem.has_history.tolist()

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Standbys that are new to their clients."""
        return sum(client not in self._before[task] for client in standbys) if self._history[task] else 0

    def remedies(self, draft: Draft, task: int) -> Iterator[Move]:
        """Back to a client that had one."""
        for source in sorted(draft.standbys[task].difference(self._before[task])):
            for target in self._before[task]:
                if not draft.holds(task, target):
                    yield Move(task, source, target)
