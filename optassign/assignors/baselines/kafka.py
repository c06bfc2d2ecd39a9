"""Kafka's own assignors as baselines, run unchanged in a JVM (`optassign/assignors/baselines/jvm.py`).

| class | runs |
|---|---|
| `KafkaHighAvailability` | HighAvailabilityTaskAssignor, the default of Kafka Streams (KIP-441) |
| `KafkaSticky` | the public StickyTaskAssignor (KIP-924) |
| `KafkaBrokerSticky` | the broker's StickyTaskAssignor under `group.protocol=streams` (KIP-1071), of 4.3 |
| `KafkaBrokerSticky44` | the class of that name in 4.4, which is different |

java/baselines documents how it presents a snapshot to each class, and how it tells warm-ups from standbys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from optassign.assignor import AssignorError
from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_situation
from optassign_models.problem import IntArray, make_placement
from optassign_models.solving.situation import Situation

_UNKNOWN_TO_KAFKA: dict[str, Any] = {"remembered": True, "options": True, "tasks": {"__all__": {"source_end_offset"}}}
"""Fields that Kafka's classes do not know."""


class _KafkaAssignor(Baseline):
    """One of Kafka's own assignors. JavaNotFoundError without a JDK; AssignorError if Kafka's class fails."""

    runs: ClassVar[str]
    """The class's name in the runner."""

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place the copies as Kafka's class does."""
        return _read_response(situation, self._ask(state))

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return Kafka's answer. Its report has the seconds of the call inside the JVM as `assign`."""
        situation = read_situation(state)
        response = self._ask(state)
        placed = _read_response(situation, response)
        step = replace(self.to_step(situation, placed), found_by="kafka", seconds={"assign": response["seconds"][0]})
        return write_answer(state, situation, step, self.name)

    def timed(self, state: ApplicationState, warmup_calls: int = 0, timed_calls: int = 1) -> list[float]:
        """Return the seconds of each of `timed_calls` calls inside the JVM, after `warmup_calls` untimed ones.

        Each call gets its own objects, made before the clock starts.
        """
        seconds: list[float] = self._ask(state, warmup_calls, timed_calls)["seconds"]
        return seconds

    def _ask(self, state: ApplicationState, warmup_calls: int = 0, timed_calls: int = 1) -> dict[str, Any]:
        # Kafka's classes have no memory and none of optassign's options.
        snapshot = state.model_dump_json(exclude=_UNKNOWN_TO_KAFKA, exclude_defaults=True)
        return jvm.request({"assignor": self.runs, "warmup_calls": warmup_calls, "timed_calls": timed_calls}, snapshot)


class KafkaHighAvailability(_KafkaAssignor):
    """Kafka's HighAvailabilityTaskAssignor."""

    name = "kafka-high-availability"
    serves = frozenset({"rack_traffic", "tag_spread"})
    runs = "high-availability"


class KafkaSticky(_KafkaAssignor):
    """Kafka's public StickyTaskAssignor."""

    name = "kafka-sticky"
    serves = frozenset({"rack_traffic", "tag_spread"})
    runs = "sticky"


class KafkaBrokerSticky(_KafkaAssignor):
    """The StickyTaskAssignor of 4.3's broker."""

    name = "kafka-broker-sticky"
    runs = "broker-sticky"


class KafkaBrokerSticky44(_KafkaAssignor):
    """The StickyTaskAssignor of 4.4's broker, which uses offsets to find new places for standbys."""

    name = "kafka-broker-sticky-4.4"
    runs = "broker-sticky-4.4"


def _read_response(situation: Situation, response: dict[str, Any]) -> Placed:
    """Return the response in the numbering of the arrays. AssignorError if a task is not active exactly once."""
    index = {task: t for t, task in enumerate(situation.inventory.tasks)}
    owner = {client: c for c, client in enumerate(situation.inventory.clients)}
    C = len(owner)

    def list_keys(role: str) -> IntArray:
        """Return the keys task × C + client of all copies of a role."""
        lists = ((owner[client["process_id"]], client[role]) for client in response["clients"])
        return np.array([index[task] * C + c for c, tasks in lists for task in tasks], dtype=np.int64)

    active = np.sort(list_keys("active"))
    if not np.array_equal(active // C, np.arange(len(index))):
        raise AssignorError("Kafka's class returned a task without an active copy, or with two")
    return Placed(
        make_placement(active % C, list_keys("standby"), C),
        np.sort(list_keys("warmup")),
        response["followup"],
        (f"Kafka {response['version']}", *response["notes"]),
    )
