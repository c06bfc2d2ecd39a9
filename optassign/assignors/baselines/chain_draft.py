"""The draft that `goal-chain`'s goals change move by move (Cruise Control's cluster model), and the interface of goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from optassign_models.problem import STATELESS, IntArray, Placement, Problem, make_placement
from optassign_models.shares import count_copies

BATCH = 50
"""Moves tried alone, then as halves of swaps, before worse moves are tried."""
MOST_BATCHES = 40
"""The most batches of moves tried for one improvement, which bounds the time."""
MOST_SWAP_BATCHES = 2
"""The most batches of swaps tried for one improvement, which bounds the time."""


ACTIVE, STATEFUL, COPIES, GROUP_ACTIVE, GROUP_COPIES = range(5)
"""Families of shares, as in `ShareFamilies.in_order`."""
_OF_ALL_TASKS = 1 << ACTIVE | 1 << GROUP_ACTIVE
_OF_LOGGED_COPIES = 1 << COPIES | 1 << GROUP_COPIES


@dataclass(frozen=True, slots=True)
class DraftMove:
    """A move of a copy to another client (Cruise Control's inter-broker replica movement). With `leadership`, the active copy
    and the standby on `target` swap roles (leadership movement).
    """

    task: int
    source: int
    target: int
    leadership: bool = False


Action = tuple[DraftMove, ...]
"""One move, or a swap: two moves of different tasks."""


class Draft:
    """A mutable assignment with the counts of each family. Tasks, clients and keys (task × C + client) are indices."""

    def __init__(self, problem: Problem, start: Placement) -> None:
        self.problem = problem
        self.C = problem.C
        self.actions = 0
        """The number of applied actions, healing included."""
        self.group: list[int] = problem.group.tolist()
        self.logged: list[bool] = problem.logged.tolist()
        self._families = self._find_families_of_actives()
        self.task_columns: list[list[int]] = [[] for _ in range(problem.T)]
        """For each task, the clients that differ from the pool (interchangeable clients)."""
        self.client_columns: list[list[int]] = [[] for _ in range(problem.C)]
        """For each client, the tasks for which it differs from the pool."""
        for task, client in zip(problem.col_task.tolist(), problem.col_client.tolist(), strict=True):
            self.task_columns[task].append(client)
            self.client_columns[client].append(task)
        self.open_pool: list[bool] = [True] * problem.T
        """For each task, whether clients without state of it may take copies."""
        self.load(start)

    def load(self, start: Placement) -> None:
        """Replace the draft by an assignment, in which actives (−1) and standbys may be missing."""
        problem = self.problem
        self.active: list[int] = start.active.tolist()
        self.standbys: list[frozenset[int]] = [frozenset()] * problem.T
        self.actives_on: list[set[int]] = [set() for _ in range(problem.C)]
        """Tasks active on each client."""
        self.standbys_on: list[set[int]] = [set() for _ in range(problem.C)]
        for task, client in enumerate(self.active):
            if client >= 0:
                self.actives_on[client].add(task)
        for task, client in zip(start.standby_task.tolist(), start.standby_client.tolist(), strict=True):
            self.standbys[task] |= {client}
            self.standbys_on[client].add(task)
        counted = count_copies(problem, start)
        self.counts: list[list[int]] = [family.ravel().tolist() for family in counted]
        """Family → cell → count; cells of the last two are subtopology × C + client."""

    def placement(self) -> Placement:
        """Return the assignment in arrays."""
        keys = [task * self.C + client for task, clients in enumerate(self.standbys) for client in clients]
        return make_placement(np.array(self.active, dtype=np.int64), np.array(keys, dtype=np.int64), self.C)

    def holds(self, task: int, client: int) -> bool:
        """Return whether the client has a copy of the task."""
        return self.active[task] == client or client in self.standbys[task]

    def copies_on(self, client: int) -> Iterator[int]:
        """Yield the tasks with a copy on the client, active ones first, each group in order."""
        yield from sorted(self.actives_on[client])
        yield from sorted(self.standbys_on[client])

    def cell(self, family: int, task: int, client: int) -> int:
        """Return the cell of the family that counts a copy of the task on the client."""
        return self.group[task] * self.C + client if family >= GROUP_ACTIVE else client

    def is_counted(self, family: int, move: DraftMove) -> bool:
        """Return whether a move changes the counts of a family."""
        return bool(self._find_changed_families(move) >> family & 1)

    def is_counted_in(self, family: int, task: int, cell: int) -> bool:
        """Return whether the family counts an active copy of the task in this cell."""
        return bool(self._families[task] >> family & 1) and self.cell(family, task, cell % self.C) == cell

    def copies_after(self, move: DraftMove) -> tuple[int, frozenset[int]]:
        """Return the active client and the standbys of the task after a move."""
        active, standbys = self.active[move.task], self.standbys[move.task]
        if move.leadership:
            return move.target, standbys - {move.target} | {move.source}
        if active == move.source:
            return move.target, standbys
        return active, standbys - {move.source} | {move.target}

    def apply(self, action: Action) -> None:
        """Apply the moves of an action."""
        self.actions += 1
        for move in action:
            changed = self._find_changed_families(move)
            for family, counts in enumerate(self.counts):
                if changed >> family & 1:
                    counts[self.cell(family, move.task, move.source)] -= 1
                    counts[self.cell(family, move.task, move.target)] += 1
            self._set(move.task, *self.copies_after(move))

    def add(self, task: int, client: int, *, active: bool) -> None:
        """Add a missing copy; an active copy may replace a standby on the client."""
        self.actions += 1
        families = self._families[task] if active else _OF_LOGGED_COPIES
        if client in self.standbys[task]:
            families &= ~_OF_LOGGED_COPIES
        for family, counts in enumerate(self.counts):
            if families >> family & 1:
                counts[self.cell(family, task, client)] += 1
        if active:
            self._set(task, client, self.standbys[task] - {client})
        else:
            self._set(task, self.active[task], self.standbys[task] | {client})

    def _set(self, task: int, active: int, standbys: frozenset[int]) -> None:
        """Put the copies of a task on these clients, without changing counts."""
        if self.active[task] >= 0:
            self.actives_on[self.active[task]].discard(task)
        for client in self.standbys[task]:
            self.standbys_on[client].discard(task)
        self.active[task], self.standbys[task] = active, standbys
        self.actives_on[active].add(task)
        for client in standbys:
            self.standbys_on[client].add(task)

    def _find_changed_families(self, move: DraftMove) -> int:
        """Return the families whose counts a move changes, as bits."""
        if self.active[move.task] != move.source:
            return _OF_LOGGED_COPIES
        return self._families[move.task] & ~_OF_LOGGED_COPIES if move.leadership else self._families[move.task]

    def _find_families_of_actives(self) -> list[int]:
        """Return, for each task, the families that count its active copy, as bits."""
        stateful = self.problem.kind[self.problem.group] != STATELESS
        bits = _OF_ALL_TASKS | stateful.astype(np.int64) << STATEFUL | np.where(self.problem.logged, _OF_LOGGED_COPIES, 0)
        families: list[int] = bits.tolist()
        return families


class Costs:
    """Restore costs, lags and ranks of single pairs (task, client), by index; costs are offsets."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._C = problem, problem.C
        self._column = {key: at for at, key in enumerate(problem.col_keys.tolist())}
        forced = problem.forced
        cold = forced.tie_not_caught_up
        # Copies that the rules force are free: mandatory copies, and the first `choices` of the tied ones.
        tied = forced.tied & cold[problem.col_task]
        self._tied: list[bool] = tied.tolist()
        self._cost: list[int] = np.where(forced.mandatory | tied, 0, problem.col_cost).tolist()
        self._counts: list[bool] = (~forced.mandatory & ~tied & (problem.col_rank > 0)).tolist()
        pool_tied = forced.pool_tied & cold
        self._pool_tied: list[bool] = pool_tied.tolist()
        self._pool_cost: list[int] = np.where(pool_tied, 0, problem.pool_cost).tolist()
        self._pool_counts: list[bool] = (~pool_tied & (problem.pool_rank > 0)).tolist()
        self._choices: list[int] = forced.choices.tolist()
        self._tie_cost: list[int] = forced.tie_cost.tolist()
        self._rank: list[int] = problem.col_rank.tolist()
        self._pool_rank: list[int] = problem.pool_rank.tolist()
        self._lag: list[int] = problem.col_lag.tolist()
        self._end: list[int] = problem.end.tolist()
        self._logged: list[bool] = problem.logged.tolist()
        self._leading: list[bool] = forced.leading.tolist()
        self._pool_leading: list[bool] = forced.pool_leading.tolist()
        self._allowed: list[bool] = (forced.mandatory | forced.tied).tolist()
        self._pool_allowed: list[bool] = forced.pool_tied.tolist()
        self._owner: list[bool] = problem.col_owner.tolist()
        self._standby: list[bool] = problem.col_standby.tolist()
        self._mandatory: list[list[int]] = [[] for _ in range(problem.T)]
        at = np.flatnonzero(forced.mandatory)
        for task, client in zip(problem.col_task[at].tolist(), problem.col_client[at].tolist(), strict=True):
            self._mandatory[task].append(client)

    def work(self, task: int, clients: Iterable[int]) -> tuple[int, int]:
        """Return the restore work and the number of copies not caught up that copies on these clients add to the forced
        ones.
        """
        if not self._logged[task]:
            return 0, 0
        work, cold, ties = 0, 0, 0
        for client in clients:
            at = self._column.get(task * self._C + client)
            if at is None:
                ties += self._pool_tied[task]
                work += self._pool_cost[task]
                cold += self._pool_counts[task]
            else:
                ties += self._tied[at]
                work += self._cost[at]
                cold += self._counts[at]
        beyond = max(ties - self._choices[task], 0)
        return work + beyond * self._tie_cost[task], cold + beyond

    def of_pair(self, task: int, client: int) -> int:
        """Return the restore work of one copy by itself."""
        at = self._column.get(task * self._C + client)
        return self._pool_cost[task] if at is None else self._cost[at]

    def of_pool(self, task: int) -> int:
        """Return the restore work of one copy on a client without state of the task."""
        return self._pool_cost[task]

    def of_clients(self, task: int) -> IntArray:
        """Return (C,) the restore work of one copy by itself on each client."""
        costs = np.full(self._C, self._pool_cost[task], dtype=np.int64)
        start, end = self._problem.col_start[task : task + 2]
        costs[self._problem.col_client[start:end]] = self._cost[start:end]
        return costs

    def lag(self, task: int, client: int) -> int:
        """Return the offsets that the client has to replay for the task."""
        at = self._column.get(task * self._C + client)
        return self._end[task] if at is None else self._lag[at]

    def is_caught_up(self, task: int, client: int) -> bool:
        """Return whether the client is caught up on the task (rank 0)."""
        at = self._column.get(task * self._C + client)
        return (self._pool_rank[task] if at is None else self._rank[at]) == 0

    def is_owner(self, task: int, client: int) -> bool:
        """Return whether the client owned the task."""
        at = self._column.get(task * self._C + client)
        return at is not None and self._owner[at]

    def was_standby(self, task: int, client: int) -> bool:
        """Return whether the client had a standby of the task."""
        at = self._column.get(task * self._C + client)
        return at is not None and self._standby[at]

    def is_allowed_now(self, task: int, active: int, standbys: frozenset[int]) -> bool:
        """Return whether R3 and R5 allow these copies in this rebalance."""
        at = self._column.get(task * self._C + active)
        if not (self._pool_leading[task] if at is None else self._leading[at]):
            return False
        if not self._logged[task]:
            return True
        copies = {active, *standbys}
        if not copies.issuperset(self._mandatory[task]):
            return False
        for client in copies:
            at = self._column.get(task * self._C + client)
            if not (self._pool_allowed[task] if at is None else self._allowed[at]):
                return False
        return True


class ChainGoal(ABC):
    """A goal of the chain (Cruise Control's `Goal`)."""

    name: str
    """Its name in a snapshot's order of goals, if it is one of these."""

    @abstractmethod
    def measure(self, draft: Draft) -> int:
        """Return the distance from the goal, ≥ 0; 0 if it is met."""

    @abstractmethod
    def change(self, draft: Draft, action: Action) -> int:
        """Return the change of the measure by an action."""

    @abstractmethod
    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Apply actions that reduce the measure and that no earlier goal vetoes."""

    def accepts(self, draft: Draft, action: Action) -> bool:
        """Return whether the goal accepts an action of a later one (Cruise Control's `actionAcceptance`)."""
        return self.change(draft, action) <= 0

    def helps(self, draft: Draft, action: Action, earlier: Sequence[ChainGoal]) -> bool:
        """Return whether an action reduces the measure and no earlier goal vetoes it."""
        return self.change(draft, action) < 0 and all(goal.accepts(draft, action) for goal in earlier)

    def take_first(self, draft: Draft, moves: Iterable[DraftMove], earlier: Sequence[ChainGoal], costs: Costs) -> bool:
        """Apply the first move that helps, alone or as one half of a swap; return False if there is none.

        Several swaps may have the same move: the one whose other half restores least is applied.
        """
        moves = iter(moves)
        for number in range(MOST_BATCHES):
            batch = list(islice(moves, BATCH))
            for move in batch:
                if self.helps(draft, (move,), earlier):
                    draft.apply((move,))
                    return True
            if number < MOST_SWAP_BATCHES:
                for move in batch:
                    swaps = [(move, back) for back in _list_return_moves(draft, move)]
                    swaps = [swap for swap in swaps if self.helps(draft, swap, earlier)]
                    if swaps:
                        draft.apply(min(swaps, key=lambda swap: costs.of_pair(swap[1].task, swap[1].target)))
                        return True
            if len(batch) < BATCH:
                break
        return False


def _list_return_moves(draft: Draft, move: DraftMove) -> Iterator[DraftMove]:
    """Yield moves of other tasks from the target of a move to its source."""
    source, target = move.target, move.source
    for task in draft.copies_on(source):
        if task == move.task:
            continue
        if target in draft.standbys[task]:
            if draft.active[task] == source:
                yield DraftMove(task, source, target, leadership=True)
        elif draft.active[task] != target:
            yield DraftMove(task, source, target)
