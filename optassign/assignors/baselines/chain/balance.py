"""The goals of balance of `goal-chain`: one for each family of shares (`optassign_models/shares.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optassign.assignors.baselines.chain.goal import ChainGoal, Costs
from optassign.assignors.baselines.chain.model import COPIES, GROUP_ACTIVE, GROUP_COPIES, Action, Draft, DraftMove
from optassign_models.shares import ShareBounds

BALANCE_GOALS = ("balance_active", "balance_stateful_active", "balance_copies", "balance_group_active", "balance_group_copies")
"""One for each family, in its order."""


class BalanceGoal(ChainGoal):
    """Soft: every count of a family is in its share (Cruise Control's replica distribution goals, with our shares)."""

    def __init__(self, family: int, share: ShareBounds, costs: Costs, patience: int = 100) -> None:
        """`patience`: the goal gives up after this many counts that no action improved."""
        self.name = BALANCE_GOALS[family]
        self._patience = patience
        self._family, self._costs = family, costs
        self._low: list[int] = share.low.ravel().tolist()
        self._high: list[int] = share.high.ravel().tolist()

    def measure(self, draft: Draft) -> int:
        """The imbalance of the family."""
        away = (self._compute_distance(draft, cell) for cell in range(len(self._low)))
        return sum(distance * (distance + 1) // 2 for distance in away)

    def change(self, draft: Draft, action: Action) -> int:
        """By how much the action would change the imbalance.

        A swap is between the same two clients, so within one family its halves cancel out, or touch different subtopologies.
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
        """Clients with too many give away, then clients with too few receive; those furthest off first."""
        counts, costs = draft.counts[self._family], self._costs
        hopeless = 0
        cells = [cell for cell in range(len(counts)) if counts[cell] > self._high[cell]]
        for cell in sorted(cells, key=lambda cell: (self._high[cell] - counts[cell], cell)):
            while counts[cell] > self._high[cell] and hopeless < self._patience:
                if not self.take_first(draft, self._list_moves_off(draft, cell), earlier, costs):
                    hopeless += 1
                    break
        cells = [cell for cell in range(len(counts)) if counts[cell] < self._low[cell]]
        for cell in sorted(cells, key=lambda cell: (counts[cell] - self._low[cell], cell)):
            while counts[cell] < self._low[cell] and hopeless < self._patience:
                if not self.take_first(draft, self._list_moves_to(draft, cell), earlier, costs):
                    hopeless += 1
                    break

    def _compute_distance(self, draft: Draft, cell: int) -> int:
        """How far a count is from its share."""
        count = draft.counts[self._family][cell]
        return max(self._low[cell] - count, count - self._high[cell], 0)

    def _list_moves_off(self, draft: Draft, cell: int) -> Iterator[DraftMove]:
        """Moves off a client, the cheapest first; of equals the greatest tasks."""
        source = cell % draft.C
        # (cost, task, targets): clients that differ one by one, then the rest, those with the fewest first
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
        """List moves to a client: first tasks whose state it has, then tasks of overfull clients, the cheapest first."""
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
        """Moves of one task that are counted in the cell of their target."""
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
        """Tasks with a copy on the client that is counted in the cell."""
        client = cell % draft.C
        tasks = draft.copies_on(client) if self._family in _OF_COPIES else sorted(draft.actives_on[client])
        return [task for task in tasks if draft.is_counted_in(self._family, task, cell)]

    def _list_clients_with_room(self, draft: Draft, cell: int) -> list[int]:
        """Clients that may receive, those with the fewest for their shares first."""
        counts, base = draft.counts[self._family], cell - cell % draft.C
        room = [c for c in range(draft.C) if counts[base + c] < self._high[base + c]]
        return sorted(room, key=lambda c: (counts[base + c] - self._low[base + c], c))


_OF_COPIES = (COPIES, GROUP_COPIES)
