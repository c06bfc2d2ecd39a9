"""A Kafka broker: broker and controller (KRaft) in one JVM."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from optassign_benchmarks.kafka.load import CRITICAL
from optassign_benchmarks.kafka.processes import TIMEOUT, ChildProcess, await_condition, find_free_ports, java_command

_READY = "Kafka Server started"
_CLUSTER_ID = "b3B0YXNzaWduLXRlc3RzXw"  # 16 bytes in base 64, as Kafka wants them


class Brokers(Protocol):
    """One or several brokers, as clients use them."""

    @property
    def address(self) -> str:
        """Return the brokers' addresses: host:port, separated by commas."""

    @property
    def log(self) -> Path:
        """Return the file with a broker's output, for failure messages."""

    def create_topics(self, names: Iterable[str], partitions: int) -> None:
        """Create topics; KafkaException if one of them exists."""


class Broker:
    """A running broker with its own data folder. A context manager that kills it at the end."""

    def __init__(
        self,
        folder: Path,
        *,
        jars: str | None = None,
        properties: Mapping[str, object] | None = None,
        listeners: Mapping[str, tuple[str, int]] | None = None,
        ports: tuple[int, int] | None = None,
        waits: bool = True,
    ) -> None:
        """Start the broker. RuntimeError if its storage cannot be formatted, or if the broker ends.

        `jars`: its class path, by default that of `classpath`. `properties`: extend or replace those of this module.
        `listeners`: name → (protocol, port), in addition to the plaintext listener. `ports`: of the plaintext listener and the
        controller, by default free ports. `waits`: whether to wait until the broker is up; a broker of a cluster does not come
        up alone. The broker continues with the data of a stopped broker if `folder` has the folder `logs`.
        """
        port, controller_port = ports or find_free_ports(2)
        self.address = f"127.0.0.1:{port}"
        data = folder / "logs"
        has_data = data.is_dir()
        folder.mkdir(parents=True, exist_ok=has_data)
        file = folder / "server.properties"
        file.write_text(_properties(port, controller_port, data, listeners or {}, properties or {}), encoding="utf-8")
        # StorageTool reports a failure by its exit code and a text.
        formatting = java_command(
            "kafka.tools.StorageTool",
            ["format", "-t", _CLUSTER_ID, "-c", str(file)],
            heap_mb=128,
            temporary=folder / "tmp",
            jars=jars,
        )
        if not has_data:
            done = subprocess.run(formatting, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"cannot format the broker's storage: {done.stdout}\n{done.stderr}")
        self._folder, self._file = folder, file
        self._log = folder / "broker.log"
        self._starts = 0
        self.use_jars(jars)
        self.start(waits=waits)

    def use_jars(self, jars: str | None) -> None:
        """Use another class path from the next start on."""
        self._command = java_command("kafka.Kafka", [str(self._file)], heap_mb=384, temporary=self._folder / "tmp", jars=jars)

    def configure(self, name: str, value: object) -> None:
        """Use another value of an existing property from the next start on."""
        lines = self._file.read_text(encoding="utf-8").splitlines()
        changed = [f"{name}={value}" if line.startswith(f"{name}=") else line for line in lines]
        self._file.write_text("\n".join(changed) + "\n", encoding="utf-8")

    def start(self, *, waits: bool = True) -> None:
        """Start the broker with its present data. `waits`: whether to wait until the broker is up."""
        self.process = ChildProcess(self._command, self._log)
        self._starts += 1
        if waits:
            self.await_started()

    def await_started(self) -> None:
        """Wait until the broker is up."""
        await_condition("broker started", self._has_started, timeout=4 * TIMEOUT, logs=lambda: [self.log])

    @property
    def log(self) -> Path:
        """Return the file with the broker's output."""
        return self._log

    def create_topics(self, names: Iterable[str], partitions: int) -> None:
        """Create topics; KafkaException if one of them exists."""
        create_topics(self.address, names, partitions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()  # its data is no longer needed, so it need not stop cleanly

    def _has_started(self) -> bool:
        if not self.process.alive:
            raise RuntimeError(f"the broker ended:\n{self.log.read_text(encoding='utf-8', errors='replace')[-4000:]}")
        return self.log.read_text(encoding="utf-8", errors="replace").count(_READY) == self._starts


def create_topics(address: str, names: Iterable[str], partitions: int) -> None:
    """Create topics with the brokers' default number of replicas; KafkaException if one of them exists."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": CRITICAL})
    for future in admin.create_topics([NewTopic(name, partitions, -1) for name in names]).values():
        future.result(timeout=TIMEOUT)


def find_leader(address: str, topic: str, partition: int) -> int | None:
    """Return the id of the broker that leads a partition; None without a leader or for an unknown partition."""
    found = _read_topics(address)[topic].partitions.get(partition)
    return found.leader if found is not None and found.leader >= 0 else None


def find_preferred_leader(address: str, topic: str, partition: int) -> int:
    """Return the id of a partition's preferred leader: its first replica, which takes over if another leader fails."""
    preferred: int = _read_topics(address)[topic].partitions[partition].replicas[0]
    return preferred


def are_replicas_in_sync(address: str) -> bool:
    """Return whether all replicas of every partition are in sync."""
    parts = (part for topic in _read_topics(address).values() for part in topic.partitions.values())
    return all(set(part.isrs) >= set(part.replicas) for part in parts)


def _read_topics(address: str) -> dict[str, Any]:
    return AdminClient({"bootstrap.servers": address, "log_level": CRITICAL}).list_topics(timeout=60).topics


def _properties(
    port: int, controller_port: int, data: Path, listeners: Mapping[str, tuple[str, int]], more: Mapping[str, object]
) -> str:
    open_to_clients = {"PLAINTEXT": ("PLAINTEXT", port), **listeners}
    addresses = [f"{name}://127.0.0.1:{each}" for name, (_, each) in open_to_clients.items()]
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": ",".join([*addresses, f"CONTROLLER://127.0.0.1:{controller_port}"]),
        "advertised.listeners": ",".join(addresses),
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT", *(f"{name}:{protocol}" for name, (protocol, _) in open_to_clients.items())]
        ),
        "controller.listener.names": "CONTROLLER",
        "log.dirs": data,
        "broker.rack": "r1",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "offsets.topic.num.partitions": 3,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 3,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        # A killed process leaves transactions open, and their records unread, until the broker aborts them.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        **more,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
