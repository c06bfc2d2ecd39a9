"""Draws histories by their seeds, in the shapes of the suites."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import get_args

from optassign.formats.clients import KafkaStreamsState
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.tasks import TaskInfo
from optassign.simulation.convergence import Rebalancing
from optassign.simulation.histories.history import Change, Deed, History
from optassign_models.policy.constants import LARGEST_END, MEDIAN_END, MOST_CHANGES, SMALLEST_END, TINY_SHARE

__all__ = ["SUITES", "Shape", "draw_history"]

_ZONES, _CLUSTERS = ("z1", "z2", "z3"), ("k1", "k2")


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters that a suite's histories are drawn from; ranges have both ends."""

    histories: int
    """How many the suite has."""
    processes: tuple[int, int]
    threads: tuple[int, int]
    large_threads: tuple[int, int]
    """The threads of a tenth of the processes."""
    subtopologies: tuple[int, int]
    partitions: tuple[int, int]
    logged: float
    """Share of the subtopologies; `unlogged` and stateless ones are the others."""
    unlogged: float
    warmups: tuple[int, ...]


SUITES = {
    "small": Shape(300, (1, 8), (1, 4), (1, 4), (1, 6), (1, 8), 0.6, 0.1, (1, 2, 4)),
    "large": Shape(30, (8, 40), (1, 8), (32, 64), (4, 20), (16, 128), 0.5, 0.1, (10, 20, 40)),
}
"""Name → shape."""


def draw_history(suite: str, seed: int) -> History:
    """The history of that seed. KeyError for a suite that there is not."""
    return _Draft(suite, SUITES[suite], seed).draw()


class _Draft:
    """The group while its changes are drawn, with its present clients, so that none leaves twice."""

    def __init__(self, suite: str, shape: Shape, seed: int) -> None:
        self._suite, self._shape, self._seed = suite, shape, seed
        self._dice = random.Random(f"{suite}/{seed}")
        self._has_tags = self._dice.random() < 2 / 3
        self._made = self._subtopologies = 0
        self._there: dict[str, KafkaStreamsState] = {}
        self._tags: tuple[str, ...] = ()
        self._standbys = self._dice.randint(0, 2)

    def draw(self) -> History:
        """All of it."""
        dice, shape = self._dice, self._shape
        for _ in range(dice.randint(*shape.processes)):
            client = self._make_client()
            self._there[client.process_id] = client
        clients = tuple(self._there.values())
        tasks = tuple(task for _ in range(dice.randint(*shape.subtopologies)) for task in self._make_subtopology())
        self._tags = self._draw_tags()
        configs = AssignmentConfigs(
            num_standby_replicas=self._standbys,
            max_warmup_replicas=dice.choice(shape.warmups),
            rack_aware_assignment_tags=self._tags,
        )
        number = dice.randint(1, MOST_CHANGES)
        changes = tuple(self._draw_change(is_last=n == number - 1) for n in range(number))
        return History(
            suite=self._suite,
            seed=self._seed,
            tasks=tasks,
            clients=clients,
            configs=configs,
            changes=changes,
            keep_state=dice.random() < 1 / 3,
            growth=dice.choice((0.0, 0.0, 0.02)),
            rebalancing=dice.choice(get_args(Rebalancing)),
        )

    def _draw_change(self, *, is_last: bool) -> Change:
        dice = self._dice
        do = dice.choice(self._list_possible())
        # A quarter of the changes come while the group is still busy with the one before.
        rebalances = dice.randint(1, 2) if dice.random() < 1 / 4 and not is_last else None
        match do:
            case "process added":
                client = self._make_client()
                self._there[client.process_id] = client
                return Change(do, (client.process_id,), joined=client, rebalances=rebalances)
            case "process restarted":
                who, away, behind = self._draw_client(), dice.randint(0, 2), dice.choice((0.0, 0.01, 0.1))
                return Change(do, (who,), away=away, behind=behind, rebalances=rebalances)
            case "process dropped":
                who = self._draw_client()
                del self._there[who]
                return Change(do, (who,), rebalances=rebalances)
            case "thread added" | "thread dropped":
                who = dice.choice([c for c, client in self._there.items() if do == "thread added" or client.threads > 1])
                more = 1 if do == "thread added" else -1
                self._there[who] = self._there[who].model_copy(update={"threads": self._there[who].threads + more})
                return Change(do, (who,), rebalances=rebalances)
            case "subtopology added":
                return Change(do, tasks=self._make_subtopology(), rebalances=rebalances)
            case "zone leaves":
                zone = dice.choice(sorted({client.tags["zone"] for client in self._there.values()}))
                gone = tuple(c for c, client in self._there.items() if client.tags["zone"] == zone)
                for who in gone:
                    del self._there[who]
                return Change(do, gone, rebalances=rebalances)
            case "tags changed":
                others = [tags for tags in ((), ("zone",), ("cluster", "zone")) if tags != self._tags]
                self._tags = dice.choice(others)
                return Change(do, tags=self._tags, rebalances=rebalances)
            case "standbys changed":
                self._standbys = dice.choice([number for number in range(3) if number != self._standbys])
                return Change(do, standbys=self._standbys, rebalances=rebalances)

    def _list_possible(self) -> list[Deed]:
        possible: list[Deed] = ["process restarted", "thread added", "subtopology added", "standbys changed"]
        if len(self._there) < self._shape.processes[1]:
            possible.append("process added")
        if len(self._there) > 1:
            possible.append("process dropped")
        if any(client.threads > 1 for client in self._there.values()):
            possible.append("thread dropped")
        if self._has_tags:
            possible.append("tags changed")
            if len({client.tags["zone"] for client in self._there.values()}) > 1:
                possible.append("zone leaves")
        return sorted(possible)

    def _draw_client(self) -> str:
        return self._dice.choice(list(self._there))

    def _draw_tags(self) -> tuple[str, ...]:
        return self._dice.choice(((), ("zone",), ("cluster", "zone"))) if self._has_tags else ()

    def _make_client(self) -> KafkaStreamsState:
        self._made += 1
        dice, shape = self._dice, self._shape
        tags = {"zone": dice.choice(_ZONES), "cluster": dice.choice(_CLUSTERS)} if self._has_tags else {}
        threads = dice.randint(*(shape.large_threads if dice.random() < 1 / 10 else shape.threads))
        return KafkaStreamsState(process_id=f"p{self._made:03d}", threads=threads, tags=tags)

    def _make_subtopology(self) -> tuple[TaskInfo, ...]:
        dice, shape, number = self._dice, self._shape, self._subtopologies
        self._subtopologies += 1
        kind = dice.random()
        is_logged, is_stateful = kind < shape.logged, kind < shape.logged + shape.unlogged
        is_tiny = dice.random() < TINY_SHARE
        return tuple(
            TaskInfo(
                id=f"{number}_{partition}",
                stateful=is_stateful,
                logged=is_logged,
                changelog_end_offset=self._draw_end(is_tiny=is_tiny) if is_logged else None,
            )
            for partition in range(dice.randint(*shape.partitions))
        )

    def _draw_end(self, *, is_tiny: bool) -> int:
        if is_tiny:
            return self._dice.randint(0, 10_000)
        return min(LARGEST_END, SMALLEST_END + int(self._dice.lognormvariate(math.log(MEDIAN_END), 1.2)))
