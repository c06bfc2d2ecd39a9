"""Tests that an application that calls `OptassignProgress.attach` shows the progress of warm-ups between rebalances."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, TopicPartition
from example_applications import ORDER_PARTITIONS, ORDERS, ExampleApplication, build_example, run_example

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.processes import await_condition, java_command
from optassign_benchmarks.kafka.service import ServiceProcess

pytestmark = pytest.mark.long

_CHANGELOG = "progress-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog"
_BYTES_PER_SECOND = 1_000
"""The broker's limit for an instance that reads changelogs: 2,400 records take minutes."""


def limit_restoring(broker: Broker, instance: str, folder: Path) -> None:
    """Limit the rate of the consumer that restores an instance's state."""
    about = ["--entity-type", "clients", "--entity-name", f"{instance}-StateUpdater-1-restore-consumer"]
    more = ["--bootstrap-server", broker.address, "--alter", "--add-config", f"consumer_byte_rate={_BYTES_PER_SECOND}"]
    command = java_command("kafka.admin.ConfigCommand", [*more, *about], heap_mb=128, temporary=folder / "tmp")
    subprocess.run(command, check=True, capture_output=True)


def await_counted(broker: Broker) -> None:
    """Wait until the changelog has a record for each order."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "looks-at-changelogs"})

    def counted() -> bool:
        ends = (consumer.get_watermark_offsets(TopicPartition(_CHANGELOG, n))[1] for n in range(ORDER_PARTITIONS))
        return sum(ends) >= ORDERS

    await_condition("all orders are counted", counted)
    consumer.close()


def read_live(service: ServiceProcess, why: str) -> dict[str, dict[str, Any]]:
    """Return task → row of a copy that an instance reports with this reason; `last` is the id of the last rebalance."""
    with urlopen(f"{service.url}/v1/history/progress", timeout=60) as answer:
        view = json.load(answer)
    rows = [row for row in view["copies"] if row["heard_at"] and row["why"] == why]
    return {row["task"]: {**row, "last": view["row"]["last"]["id"]} for row in rows}


def await_growth(service: ServiceProcess, why: str, application: ExampleApplication) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two rows of a copy, once it has been reported twice between two rebalances, the second time with a smaller lag."""
    first: dict[str, dict[str, Any]] = {}
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def grown() -> bool:
        for task, row in read_live(service, why).items():
            before = first.setdefault(f"{task} {row['last']}", row)
            if before["lag"] > row["lag"] > 0 and row["heard_at"] > before["heard_at"]:
                found.append((before, row))
        return bool(found)

    logs = [process.log for process in application.processes.values()]
    await_condition(f"a copy that restores, told twice: {why}", grown, found=lambda: first, logs=lambda: logs)
    return found[0]


def test_warm_ups_and_lost_state_are_shown_while_they_restore(
    broker: Broker, service: ServiceProcess, orders: str, tmp_path: Path
) -> None:
    assert orders
    target = build_example("plain", "package", tmp_path) / "target"
    options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    java = shutil.which("java") or pytest.skip("needs Java")
    command = [java, *options, "-cp", f"{target / 'orders.jar'}:{target / 'lib'}/*", "example.OrdersApplication"]
    settings = {
        "application.id": "progress",
        "bootstrap.servers": broker.address,
        "optassign.url": service.url,
        "optassign.timeout.ms": 10_000,
        "session.timeout.ms": 30_000,
        "commit.interval.ms": 200,
        "statestore.cache.max.bytes": 0,  # writes a record to the changelog for each order
        "acceptable.recovery.lag": 0,
        "max.warmup.replicas": ORDER_PARTITIONS,
        "producer.batch.size": 200,  # so that a fetch returns a part of a changelog
        "restore.consumer.max.partition.fetch.bytes": 2_000,
        "restore.consumer.fetch.max.bytes": 2_000,
    }
    with run_example(command, tmp_path / "progress", settings) as application:
        application.start("a")
        application.await_rebalance(1, "cp-sat")
        await_counted(broker)
        limit_restoring(broker, "b", tmp_path)
        application.start("b")
        application.await_rebalance(2, "cp-sat")
        before, after = await_growth(service, "being restored", application)
        assert before["last"] == after["last"], "no rebalance came between the two"
        assert 0 <= before["progress_now"] < after["progress_now"] < 1
        assert after["rate"] > 0
        # The instance with all state is gone: the other one has to restore the rest before tasks run.
        application.kill("a")
        _, lost = await_growth(service, "its state is restored, and it does not run until that is done", application)
        assert lost["role"] == "active"
        assert lost["client"].endswith("(b)")
