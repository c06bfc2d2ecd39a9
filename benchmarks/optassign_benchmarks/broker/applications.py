"""A real Kafka Streams application under `group.protocol=streams`: the processes of the classic one, but the broker assigns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optassign_benchmarks.broker.members import Members, Restoring
from optassign_benchmarks.broker.scenario import TAG
from optassign_benchmarks.kafka.broker import Brokers
from optassign_benchmarks.kafka.group import StreamsApplication, TasksByInstance
from optassign_benchmarks.kafka.instance import Status
from optassign_benchmarks.kafka.jars import latest_application_classpath
from optassign_benchmarks.kafka.load import PARTITIONS
from optassign_benchmarks.kafka.processes import await_condition

THREADS = 2
_SESSION_MS = 30_000
"""A busy machine needs time: who is put out of the group, or whose transaction is aborted, may die in 4.3.1."""
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
        """`latest`: whether its instances run the Kafka Streams of the broker, which send offsets; otherwise 4.3.1."""
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
        # It has an Admin client that knows configs of groups; it starts no members.
        self._admin = Members(broker.address, application, folder / application, (), Restoring(0, 1))
        self._admin.configure(
            streams_assignor_name=assignor,
            streams_num_standby_replicas=standbys,
            streams_assignment_interval_ms=0,
            streams_session_timeout_ms=_SESSION_MS,
        )

    def describe(self) -> dict[str, Any]:
        """Return the coordinator's description of the group: state, epochs, members, the configs of its own."""
        return self._admin.describe()

    def read_statuses(self) -> dict[str, Status]:
        """Ask all instances for their status; the last one of an instance that has ended."""
        return {name: each.status() for name, each in self.instances.items()}

    def is_settled(self, statuses: Mapping[str, Status]) -> bool:
        """Whether every task runs once, as balanced as can be, and has its standbys."""
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
        """Wait until every task runs once, as balanced as can be, and has its standbys; AssertionError if anything died."""
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
