"""The common interface of `goal-chain`'s goals: a measure, the actions that it wants, and a veto on those of later goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from optassign.assignors.baselines.chain.costs import Costs
from optassign.assignors.baselines.chain.model import Action, Draft, Move
from optassign_models.policy.baselines import BATCH, MOST_BATCHES, MOST_SWAP_BATCHES


class Goal(ABC):
    """One goal of the chain (Cruise Control's `Goal`)."""

    name: str
    """As in the order of goals of a snapshot, where it is one of these."""

    @abstractmethod
    def measure(self, draft: Draft) -> int:
        """How far the goal is from being met, ≥ 0; 0 is met."""

    @abstractmethod
    def change(self, draft: Draft, action: Action) -> int:
        """By how much an action would alter the measure."""

    @abstractmethod
    def optimise(self, draft: Draft, earlier: Sequence[Goal]) -> None:
        """Applies actions that bring the goal nearer and that no earlier goal vetoes."""

    def accepts(self, draft: Draft, action: Action) -> bool:
        """Whether the goal lets a later one take the action; its veto (Cruise Control's `actionAcceptance`)."""
        return self.change(draft, action) <= 0

    def helps(self, draft: Draft, action: Action, earlier: Sequence[Goal]) -> bool:
        """Whether an action brings the goal nearer and no earlier one vetoes it."""
        return self.change(draft, action) < 0 and all(goal.accepts(draft, action) for goal in earlier)

    def take_first(self, draft: Draft, moves: Iterable[Move], earlier: Sequence[Goal], costs: Costs) -> bool:
        """Applies the first move that helps, by itself or as one half of a swap; False if there is none.

        Among several swaps with the same move, the one whose other half restores least is taken.
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
                    swaps = [(move, back) for back in _list_ways_back(draft, move)]
                    swaps = [swap for swap in swaps if self.helps(draft, swap, earlier)]
                    if swaps:
                        draft.apply(min(swaps, key=lambda swap: costs.of_pair(swap[1].task, swap[1].target)))
                        return True
            if len(batch) < BATCH:
                break
        return False


def _list_ways_back(draft: Draft, move: Move) -> Iterator[Move]:
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
