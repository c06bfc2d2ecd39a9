"""Kafka's own assignors, snapshots for them, and a short notation for their answers."""

from __future__ import annotations

from pathlib import Path

from judging import make_answer

from optassign.assignors.baselines.kafka import KafkaBrokerSticky, KafkaBrokerSticky44, KafkaHighAvailability, KafkaSticky
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign_benchmarks.grid import Spec

RECORDED = Path(__file__).parents[2] / "data" / "kafka-4.3.1"
UNLIMITED_LAG = 2**63 - 1
ALL = (KafkaHighAvailability, KafkaSticky, KafkaBrokerSticky, KafkaBrokerSticky44)
GENERATED = (
    Spec("cold", 17, 3, 1),
    Spec("steady", 37, 5, 2, threads=2, unlogged=0.2),
    Spec("scale-out", 100, 10, 1, seed=1),
    Spec("scale-out", 60, 8, 3, warmups=5, threads=(1, 4), tiny=0.2, seed=2),
    Spec("scale-in", 100, 10, 2, unknown=0.1, seed=3),
    Spec("restart", 50, 6, 0, memory=True, seed=4),
    Spec("partial", 80, 9, 2, warmups=20, seed=5),
    Spec("partial", 250, 25, 3, warmups=40, seed=6),
    Spec("partial", 12, 1, 1, threads=2),
    Spec("scale-out", 20, 3, 5),
    Spec("cold", 3, 9, 2),
    Spec("steady", 30, 4, stateless=1.0),
    Spec("partial", 30, 4, stateless=0.0, unlogged=1.0),
)
SNAPSHOTS = {
    **{spec.name: spec.generate() for spec in GENERATED},
    **{file.stem: ApplicationState.model_validate_json(file.read_text()) for file in sorted(RECORDED.glob("*.json"))},
}


def describe_roles(found: TaskAssignment) -> dict[str, str]:
    """Return client → its tasks in the notation of `judging.make_answer`."""
    told = {}
    for client in found.clients:
        text = " | ".join(" ".join(role) for role in (client.active, client.standby, client.warmup))
        told[client.process_id] = text + ("!" if client.followup_rebalance_ms is not None else "")
    return told


def is_same(found: TaskAssignment, expected: dict[str, str]) -> bool:
    return describe_roles(found) == describe_roles(make_answer(expected))
