"""The applications of deploy/examples, built as users build them, and instances of the plain one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from optassign.assignors.baselines import maven
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import JAVA
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition

EXAMPLES = JAVA.parent / "deploy" / "examples"
ORDER_PARTITIONS = 12
"""Number of tasks of the plain example."""
ORDERS, _CUSTOMERS = 2_400, 240
_LINE = re.compile(r"optassign: application=\S+ (?:shadow: )?tasks=(\d+) clients=(\d+) answered_by=([\w-]+)")


def install_plugin() -> None:
    """Install the plug-in into the local Maven repository, as docs/get-started/install.md describes."""
    maven.build(JAVA / "plugin")
    target = JAVA / "plugin" / "target"
    file, pom = target / "optassign-streams-0.1.0.jar", target / "optassign-streams.pom"
    with maven.lock(EXAMPLES / "plain" / "pom.xml"):
        maven.run(
            "mvn",
            "org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file",
            f"-Dfile={file}",
            f"-DpomFile={pom}",
        )


def build_example(name: str, goal: str, folder: Path, *options: str) -> Path:
    """Run Maven up to a goal on a copy of an example, and return the copy. BuildError with Maven's output if it fails."""
    install_plugin()
    copy = folder / name
    shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("target"))
    maven.run("mvn", "-f", str(copy / "pom.xml"), goal, *options)
    return copy


def write_orders(broker: Broker) -> None:
    """Create the topics of the plain example, and write orders."""
    broker.create_topics(["orders", "counts"], ORDER_PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.address})
    for number in range(ORDERS):
        producer.produce("orders", key=f"customer-{number % _CUSTOMERS}", value=str(number))
    producer.flush()


class ExampleApplication:
    """Instances of the example, and the rebalances that their leaders have logged."""

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
        """Return (tasks, clients, answering component) of each rebalance, in order for each instance."""
        logs = [file.read_text(encoding="utf-8", errors="replace") for file in sorted(self._folder.glob("*/log"))]
        return [match.groups() for log in logs for match in _LINE.finditer(log)]  # type: ignore[misc]

    def await_rebalance(self, clients: int, answered_by: str, since: int = 0) -> None:
        wanted = (str(ORDER_PARTITIONS), str(clients), answered_by)

        def reached() -> bool:
            dead = [name for name, process in self.processes.items() if not process.alive]
            assert not dead, f"{dead}: {[self.processes[name].log.read_text()[-2000:] for name in dead]}"
            return self.read_rebalances().count(wanted) > since

        logs = sorted(self._folder.glob("*/log"))
        await_condition(f"a rebalance {wanted}", reached, found=self.read_rebalances, logs=lambda: logs)


@contextmanager
def run_example(command: list[str], folder: Path, settings: Mapping[str, object]) -> Iterator[ExampleApplication]:
    application = ExampleApplication(command, folder, settings)
    try:
        yield application
    finally:
        for name in list(application.processes):
            application.kill(name)
