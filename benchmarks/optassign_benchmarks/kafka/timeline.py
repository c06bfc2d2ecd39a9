"""The events of each task of a simulated group: when and where it ran, and when another process could have taken over."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CopyEvent:
    """A change of a copy's state: restoring, running, stopped, ready or gone."""

    at_ms: int
    task: str
    process: str
    member: str
    role: str
    state: str


@dataclass
class LiveCopies:
    """The copies that exist after the events so far."""

    held: dict[tuple[str, str], CopyEvent] = field(default_factory=dict)
    """(task, member) → the copy's last event; without copies that are gone."""

    def take(self, event: CopyEvent) -> None:
        """Apply the next event."""
        if event.state == "gone":
            self.held.pop((event.task, event.member), None)
        else:
            self.held[event.task, event.member] = event

    def running(self) -> dict[str, list[CopyEvent]]:
        """Return task → the copies that process it."""
        found: dict[str, list[CopyEvent]] = defaultdict(list)
        for event in self.held.values():
            if event.state == "running":
                found[event.task].append(event)
        return found

    def ready(self) -> dict[str, set[str]]:
        """Return task → the processes whose standby is within the acceptable lag."""
        found: dict[str, set[str]] = defaultdict(set)
        for event in self.held.values():
            if event.state == "ready":
                found[event.task].add(event.process)
        return found

    def is_settled(self, tasks: Mapping[str, bool], threads: Mapping[str, int], standbys: int) -> bool:
        """Return whether every task runs, balanced, and has all its standbys ready."""
        return self.is_balanced(tasks, threads) and self.is_covered(tasks, len(threads), standbys)

    def is_balanced(self, tasks: Collection[str], threads: Mapping[str, int]) -> bool:
        """Return whether every task runs once, and each process has its share of the tasks, rounded up or down."""
        running = self.running()
        if set(running) != set(tasks) or any(len(copies) != 1 for copies in running.values()):
            return False
        counts = Counter(copies[0].process for copies in running.values())
        total = sum(threads.values())
        return set(counts) <= set(threads) and all(
            len(tasks) * threads[name] // total <= counts[name] <= -(-len(tasks) * threads[name] // total) for name in threads
        )

    def is_covered(self, tasks: Mapping[str, bool], processes: int, standbys: int) -> bool:
        """Return whether every task with a changelog has exactly `standbys` standbys, all of them ready."""
        wanted = min(standbys, processes - 1)
        ready = self.ready()
        standing = Counter(event.task for event in self.held.values() if event.role == "standby")
        return all(len(ready[task]) == standing[task] == wanted for task, logged in tasks.items() if logged)


@dataclass(frozen=True)
class Figures:
    """The cost of a change of the group, over the time from `since_ms` to `until_ms`."""

    moved: Mapping[str, float]
    """Task with another owner at the end → seconds in which no process ran it."""
    stayed: Mapping[str, float]
    """The same for all other tasks."""
    twice_ms: int
    """Milliseconds in which a task ran on two members, summed over all tasks."""
    coverage: float
    """Share of task-seconds, of tasks with a changelog, in which a second process had the state ready."""
    balanced_s: float | None
    """Seconds until every task ran, balanced, for the rest of the time; None if not so at the end."""
    settled_s: float | None
    """Seconds until the group was also covered by ready standbys for the rest of the time; None if not so at the end."""

    @property
    def median(self) -> float:
        """Return the median of the moved tasks' seconds without processing."""
        return statistics.median(self.moved.values()) if self.moved else 0.0

    @property
    def most(self) -> float:
        """Return the greatest of the moved tasks' seconds without processing."""
        return max(self.moved.values(), default=0.0)


def measure(
    events: Iterable[CopyEvent],
    since_ms: int,
    until_ms: int,
    tasks: Mapping[str, bool],
    threads: Mapping[str, int],
    standbys: int,
) -> Figures:
    """Return the cost of a change over the time from `since_ms` to `until_ms`.

    `tasks`: task → whether it has a changelog; `threads`: process → number of threads, after the change.
    """
    ordered = list(events)
    copies = LiveCopies()
    position = 0
    while position < len(ordered) and ordered[position].at_ms < since_ms:
        copies.take(ordered[position])
        position += 1
    first = _owners(copies)
    down_ms: Counter[str] = Counter()
    covered_ms = twice_ms = 0
    balanced_at: int | None = None
    settled_at: int | None = None
    now = since_ms
    for event in [*ordered[position:], None]:
        then = until_ms if event is None else min(event.at_ms, until_ms)
        if then > now:
            running, ready = copies.running(), copies.ready()
            for task, logged in tasks.items():
                on = running.get(task, [])
                down_ms[task] += 0 if on else then - now
                twice_ms += then - now if len(on) > 1 else 0
                covered = {each.process for each in on} | ready.get(task, set())
                covered_ms += then - now if logged and len(covered) > 1 else 0
            balanced = copies.is_balanced(tasks, threads)
            settled = balanced and copies.is_covered(tasks, len(threads), standbys)
            balanced_at = (now if balanced_at is None else balanced_at) if balanced else None
            settled_at = (now if settled_at is None else settled_at) if settled else None
            now = then
        if event is None or event.at_ms > until_ms:
            break
        copies.take(event)
    last = _owners(copies)
    moved = {task for task in tasks if task in last and last[task] != first.get(task)}
    logged_ms = sum(tasks.values()) * (until_ms - since_ms)
    return Figures(
        {task: down_ms[task] / 1000 for task in moved},
        {task: down_ms[task] / 1000 for task in tasks if task not in moved},
        twice_ms,
        covered_ms / logged_ms if logged_ms else 1.0,
        None if balanced_at is None else (balanced_at - since_ms) / 1000,
        None if settled_at is None else (settled_at - since_ms) / 1000,
    )


def replay(events: Sequence[CopyEvent]) -> LiveCopies:
    """Return the copies after these events."""
    copies = LiveCopies()
    for event in events:
        copies.take(event)
    return copies


def _owners(copies: LiveCopies) -> dict[str, str]:
    return {event.task: event.process for event in copies.held.values() if event.role == "active"}
