"""Which copies may warm up where limits on state leave little room (docs/reference/rules.md, "Limits")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optassign_models.limits.limit import PlacementLimit
from optassign_models.policy.constants import PATIENCE
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.warmups import Progress, Queue


@dataclass(frozen=True, eq=False)
class Room:
    """The room of each client in addition to its kept copies, by limits that count warm-ups and that the plan keeps."""

    limits: Sequence[PlacementLimit]
    left: IntArray
    """(C,) offsets, by the strictest of the limits; less than 0 where there is too much already."""

    def find_too_large(self, problem: Problem, keys: IntArray) -> IntArray:
        """The keys among `keys` (n,) of copies that have no room even alone."""
        return keys[problem.end[keys // problem.C] > self.left[keys % problem.C]]

    def list_limits_of(self, client: IntArray) -> list[PlacementLimit]:
        """The limits that are about some of these clients `client` (n,)."""
        return [limit for limit in self.limits if limit.clients[client].any()]


@dataclass(frozen=True, eq=False)
class Admission:
    """The copies that get a slot, and the copies that do not for want of room."""

    queue: Queue
    """The waiting copies; those with a slot come first."""
    over_limit: IntArray
    """(0,) or (1,) key of the copy that gets a slot beyond a limit, if no other way is left."""
    kept_back: IntArray
    """(n,) task × C + client of the copies that have no room yet."""


def measure_room(limits: Sequence[PlacementLimit], plan: Placement, answer: Placement) -> Room | None:
    """None where no limit counts warm-ups, or the plan keeps none that does: then there never is room."""
    binding = [limit for limit in limits if limit.counts_warmups and limit.is_kept(plan)]
    if not binding:
        return None
    most = np.iinfo(np.int64).max
    return Room(binding, np.minimum.reduce([np.where(one.clients, one.most - one.weigh(answer), most) for one in binding]))


def admit(
    problem: Problem, line: Queue, room: Room, under_way: IntArray, progress: Progress, *, is_restoring: bool
) -> Admission:
    """Slots for the copies of the queue that there is room for, as many as the queue serves.

    A warm-up under way keeps its slot, as its state is there. If no copy with a slot can get any further, and no other copy
    restores either, room will never come: then the copy goes first that exceeds a limit by least.

    Args:
        under_way: (n,) task × C + client of the warm-ups under way.
        is_restoring: copies in their places restore; after that, others may leave.
    """
    size, client = problem.end[line.keys // problem.C].tolist(), (line.keys % problem.C).tolist()
    going = np.isin(line.keys, under_way).tolist()
    is_stuck, is_caught_up = progress.find_idle_answers(line.keys) >= PATIENCE, problem.rank_of(line.keys) == 0
    left = {c: int(room.left[c]) for c in set(client)}
    taken: list[int] = []
    for k, c in enumerate(client):
        if len(taken) < line.served and (going[k] or size[k] <= left[c]):
            taken.append(k)
            left[c] -= size[k]
    beyond: list[int] = []
    if problem.max_warmups and not is_restoring and (is_stuck | is_caught_up)[taken].all():
        others = [k for k in sorted(set(range(len(client))).difference(taken)) if not is_stuck[k]]
        beyond = sorted(others, key=lambda k: (is_caught_up[k], size[k] - left[client[k]]))[:1]
        taken = [*beyond, *taken][: problem.max_warmups]
    rest = sorted(set(range(len(client))).difference(taken))
    kept_back = [k for k in rest if size[k] > left[client[k]]]
    keys = line.keys
    return Admission(Queue(keys[[*taken, *rest]], len(taken)), keys[beyond], keys[kept_back])
