"""Tests of the same jar with each line of Kafka Streams, and with the oldest and newest Java, on a real broker.

The application is the example of deploy/, built against that version. tests/java/compatibility.json has the results, and
docs/reference/compatibility.md their table.
"""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from example_applications import ORDER_PARTITIONS, ExampleApplication, build_example, run_example, write_orders

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import JAVA, broker_classpath
from optassign_benchmarks.kafka.service import ServiceProcess

pytestmark = pytest.mark.long

_RESULTS = json.loads((JAVA.parent / "tests" / "java" / "compatibility.json").read_text(encoding="utf-8"))
_JDKS = Path("/usr/lib/jvm")


@cache
def find_java(release: str) -> str:
    """Return the program of a Java release, or skip the test."""
    for home in sorted(_JDKS.glob("*")):
        about = home / "release"
        if about.is_file() and re.search(rf'^JAVA_VERSION="{release}\b', about.read_text(encoding="utf-8"), re.MULTILINE):
            return str(home / "bin" / "java")
    pytest.skip(f"needs Java {release}")


def grow_and_shrink(application: ExampleApplication) -> None:
    """Start two instances and a third, and kill one; check that the planner in the jar answers."""
    application.start("a", "b")
    application.await_rebalance(2, "planner")
    application.start("c")
    application.await_rebalance(3, "planner")
    before = application.read_rebalances().count((str(ORDER_PARTITIONS), "2", "planner"))
    application.kill("a")
    application.await_rebalance(2, "planner", since=before)


@pytest.mark.parametrize("version", sorted(_RESULTS["kafka_streams"]))
def test_an_application_joins_dies_and_is_watched(
    version: str, broker: Broker, service: ServiceProcess, orders: str, tmp_path: Path
) -> None:
    assert orders
    target = build_example("plain", "package", tmp_path, f"-Dkafka.version={version}") / "target"
    recorded = _RESULTS["kafka_streams"][version]
    worked: dict[str, list[str]] = {"java": [], "modes": []}
    for release in ("17", "25"):
        java = shutil.which("java") if release == "17" else find_java(release)
        options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [str(java), *options, "-cp", f"{target / 'orders.jar'}:{target / 'lib'}/*", "example.OrdersApplication"]
        common = {
            "bootstrap.servers": broker.address,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
            "commit.interval.ms": 500,
        }
        name = f"{version}-{release}"
        with run_example(command, tmp_path / f"planner-{name}", {**common, "application.id": f"planner-{name}"}) as planner:
            grow_and_shrink(planner)
        worked["java"].append(release)
        if release != "17":
            continue
        # The service may be slow on a busy machine, so members get more time, too.
        served = {**common, "session.timeout.ms": 30_000, "optassign.url": service.url, "optassign.timeout.ms": 10_000}
        with run_example(command, tmp_path / f"service-{name}", {**served, "application.id": f"service-{name}"}) as asked:
            asked.start("a", "b")
            asked.await_rebalance(2, "cp-sat")
        shadow = {**served, "application.id": f"shadow-{name}", "optassign.mode": "shadow"}
        with run_example(command, tmp_path / f"shadow-{name}", shadow) as watched:
            watched.start("a", "b")
            watched.await_rebalance(2, "kafka-high-availability")
        worked["modes"] = ["planner", "service", "shadow"]
    assert {key: recorded[key] for key in worked} == worked


@pytest.mark.parametrize("version", sorted(_RESULTS["brokers"]))
def test_applications_of_both_ends_run_on_other_brokers(version: str, tmp_path: Path) -> None:
    """The clients are the oldest release with KIP-924's interface, and the release of the published figures."""
    options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    with Broker(tmp_path / "broker", jars=broker_classpath(version)) as broker:
        write_orders(broker)
        for client in _RESULTS["brokers"][version]:
            target = build_example("plain", "package", tmp_path / client, f"-Dkafka.version={client}") / "target"
            java = shutil.which("java") or pytest.skip("needs Java")
            command = [java, *options, "-cp", f"{target / 'orders.jar'}:{target / 'lib'}/*", "example.OrdersApplication"]
            settings = {
                "application.id": f"on-{version}-{client}",
                "bootstrap.servers": broker.address,
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "commit.interval.ms": 500,
            }
            with run_example(command, tmp_path / client / "run", settings) as application:
                grow_and_shrink(application)
