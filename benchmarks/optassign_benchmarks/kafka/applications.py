"""Real programs for a group of `group.protocol=streams`: a Kafka Streams application, and `optassign watch`."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from optassign_benchmarks.kafka.broker import Brokers
from optassign_benchmarks.kafka.group import StreamsApplication, TasksByInstance
from optassign_benchmarks.kafka.instance import Status
from optassign_benchmarks.kafka.jars import latest_application_classpath, watch_jar
from optassign_benchmarks.kafka.load import PARTITIONS
from optassign_benchmarks.kafka.members import Members, Restoring
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, find_free_ports
from optassign_benchmarks.kafka.scenario import TAG

_QUICK: Mapping[str, object] = {
    "optassign.watch.interval.ms": 500,
    "optassign.watch.pause.ms": 2000,
    "optassign.acceptable.recovery.lag": 1000,
}
AS_SHIPPED: Mapping[str, object] = {
    "optassign_watch_interval_ms": 10_000,
    "optassign_watch_quick_interval_ms": 1000,
    "optassign_watch_pause_ms": 10_000,
}
"""The default intervals of a watcher, which replace those of `_QUICK`."""


class WatchProcess:
    """A process of `optassign watch` for one group; a context manager that stops the process by SIGTERM."""

    def __init__(self, address: str, group: str, folder: Path, *options: str, **properties: object) -> None:
        """Start the watcher. `options`: further arguments of its command line. `properties`: of its file, with `_` for `.`;
        they extend or replace `_QUICK`."""
        (port,) = find_free_ports(1)
        self._url = f"http://127.0.0.1:{port}/metrics"
        more = {name.replace("_", "."): value for name, value in properties.items()}
        settings = {"bootstrap.servers": address, "optassign.watch.metrics": f"127.0.0.1:{port}", **_QUICK, **more}
        file = folder / f"{group}-{port}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        arguments = ["--config", str(file), "--groups", group, *options]
        java = ["java", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={folder}"]
        self.process = ChildProcess([*java, "-jar", str(watch_jar()), *arguments], folder / f"{group}-watch-{port}.log")

    @property
    def output(self) -> str:
        """Return the watcher's log."""
        return self.process.log.read_text(encoding="utf-8")

    @property
    def triggers(self) -> int:
        """Return the number of assignments that the watcher has triggered, including those that restore the group's config."""
        return len(re.findall(r" (?:trigger|restore): reason=| restored: ", self.output))

    def read(self) -> dict[str, float]:
        """Return the watcher's metrics: name with labels → value; empty until the watcher answers."""
        try:
            with urllib.request.urlopen(self._url, timeout=60) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.alive:
            self.process.stop()


THREADS = 2
_SESSION_MS = 30_000
"""Time-out of sessions and transactions in milliseconds; long, since the machine may be busy. In 4.3.1 a member may die if it
leaves the group or its transaction is aborted."""
_OF_THE_CLASSIC_PROTOCOL = (
    "task.assignor.class",
    "num.standby.replicas",
    "max.warmup.replicas",
    "acceptable.recovery.lag",
    "main.consumer.session.timeout.ms",
    "main.consumer.heartbeat.interval.ms",
)


class StreamsGroup(StreamsApplication):
    """An application whose tasks the broker assigns; a context manager that ends its processes and its load."""

    def __init__(
        self, broker: Brokers, application: str, folder: Path, *, assignor: str, standbys: int, latest: bool = False
    ) -> None:
        """Create the topics, and set the group's configs; start no instance. `latest`: whether instances run the broker's
        version of Kafka Streams, which reports offsets; otherwise 4.3.1."""
        super().__init__(
            broker,
            application,
            folder,
            **dict.fromkeys(_OF_THE_CLASSIC_PROTOCOL),
            group_protocol="streams",
            producer_transaction_timeout_ms=_SESSION_MS,
            num_stream_threads=THREADS,
            **{f"client.tag.{TAG}": application},
        )
        self.standbys = standbys
        if latest:
            self.jars = latest_application_classpath()
        # Its Admin client knows configs of groups; it starts no members.
        self._admin = Members(broker.address, application, folder / application, (), Restoring(0, 1))
        self._admin.configure(
            streams_assignor_name=assignor,
            streams_num_standby_replicas=standbys,
            streams_assignment_interval_ms=0,
            streams_session_timeout_ms=_SESSION_MS,
        )

    def describe(self) -> dict[str, Any]:
        """Return the coordinator's description of the group: state, epochs, members, and the group's configs."""
        return self._admin.describe()

    def read_statuses(self) -> dict[str, Status]:
        """Return instance name → status; the last status if the instance has ended by itself."""
        return {name: each.status() for name, each in self.instances.items()}

    def is_settled(self, statuses: Mapping[str, Status]) -> bool:
        """Return whether all instances and threads are RUNNING members of the group, and every task runs once. The numbers of
        active tasks must differ by at most 1, and each logged task needs all possible standbys.
        """
        if any(status.state != "RUNNING" or set(status.threads) != {"RUNNING"} for status in statuses.values()):
            return False
        active = Counter(task for status in statuses.values() for task in status.active)
        standby = Counter(task for status in statuses.values() for task in status.standby)
        counts = [len(status.active) for status in statuses.values()]
        wanted = min(self.standbys, len(statuses) - 1)
        logged = [f"0_{p}" for p in range(PARTITIONS)]
        return (
            active == Counter(self.tasks)
            and standby == Counter(logged * wanted)
            and max(counts) - min(counts) <= 1
            and len(self.describe()["members"]) == THREADS * len(statuses)
        )

    def await_settled(self) -> TasksByInstance:
        """Wait until `is_settled`, and return the tasks. AssertionError after a time-out, or if a process or thread died."""
        last: dict[str, Status] = {}

        def is_reached() -> bool:
            self.assert_nothing_died()
            last.clear()
            last.update(self.read_statuses())
            return self.is_settled(last)

        await_condition(
            f"{self.application}: every task runs once, balanced, with {self.standbys} standbys",
            is_reached,
            found=lambda: (self.describe(), last),
            logs=self.logs,
        )
        return TasksByInstance(
            {name: frozenset(status.active) for name, status in last.items()},
            {name: frozenset(status.standby) for name, status in last.items()},
        )

    def close(self) -> None:
        """End all processes and the load."""
        super().close()
        self._admin.process.kill()
