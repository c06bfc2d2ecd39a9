"""Clients that goals or limits tell apart: each class is a zone, with a pool of its own in every subtopology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from optassign_models.flows.zones import Zones
from optassign_models.goals import GoalModel
from optassign_models.problem import IntArray, Problem


def find_classes(problem: Problem, goals: Iterable[GoalModel], labels: Sequence[IntArray] = ()) -> Zones:
    """The classes of clients that no goal tells apart, nor any of the further `labels`, (C,) each."""
    keys = [np.zeros(problem.C, dtype=np.int64), *labels]
    keys += [goal.tells_apart(problem) for goal in goals if goal.tells_apart is not None]
    of_client = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Zones(of_client, int(of_client.max(initial=0)) + 1, of_all_kinds=True)
