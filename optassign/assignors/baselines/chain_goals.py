"""The goals of `goal-chain`: the rules of an answer, balance by families of shares, and goals that are sums over tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from optassign.assignors.baselines.chain_draft import (
    ACTIVE,
    COPIES,
    GROUP_ACTIVE,
    GROUP_COPIES,
    Action,
    ChainGoal,
    Costs,
    Draft,
    DraftMove,
)
from optassign_models.problem import Placement
from optassign_models.shares import ShareBounds


class CompleteGoal(ChainGoal):
    """The hard goal that every task is active and has all its standbys (R1, R4). No other goal adds copies."""

    name = "complete"

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def measure(self, draft: Draft) -> int:
        """Return the number of missing copies."""
        wanted = len(draft.active) + draft.problem.standbys * sum(draft.logged)
        return wanted - sum(client >= 0 for client in draft.active) - sum(map(len, draft.standbys))

    def change(self, draft: Draft, action: Action) -> int:
        """Return 0: no action of another goal adds or removes a copy."""
        return 0

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Add missing copies (Cruise Control's self-healing).

        If an active is missing, the standby that lags least takes over. Other missing copies go to the client that restores
        least, among equals to the client with the fewest such copies for its size.
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
        """Return the client without a copy that restores least, then has the least `load` (C,); draining clients come last."""
        key = np.lexsort((load, self._costs.of_clients(task), draft.problem.draining))
        order: list[int] = key.tolist()
        return next(client for client in order if not draft.holds(task, client))


class OneCopyPerClientGoal(ChainGoal):
    """The hard goal that all copies of a task are on different clients (R2)."""

    name = "one_copy_per_client"

    def measure(self, draft: Draft) -> int:
        """Return the number of tasks with active and standby on one client."""
        return sum(client in standbys for client, standbys in zip(draft.active, draft.standbys, strict=True))

    def change(self, draft: Draft, action: Action) -> int:
        """Return the number of copies that would move to a client with another copy of their task."""
        return sum(not move.leadership and draft.holds(move.task, move.target) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Do nothing: no start breaks the goal."""


class MostCaughtUpGoal(ChainGoal):
    """The hard goal, for the answer of this rebalance, that copies are on the most caught-up clients (R3, R5)."""

    name = "most_caught_up"

    def __init__(self, costs: Costs, find_nearest: Callable[[Placement], Placement]) -> None:
        """`find_nearest`: returns the assignment that keeps R3 and R5 and shares most copies with the given one."""
        self._costs, self._find_nearest = costs, find_nearest

    def measure(self, draft: Draft) -> int:
        """Return the number of tasks with copies that R3 or R5 forbid now."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(not self._costs.is_allowed_now(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """Return the number of moved tasks whose copies R3 or R5 would forbid now."""
        return sum(not self._costs.is_allowed_now(move.task, *draft.copies_after(move)) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Replace the draft by the nearest allowed assignment, unless it is allowed."""
        if self.measure(draft):
            draft.load(self._find_nearest(draft.placement()))


BALANCE_GOALS = ("balance_active", "balance_stateful_active", "balance_copies", "balance_group_active", "balance_group_copies")
"""A name for each family, in order."""


