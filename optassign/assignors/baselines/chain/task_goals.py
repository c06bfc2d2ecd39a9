"""The goals of `goal-chain` that are sums over tasks: goals (b) to (f) of a plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from optassign.assignors.baselines.chain.goal import ChainGoal, Costs
from optassign.assignors.baselines.chain.model import Action, Draft, DraftMove


class TaskGoal(ChainGoal):
    """Soft: the sum of a score of each task's copies."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs

    @abstractmethod
    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """The score of one task with these copies, ≥ 0; 0 is best."""

    @abstractmethod
    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Moves that may lower the score of a task."""

    def measure(self, draft: Draft) -> int:
        """The sum of all tasks' scores."""
        of_all = zip(draft.active, draft.standbys, strict=True)
        return sum(self.score(task, *copies) for task, copies in enumerate(of_all))

    def change(self, draft: Draft, action: Action) -> int:
        """By how much the scores of the tasks that move would change."""
        return sum(self.score(move.task, *draft.copies_after(move)) - self._score_now(draft, move.task) for move in action)

    def optimise(self, draft: Draft, earlier: Sequence[ChainGoal]) -> None:
        """Takes moves that lower scores, task by task, the greatest score first."""
        scores = ((self._score_now(draft, task), task) for task in range(len(draft.active)))
        for _, task in sorted(((score, task) for score, task in scores if score), key=lambda entry: (-entry[0], entry[1])):
            while self._score_now(draft, task) and self.take_first(draft, [*self.remedies(draft, task)], earlier, self.costs):
                pass

    def _score_now(self, draft: Draft, task: int) -> int:
        """The score of a task as the draft is."""
        return self.score(task, draft.active[task], draft.standbys[task])


class RestoreWorkGoal(TaskGoal):
    """Goal (b): the restore work, offsets to be replayed."""

    name = "restore_work"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """The task's restore work beyond what this answer forces."""
        return self.costs.work(task, (active, *standbys))[0]

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Moves to clients with state of the task, the cheapest first."""
        targets = [client for client in draft.task_columns[task] if not draft.holds(task, client)]
        for target in sorted(targets, key=lambda client: (self.costs.of_pair(task, client), client)):
            for source in (draft.active[task], *sorted(draft.standbys[task])):
                yield DraftMove(task, source, target)


class CopiesNotCaughtUpGoal(RestoreWorkGoal):
    """Goal (c): copies not caught up, those of rank above 0."""

    name = "copies_not_caught_up"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """The task's copies not caught up beyond what this answer forces."""
        return self.costs.work(task, (active, *standbys))[1]


class ActivesNotCaughtUpGoal(TaskGoal):
    """Goal (d): active tasks that are not caught up."""

    name = "actives_not_caught_up"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """1 if the active is not caught up, otherwise 0."""
        return int(not self.costs.is_caught_up(task, active))

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Leadership movements to caught-up standbys."""
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
        """1 if the task has an owner and is active on another client, otherwise 0."""
        return int(bool(self._owners[task]) and active not in self._owners[task])

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Moves of the active back to an owner."""
        for owner in self._owners[task]:
            yield DraftMove(task, draft.active[task], owner, leadership=owner in draft.standbys[task])


class ActiveMigrationsGoal(ActiveMovesGoal):
    """Goal (e): active tasks that leave their owners, or have none and are not caught up where they are to be."""

    name = "active_migrations"

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """1 if the task pauses on the way to this placement, otherwise 0."""
        if self._owners[task]:
            return super().score(task, active, standbys)
        return int(not self.costs.is_caught_up(task, active))


class StandbyMigrationsGoal(TaskGoal):
    """Goal (f): standbys that leave their clients."""

    name = "standby_migrations"

    def __init__(self, costs: Costs, draft: Draft) -> None:
        super().__init__(costs)
        self._before = [[c for c in columns if costs.was_standby(task, c)] for task, columns in enumerate(draft.task_columns)]
        self._history: list[bool] = draft.problem.has_history.tolist()

    def score(self, task: int, active: int, standbys: frozenset[int]) -> int:
        """How many standbys of the task are new to their clients."""
        return sum(client not in self._before[task] for client in standbys) if self._history[task] else 0

    def remedies(self, draft: Draft, task: int) -> Iterator[DraftMove]:
        """Moves of standbys back to clients that had one."""
        for source in sorted(draft.standbys[task].difference(self._before[task])):
            for target in self._before[task]:
                if not draft.holds(task, target):
                    yield DraftMove(task, source, target)
