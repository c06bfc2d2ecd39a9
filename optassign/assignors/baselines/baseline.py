"""The shared part of the baselines: a heuristic places the copies, and this module makes the answer.

A baseline is an assignor that could run today. It reads the same situation as optassign's own assignors, and the same validator
and measures judge it. It knows neither target nor memory, and may break R3 to R8.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from math import gcd, lcm
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_situation
from optassign.utilities import AssignmentError
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.problem import IntArray, Placement, make_placement
from optassign_models.results import Reason, Step, Warmups
from optassign_models.shares import compute_shares, count_copies
from optassign_models.solving.situation import Situation

_INT64_SAFE = 1 << 62


class PartitionLoads:
    """Exact counts of tasks per client. A client's *capacity* is the mean number of tasks per thread × its threads."""

    def __init__(self, threads: IntArray, tasks: int) -> None:
        """Begin without tasks. `threads`: (C,), at least 1 each. `tasks`: the number to be dealt to all clients."""
        divisor = gcd(*threads.tolist())
        parts = [number // divisor for number in threads.tolist()]
        self.task = sum(parts)
        """The size of a task, in the units of `remaining`."""
        common = lcm(*parts)
        self._weight = [common // part for part in parts]
        self._excluded = 1 + 2 * (tasks + 1) * max(self.task, common)
        """A key greater than all others."""
        dtype: Any = np.int64 if self._excluded < _INT64_SAFE else object
        self._used: npt.NDArray[Any] = np.array([-tasks * part for part in parts], dtype=dtype)
        """(C,) tasks given minus capacity, in units: negative while capacity remains."""
        self._load: npt.NDArray[Any] = np.zeros(len(parts), dtype=dtype)
        """(C,) tasks given per thread, in units."""

    def give(self, client: int) -> None:
        """Count one more task for the client."""
        self._used[client] += self.task
        self._load[client] += self._weight[client]

    def remaining(self, client: int) -> int:
        """Return capacity minus tasks given, in units of 1 / `task` tasks."""
        return -int(self._used[client])

    def find_largest_remaining(self, without: Collection[int], prefer: Iterable[int] = ()) -> int:
        """Return the client outside `without` with the largest remaining capacity; ties go to the first in `prefer`, then the
        least.
        """
        return self._find_least(self._used, without, prefer)

    def find_least_loaded(self, without: Collection[int], prefer: Iterable[int] = ()) -> int:
        """Return the client outside `without` with the fewest tasks per thread; ties go to the first in `prefer`, then the
        least.
        """
        return self._find_least(self._load, without, prefer)

    def _find_least(self, keys: npt.NDArray[Any], without: Collection[int], prefer: Iterable[int]) -> int:
        if without:
            keys = keys.copy()
            keys[list(without)] = self._excluded
        first = int(keys.argmin())
        least = keys[first]
        return next((client for client in prefer if keys[client] == least), first)


@dataclass(frozen=True, eq=False)
class Placed:
    """The placement of a baseline."""

    placement: Placement
    """Actives and standbys."""
    warmups: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Keys (task × clients + client) of the warm-ups."""
    followup: bool = False
    """Whether it requests a follow-up after probing_rebalance_interval_ms."""
    notes: tuple[str, ...] = ()
    """Parts of the snapshot that it ignores."""


class Baseline(ABC):
    """KIP-924 TaskAssignor of a heuristic. The time limit has no effect."""

    name: ClassVar[str]
    """Its name in `optassign/assignor.py`."""
    serves: ClassVar[frozenset[str]] = frozenset()
    """Goals (a) that it serves by its own rules; the report names the other requested goals."""
    variant: str = ""
    """The chosen entry of `VARIANTS`; empty without variants."""

    @property
    def full_name(self) -> str:
        """The name, with the variant unless that is the default."""
        variants: tuple[str, ...] = getattr(self, "VARIANTS", ("",))
        return self.name if self.variant in ("", variants[0]) else f"{self.name}:{self.variant}"

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    @abstractmethod
    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place the copies. Must be deterministic and independent of the order of the snapshot's lists."""

    def configure(self, configs: AssignmentConfigs) -> None:  # noqa: B027 - most have nothing to do
        """Do nothing: the snapshot carries the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the heuristic's answer. Its seconds include the preparation of its input."""
        start = time.perf_counter()
        situation = read_situation(state)
        placed = self.place(state, situation)
        step = replace(self.to_step(situation, placed), seconds={"heuristic": time.perf_counter() - start})
        return write_answer(state, situation, step, self.full_name)

    def to_step(self, situation: Situation, placed: Placed) -> Step:
        """Return the placement as a step, with balance, notes and the goals that are not served."""
        asked_for = [goal for goal in situation.requests.order.asked_for if goal not in self.serves]
        return Step(
            answer=placed.placement,
            plan=None,
            warmups=Warmups(placed.warmups),
            reason=Reason.HEURISTIC,
            found_by=self.name,
            balanced=compute_shares(situation.problem).hold(count_copies(situation.problem, placed.placement)),
            followup=placed.followup,
            notes=placed.notes,
            unserved={
                goal: f"{self.name} follows rules of its own"
                for goal in situation.requests.order.asked_for
                if goal in asked_for
            },
        )

    def on_assignment_computed(  # noqa: B027 - most have nothing to do
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Do nothing: baselines keep no state between calls."""


_IN_TRANSIT = -2
"""`col_rank_now` of the remembered active client of a task in transit (R10)."""


def find_surviving(situation: Situation) -> Placement:
    """Return the previous copies on clients of the snapshot: active −1 if missing, standbys possibly too few, never too many.

    Of several claimants, the client that lags least keeps the task, then the least id; a task in transit is with the client
    of the remembered answer. If there are too many standbys (without memory, Kafka lists every task directory on disk), those
    with the least lag stay.
    """
    problem = situation.problem
    T, C = problem.T, problem.C
    order = np.lexsort((problem.col_client, problem.col_lag, problem.col_task))
    task, client = problem.col_task[order], problem.col_client[order]

    claims = (problem.col_owner | (problem.col_rank_now == _IN_TRANSIT))[order]
    active = np.full(T, -1, dtype=np.int64)
    active[task[claims][::-1]] = client[claims][::-1]  # reversed, so that the client that lags least wins

    stands = problem.col_standby[order] & problem.logged[task] & (active[task] != client)
    task, client = task[stands], client[stands]
    place = np.arange(len(task)) - np.searchsorted(task, task)
    keep = place < problem.standbys
    return make_placement(active, task[keep] * C + client[keep], C)
