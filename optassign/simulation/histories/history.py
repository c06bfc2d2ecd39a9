"""A history: a group, and what happens to it, in words and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optassign.formats.clients import KafkaStreamsState
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.tasks import TaskInfo
from optassign.simulation.rebalances import Rebalancing

__all__ = ["Change", "Deed", "History"]

Deed = Literal[
    "process added",
    "process dropped",
    "process restarted",
    "thread added",
    "thread dropped",
    "subtopology added",
    "zone leaves",
    "tags changed",
    "standbys changed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happens."""

    do: Deed
    clients: tuple[str, ...] = ()
    """Process ids of those who come, go, restart, or have a thread more or less."""
    joined: KafkaStreamsState | None = None
    """The process that is added, empty."""
    tasks: tuple[TaskInfo, ...] = ()
    """The tasks of the subtopology that is added."""
    tags: tuple[str, ...] = ()
    """`rack_aware_assignment_tags` from now on."""
    standbys: int = 0
    """`num_standby_replicas` from now on."""
    away: int = 0
    """Rebalances that the group makes without the process that restarts; 0: it is back before the first."""
    behind: float = 0.0
    """Up to what share of their changelogs its copies have fallen behind when it is back."""
    rebalances: int | None = None
    """After how many rebalances the next change comes; None: once the group rests."""

    def __str__(self) -> str:
        """A line for people."""
        told = {
            "subtopology added": f" of {len(self.tasks)} tasks",
            "tags changed": f" to {', '.join(self.tags) or 'none'}",
            "standbys changed": f" to {self.standbys}",
            "process restarted": f", {self.away} rebalances away",
        }.get(self.do, "")
        after = "" if self.rebalances is None else f"; the next after {self.rebalances} rebalances"
        return f"{self.do}{' ' if self.clients else ''}{', '.join(self.clients)}{told}{after}"


@dataclass(frozen=True, slots=True)
class History:
    """A group with empty disks, and its changes."""

    suite: str
    seed: int
    tasks: tuple[TaskInfo, ...]
    clients: tuple[KafkaStreamsState, ...]
    configs: AssignmentConfigs
    changes: tuple[Change, ...]
    keep_state: bool
    """State that is dropped stays on its disk and grows old."""
    growth: float
    """The most that changelogs grow between rebalances, as a share of a copy's restored offsets."""
    rebalancing: Rebalancing = "eager"

    def __str__(self) -> str:
        """All of it, a line each."""
        tags = ", ".join(self.configs.rack_aware_assignment_tags) or "none"
        standbys, warmups = self.configs.num_standby_replicas, self.configs.max_warmup_replicas
        kept = f"keeps state: {self.keep_state}, growth {self.growth:g}, {self.rebalancing}"
        threads = ", ".join(f"{client.process_id} × {client.threads}" for client in self.clients)
        return "\n".join(
            [
                f"{self.suite} history {self.seed}: {len(self.tasks)} tasks, threads {threads}",
                f"standbys {standbys}, warm-ups {warmups}, tags {tags}, {kept}",
                *(f"{number}. {change}" for number, change in enumerate(self.changes, start=1)),
            ]
        )