class BalanceGoal(ChainGoal):
    """The soft goal that every count of a family is in its share (as Cruise Control's replica distribution goals)."""

    def __init__(self, family: int, share: ShareBounds, costs: Costs, patience: int = 100) -> None:
        """`patience`: the number of counts without any improving action after which the goal gives up."""
        self.name = BALANCE_GOALS[family]
        self._patience = patience
        self._family, self._costs = family, costs
        self._low: list[int] = share.low.ravel().tolist()
        self._high: list[int] = share.high.ravel().tolist()

    def measure(self, draft: Draft) -> int:
        """Return the imbalance of the family."""
        away = (self._compute_distance(draft, cell) for cell in range(len(self._low)))
        return sum(distance * (distance + 1) // 2 for distance in away)

    def change(self, draft: Draft, action: Action) -> int:
        """Return the change of the imbalance by an action.

        A swap is between two clients, so within one family its halves cancel out or concern different subtopologies.
        """
        moves = [move for move in action if draft.is_counted(self._family, move)]
        if len(moves) == 2 and (self._family < GROUP_ACTIVE or draft.group[moves[0].task] == draft.group[moves[1].task]):
            return 0
        change = 0
        counts = draft.counts[self._family]
        for move in moves:
            cell = draft.cell(self._family, move.task, move.source)
            if counts[cell] > self._high[cell]:
                change -= counts[cell] - self._high[cell]
            elif counts[cell] <= self._low[cell]:
                change += self._low[cell] - counts[cell] + 1
            cell = draft.cell(self._family, move.task, move.target)
            if counts[cell] >= self._high[cell]:
                change += counts[cell] - self._high[cell] + 1
            elif counts[cell] < self._low[cell]:
                change -= self._low[cell] - counts[cell]
        return change

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Move copies off clients above their shares, then to clients below their shares; the greatest distance first."""
        counts, costs = draft.counts[self._family], self._costs
        stuck = 0
        cells = [cell for cell in range(len(counts)) if counts[cell] > self._high[cell]]
        for cell in sorted(cells, key=lambda cell: (self._high[cell] - counts[cell], cell)):
            while counts[cell] > self._high[cell] and stuck < self._patience:
                if not self.take_first(draft, self._list_moves_off(draft, cell), earlier, costs):
                    stuck += 1
                    break
        cells = [cell for cell in range(len(counts)) if counts[cell] < self._low[cell]]
        for cell in sorted(cells, key=lambda cell: (counts[cell] - self._low[cell], cell)):
            while counts[cell] < self._low[cell] and stuck < self._patience:
                if not self.take_first(draft, self._list_moves_to(draft, cell), earlier, costs):
                    stuck += 1
                    break

    def _compute_distance(self, draft: Draft, cell: int) -> int:
        """Return the distance of a count from its share."""
        count = draft.counts[self._family][cell]
        return max(self._low[cell] - count, count - self._high[cell], 0)

    def _list_moves_off(self, draft: Draft, cell: int) -> Iterator[DraftMove]:
        """Yield moves off the client of a cell, the cheapest first, then the greatest task first."""
        source = cell % draft.C
        # (cost, −task, moves): a move to each client with state; without moves, the clients of the pool
        found: list[tuple[int, int, list[DraftMove]]] = []
        for task in self._list_tasks_on(draft, cell):
            leads = draft.active[task] == source
            for target in draft.task_columns[task]:
                standby = target in draft.standbys[task]
                if leads if standby else target != draft.active[task]:
                    move = DraftMove(task, source, target, leadership=standby)
                    if draft.is_counted(self._family, move):
                        found.append((self._costs.of_pair(task, target) if not standby else 0, -task, [move]))
            if draft.open_pool[task]:
                found.append((self._costs.of_pool(task), -task, []))
        found.sort(key=lambda entry: entry[:2])
        open_cells = self._list_clients_with_room(draft, cell)
        for _, task, moves in found:
            yield from moves
            if not moves:
                for target in open_cells:
                    if not draft.holds(-task, target):
                        yield DraftMove(-task, source, target)

    def _list_moves_to(self, draft: Draft, cell: int) -> Iterator[DraftMove]:
        """Yield moves to the client of a cell, the cheapest first: tasks whose state it has, then tasks of clients above their
        lower bounds.
        """
        target = cell % draft.C
        for task in sorted(draft.client_columns[target], key=lambda task: (self._costs.of_pair(task, target), -task)):
            yield from self._list_moves_of_task_to(draft, cell, task)
        counts = draft.counts[self._family]
        base = cell - target
        donors = [c for c in range(draft.C) if counts[base + c] > self._low[base + c]]
        for donor in sorted(donors, key=lambda c: (self._high[base + c] - counts[base + c], c)):
            tasks = [task for task in self._list_tasks_on(draft, base + donor) if draft.open_pool[task]]
            for task in sorted(tasks, key=lambda task: (self._costs.of_pair(task, target), -task)):
                if not draft.holds(task, target):
                    yield DraftMove(task, donor, target)
                elif target in draft.standbys[task] and draft.active[task] == donor and self._family not in _OF_COPIES:
                    yield DraftMove(task, donor, target, leadership=True)

    def _list_moves_of_task_to(self, draft: Draft, cell: int, task: int) -> Iterator[DraftMove]:
        """Yield moves of one task that the cell of their target counts."""
        target = cell % draft.C
        active, standbys = draft.active[task], draft.standbys[task]
        if target in standbys:
            moves = [DraftMove(task, active, target, leadership=True)]
        elif target != active:
            moves = [DraftMove(task, source, target) for source in (active, *sorted(standbys))]
        else:
            moves = []
        for move in moves:
            if draft.is_counted(self._family, move) and draft.cell(self._family, task, target) == cell:
                yield move

    def _list_tasks_on(self, draft: Draft, cell: int) -> list[int]:
        """Return the tasks with a copy on the client that the cell counts."""
        client = cell % draft.C
        tasks = draft.copies_on(client) if self._family in _OF_COPIES else sorted(draft.actives_on[client])
        return [task for task in tasks if draft.is_counted_in(self._family, task, cell)]

    def _list_clients_with_room(self, draft: Draft, cell: int) -> list[int]:
        """Return the clients below their upper bound, those furthest below their lower bound first."""
        counts, base = draft.counts[self._family], cell - cell % draft.C
        room = [c for c in range(draft.C) if counts[base + c] < self._high[base + c]]
        return sorted(room, key=lambda c: (counts[base + c] - self._low[base + c], c))


_OF_COPIES = (COPIES, GROUP_COPIES)


class TaskGoal(ChainGoal):
    """A soft goal that minimises the sum, over all tasks, of a score of the task's copies."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs

    @abstractmethod
    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return the score of one task with these copies, ≥ 0; 0 is best."""

    @abstractmethod
    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Yield moves that may lower the score of a task."""

    def measure(self, draft: Draft) -> int:
        """Return the sum of all scores."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(self.score(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """Return the change of the scores by an action."""
        return sum(self.score(move.task, *draft.copies_after(move)) - self._score_now(draft, move.task) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Apply moves that lower scores, task by task, the greatest score first."""
        scores = ((self._score_now(draft, task), task) for task in range(len(draft.active)))
        for _, task in sorted(((score, task) for score, task in scores if score), key=lambda entry: (-entry[0], entry[1])):
            while self._score_now(draft, task) and self.take_first(draft, [*self.remedies(draft, task)], earlier, self.costs):
                pass

    def _score_now(self, draft: Draft, task: int) -> int:
        return self.score(task, draft.active[task], draft.standbys[task])


class RestoreWorkGoal(TaskGoal):
    """Goal (b): the restore work, offsets to be replayed."""

    name = "restore_work"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return the task's restore work beyond the forced work."""
        return self.costs.work(task, (active, *standbys))[0]

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Yield moves to clients with state of the task, the cheapest first."""
        targets = [client for client in draft.task_columns[task] if not draft.holds(task, client)]
        for target in sorted(targets, key=lambda client: (self.costs.of_pair(task, client), client)):
            for source in (draft.active[task], *sorted(draft.standbys[task])):
                yield DraftMove(task, source, target)


class CopiesNotCaughtUpGoal(RestoreWorkGoal):
    """Goal (c): copies not caught up, those of rank above 0."""

    name = "copies_not_caught_up"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return the task's copies not caught up beyond the forced ones."""
        return self.costs.work(task, (active, *standbys))[1]


class ActivesNotCaughtUpGoal(TaskGoal):
    """Goal (d): active tasks that are not caught up."""

    name = "actives_not_caught_up"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return 1 if the active copy is not caught up, otherwise 0."""
        return int(not self.costs.is_caught_up(task, active))

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Yield leadership movements to caught-up standbys."""
        for target in sorted(draft.standbys[task]):
            if self.costs.is_caught_up(task, target):
                yield DraftMove(task, draft.active[task], target, leadership=True)


class ActiveMovesGoal(TaskGoal):
    """Goal `active_moves`: active tasks that leave their owners."""

    name = "active_moves"

    def __init__(self, costs: Costs, draft: Draft) -> None:
        super().__init__(costs)
        self._owners = [[c for c in columns if costs.is_owner(task, c)] for task, columns in enumerate(draft.task_columns)]

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return 1 if the task has an owner and is active on another client, otherwise 0."""
        return int(bool(self._owners[task]) and active not in self._owners[task])

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Yield moves of the active copy back to an owner."""
        for owner in self._owners[task]:
            yield DraftMove(task, draft.active[task], owner, leadership=owner in draft.standbys[task])


class ActiveMigrationsGoal(ActiveMovesGoal):
    """Goal (e): active tasks that leave their owners, or that have no owner and are not caught up."""

    name = "active_migrations"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return 1 if the task stops on the way to this placement, otherwise 0."""
        if self._owners[task]:
            return super().score(task, active, standbys)
        return int(not self.costs.is_caught_up(task, active))


class StandbyMigrationsGoal(TaskGoal):
    """Goal (f): standbys on clients that had no standby of the task."""

    name = "standby_migrations"

    def __init__(self, costs: Costs, draft: Draft) -> None:
        super().__init__(costs)
        self._before = [[c for c in columns if costs.was_standby(task, c)] for task, columns in enumerate(draft.task_columns)]
        self._history: list[bool] = draft.problem.has_history.tolist()

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """Return the number of standbys on clients that had no standby of the task; 0 if the task is new."""
        return sum(client not in self._before[task] for client in standbys) if self._history[task] else 0

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Yield moves of standbys back to clients that had a standby of the task."""
        for source in sorted(draft.standbys[task].difference(self._before[task])):
            for target in self._before[task]:
                if not draft.holds(task, target):
                    yield DraftMove(task, source, target)
