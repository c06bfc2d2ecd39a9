"""Which instances have which tasks, and whether they are spread evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from optassign_benchmarks.kafka.load import KINDS, PARTITIONS


@dataclass(frozen=True)
class TasksByInstance:
    """Name of the instance -> ids of its tasks, by role."""

    active: Mapping[str, frozenset[str]]
    standby: Mapping[str, frozenset[str]]

    def __str__(self) -> str:
        return "; ".join(f"{n}: {sorted(self.active[n])} {sorted(self.standby[n])}" for n in sorted(self.active))

    def assert_balanced(self, standbys: int) -> None:
        """AssertionError unless tasks are even over all instances, and each logged task has its standbys on others."""
        for number, kind in enumerate(KINDS):
            self._assert_even(f"active tasks of {kind}", {n: _count_of(number, tasks) for n, tasks in self.active.items()})
        self._assert_even("active tasks", {name: len(tasks) for name, tasks in self.active.items()})
        self._assert_even(
            "copies", {name: _count_of(0, tasks) + len(self.standby[name]) for name, tasks in self.active.items()}
        )
        copies = Counter(task for tasks in self.standby.values() for task in tasks)
        wanted = {f"0_{p}": min(standbys, len(self.active) - 1) for p in range(PARTITIONS)}
        assert copies == Counter(wanted), f"standbys per task: found {copies}, expected {wanted}"
        both = {name: tasks & self.standby[name] for name, tasks in self.active.items() if tasks & self.standby[name]}
        assert not both, f"active and standby on one instance: {both}"

    def _assert_even(self, what: str, counts: Mapping[str, int]) -> None:
        assert max(counts.values()) - min(counts.values()) <= 1, f"{what} are not even: {counts}: {self}"


def _count_of(subtopology: int, tasks: Iterable[str]) -> int:
    return sum(task.startswith(f"{subtopology}_") for task in tasks)
