"""How much each client has been given so far and who is next: for baselines that deal tasks one by one.

Shares are fractions and ties decide, so all of it is exact: whole numbers, of any size where int64 is too small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from optassign_models.problem import IntArray

_INT64_SAFE = 1 << 62


class PartitionLoads:
    """Tasks per client. A client's *capacity* is the average number of tasks per thread times its threads."""

    def __init__(self, threads: IntArray, tasks: int) -> None:
        """`threads`: (C,), at least 1 each. `tasks`: how many are to be dealt to all clients together."""
        divisor = gcd(*threads.tolist())
        parts = [number // divisor for number in threads.tolist()]
        self.task = sum(parts)
        """One task, in the parts that `remaining` counts."""
        common = lcm(*parts)
        self._weight = [common // part for part in parts]
        self._never = 1 + 2 * (tasks + 1) * max(self.task, common)
        """Greater than every key below."""
        dtype: Any = np.int64 if self._never < _INT64_SAFE else object
        self._used: npt.NDArray[Any] = np.array([-tasks * part for part in parts], dtype=dtype)
        """(C,) tasks given minus capacity, in parts of a task: negative while capacity remains."""
        self._load: npt.NDArray[Any] = np.zeros(len(parts), dtype=dtype)
        """(C,) tasks given per thread, in parts of a task."""

    def give(self, client: int) -> None:
        """Counts one more task for the client."""
        self._used[client] += self.task
        self._load[client] += self._weight[client]

    def remaining(self, client: int) -> int:
        """Capacity minus tasks given; one task is `task` of these units."""
        return -int(self._used[client])

    def find_largest_remaining(self, without: Collection[int], prefer: Iterable[int] = ()) -> int:
        """The client of largest remaining capacity outside `without`; of equals the first in `prefer`, then the least."""
        return self._find_least(self._used, without, prefer)

    def find_least_loaded(self, without: Collection[int], prefer: Iterable[int] = ()) -> int:
        """The client of fewest tasks per thread outside `without`; of equals the first in `prefer`, then the least."""
        return self._find_least(self._load, without, prefer)

    def _find_least(self, keys: npt.NDArray[Any], without: Collection[int], prefer: Iterable[int]) -> int:
        """The client of least key outside `without`; of equals the first in `prefer`, then the least."""
        if without:
            keys = keys.copy()
            keys[list(without)] = self._never
        first = int(keys.argmin())
        least = keys[first]
        return next((client for client in prefer if keys[client] == least), first)
