"""The tasks of a generated application: subtopologies, their kinds and sizes, and the lengths of changelogs."""

from dataclasses import dataclass

import numpy as np

from optassign_models.policy.constants import LARGEST_END, MEDIAN_END, SMALLEST_END
from optassign_models.problem import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Topology:
    """The tasks of an application, subtopology by subtopology."""

    sizes: IntArray
    """(G,) tasks of each subtopology."""
    group_stateful: BoolArray
    """(G,) whether its tasks are stateful."""
    group_logged: BoolArray
    """(G,) whether its tasks have a changelog."""
    end: IntArray
    """(T,) changelog end offsets; 0 for tasks that are not logged."""

    @property
    def logged(self) -> BoolArray:
        """(T,) whether the task has a changelog."""
        return np.repeat(self.group_logged, self.sizes)


def draw_topology(
    tasks: int,
    stateless: float,
    unlogged: float,
    subtopologies: int | None,
    tiny: float,
    acceptable: int,
    spread: float,
    rng: np.random.Generator,
) -> Topology:
    """Draws a topology; subtopologies of different kinds are mixed, as in a real one. ValueError where they are too many.

    Args:
        tasks: how many there are.
        stateless, unlogged: shares of the tasks.
        subtopologies: how many there are; by default half the square root of the number of tasks, at most 50.
        tiny: share of the logged tasks whose whole changelog is within the acceptable lag.
        acceptable: the acceptable lag, offsets.
        spread: sigma of the logarithms of changelogs' lengths.
        rng: what is drawn from.
    """
    without, own = round(tasks * stateless), min(round(tasks * unlogged), tasks - round(tasks * stateless))
    of_kind = np.array([tasks - without - own, own, without])  # logged, unlogged, stateless
    kinds = int(np.count_nonzero(of_kind))
    G = max(kinds, min(50, round(tasks**0.5 / 2))) if subtopologies is None else subtopologies
    if not kinds <= G <= tasks:
        raise ValueError(f"subtopologies: found {G}; allowed: {kinds} (one for each kind of task) to {tasks}")
    groups = _split(G, of_kind, np.minimum(of_kind, 1))
    sizes = np.concatenate(
        [
            _split(int(of_kind[k]), rng.choice([1, 1, 1, 2, 2, 4], n), np.ones(n, dtype=np.int64))
            for k, n in enumerate(groups.tolist())
        ]
    )
    order = rng.permutation(G)
    kind = np.repeat([0, 1, 2], groups)[order]
    sizes, logged = sizes[order], kind == 0
    T = int(sizes.sum())
    end = (SMALLEST_END + np.exp(rng.normal(np.log(MEDIAN_END), spread, T))).clip(max=LARGEST_END)
    # Also where more than usual is acceptable a changelog that is not tiny is longer.
    end = (end * max(1.0, min(acceptable, 1 << 50) * 1.05 / SMALLEST_END)).astype(np.int64)
    small = rng.random(T) < tiny
    end[small] = rng.integers(0, min(acceptable, LARGEST_END), T, endpoint=True)[small]
    end[~np.repeat(logged, sizes)] = 0
    return Topology(sizes, kind <= 1, logged, end)


def _split(total: int, weights: IntArray, least: IntArray) -> IntArray:
    """(n,) `total` as a sum of whole parts, in proportion to the weights (n,) but each at least as great as `least` (n,)."""
    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    spare = total - int(least.sum())
    share = weights * spare / max(int(weights.sum()), 1)
    parts = np.floor(share).astype(np.int64)
    most_cut_off = np.argsort(parts - share, kind="stable")[: spare - int(parts.sum())]
    parts[most_cut_off] += 1
    return parts + least
