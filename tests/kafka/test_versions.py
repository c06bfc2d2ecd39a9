"""The same jar under each line of Kafka Streams and under the oldest and newest Java: a real application on a real broker.

It is the example of deploy/, built against that version. What works stands in tests/java/compatibility.json, of which
docs/reference/compatibility.md has its table.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from confluent_kafka import Producer
from example_applications import build_example

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import JAVA
from optassign_benchmarks.kafka.processes import ChildProcess
from optassign_benchmarks.kafka.service import Service
from optassign_benchmarks.kafka.waiting import await_condition

pytestmark = pytest.mark.long

_RESULTS = json.loads((JAVA.parent / "tests" / "java" / "compatibility.json").read_text(encoding="utf-8"))["kafka_streams"]
_PARTITIONS, _ORDERS = 12, 2_400
_LINE = re.compile(r"optassign: application=\S+ (?:shadow: )?tasks=(\d+) clients=(\d+) answered_by=([\w-]+)")
_JDKS = Path("/usr/lib/jvm")


@cache
def find_java(release: str) -> str:
    """Return the program of a Java release; the test is skipped without it."""
    for home in sorted(_JDKS.glob("*")):
        about = home / "release"
        if about.is_file() and re.search(rf'^JAVA_VERSION="{release}\b', about.read_text(encoding="utf-8"), re.MULTILINE):
            return str(home / "bin" / "java")
    pytest.skip(f"needs Java {release}")


@pytest.fixture(scope="module")
def orders(broker: Broker) -> str:
    """The topic of orders."""
    broker.create_topics(["orders", "counts"], _PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.address})
    for number in range(_ORDERS):
        producer.produce("orders", key=f"customer-{number % 240}", value=str(number))
    producer.flush()
    return "orders"


class Application:
    """Instances of the example, and what their leaders have logged."""

    def __init__(self, command: list[str], folder: Path, settings: Mapping[str, object]) -> None:
        self.processes: dict[str, ChildProcess] = {}
        self._command, self._folder, self._settings = command, folder, settings

    def start(self, *names: str) -> None:
        for name in names:
            folder = self._folder / name
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / "streams.properties"
            settings = {**self._settings, "state.dir": folder / "state", "client.id": name}
            file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
            self.processes[name] = ChildProcess([*self._command, str(file)], folder / "log")

    def kill(self, name: str) -> None:
        self.processes.pop(name).kill()

    def read_rebalances(self) -> list[tuple[str, str, str]]:
        """(tasks, clients, who answered) of each rebalance, those of one instance in order."""
        logs = [file.read_text(encoding="utf-8", errors="replace") for file in sorted(self._folder.glob("*/log"))]
        return [match.groups() for log in logs for match in _LINE.finditer(log)]  # type: ignore[misc]

    def await_rebalance(self, clients: int, answered_by: str, since: int = 0) -> None:
        wanted = (str(_PARTITIONS), str(clients), answered_by)

        def reached() -> bool:
            dead = [name for name, process in self.processes.items() if not process.alive]
            assert not dead, f"{dead}: {[self.processes[name].log.read_text()[-2000:] for name in dead]}"
            return self.read_rebalances().count(wanted) > since

        logs = sorted(self._folder.glob("*/log"))
        await_condition(f"a rebalance {wanted}", reached, found=self.read_rebalances, logs=lambda: logs)


@contextmanager
def run(command: list[str], folder: Path, settings: Mapping[str, object]) -> Iterator[Application]:
    application = Application(command, folder, settings)
    try:
        yield application
    finally:
        for name in list(application.processes):
            application.kill(name)


@pytest.mark.parametrize("version", sorted(_RESULTS))
def test_an_application_joins_dies_and_is_watched(
    version: str, broker: Broker, service: Service, orders: str, tmp_path: Path
) -> None:
    assert orders
    target = build_example("plain", "package", tmp_path, f"-Dkafka.version={version}") / "target"
    recorded = _RESULTS[version]
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
        with run(command, tmp_path / f"planner-{name}", {**common, "application.id": f"planner-{name}"}) as planner:
            planner.start("a", "b")
            planner.await_rebalance(2, "planner")
            planner.start("c")
            planner.await_rebalance(3, "planner")
            before = planner.read_rebalances().count((str(_PARTITIONS), "2", "planner"))
            planner.kill("a")
            planner.await_rebalance(2, "planner", since=before)
        worked["java"].append(release)
        if release != "17":
            continue
        # The service may take its time on a busy machine, so members need more of it, too.
        served = {**common, "session.timeout.ms": 30_000, "optassign.url": service.url, "optassign.timeout.ms": 10_000}
        with run(command, tmp_path / f"service-{name}", {**served, "application.id": f"service-{name}"}) as asked:
            asked.start("a", "b")
            asked.await_rebalance(2, "cp-sat")
        shadow = {**served, "application.id": f"shadow-{name}", "optassign.mode": "shadow"}
        with run(command, tmp_path / f"shadow-{name}", shadow) as watched:
            watched.start("a", "b")
            watched.await_rebalance(2, "kafka-high-availability")
        worked["modes"] = ["planner", "service", "shadow"]
    assert {key: recorded[key] for key in worked} == worked
