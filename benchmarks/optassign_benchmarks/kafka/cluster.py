"""A cluster of three Kafka 4.4.0 brokers with optassign's assignor, each also a controller, and faults of single brokers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from optassign_benchmarks.kafka.broker import (
    Broker,
    Brokers,
    are_replicas_in_sync,
    create_topics,
    find_leader,
    find_preferred_leader,
)
from optassign_benchmarks.kafka.jars import streams_group_classpath
from optassign_benchmarks.kafka.processes import await_condition, find_free_ports
from optassign_benchmarks.kafka.scenario import ASSIGNORS, BROKER_PROPERTIES, STICKY

_CHUNK = 1 << 16


class Link:
    """A TCP proxy between two ports of the loopback interface, which can delay and cut connections."""

    def __init__(self, target: int, port: int) -> None:
        """Start the link. `target`: the server's port; `port`: the clients' port."""
        self.port = port
        self.delay = 0.0
        """Delay in seconds of each chunk, in each direction."""
        self._target = target
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def cut(self) -> None:
        """Close all connections, and close new connections at once until `heal`."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._close_all)

    def heal(self) -> None:
        """Forward new connections again."""
        self._is_cut = False

    def close(self) -> None:
        """End the link permanently."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)

    async def _end(self) -> None:
        self._server.close()
        self._close_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
        self._writers -= {writer, back}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy chunks until the end of the input, each `delay` seconds late. The delays of successive chunks overlap."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            with suppress(OSError):
                while chunk := await reader.read(_CHUNK):
                    waiting.put_nowait((self._loop.time() + self.delay, chunk))
            waiting.put_nowait((0.0, b""))

        async def write() -> None:
            with suppress(OSError):
                while True:
                    due, chunk = await waiting.get()
                    if not chunk:
                        break
                    if (left := due - self._loop.time()) > 0:
                        await asyncio.sleep(left)
                    writer.write(chunk)
                    await writer.drain()
            writer.close()

        await asyncio.gather(read(), write())

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


SIZE = 3
_OFFSETS = "__consumer_offsets"
_PARTITIONS = 3
"""Partitions of `__consumer_offsets`: each broker coordinates a third of the groups."""
_FAR = "FAR"
_REPLICATED = {
    "default.replication.factor": SIZE,
    "min.insync.replicas": 2,
    "offsets.topic.num.partitions": _PARTITIONS,
    "offsets.topic.replication.factor": SIZE,
    "transaction.state.log.replication.factor": SIZE,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": SIZE,
    "share.coordinator.state.topic.min.isr": 2,
    "group.streams.task.offset.interval.ms": 1000,
    "group.streams.initial.rebalance.delay.ms": 0,
    # A busy machine needs time: no slow member may be removed.
    "group.streams.session.timeout.ms": 30_000,
    "broker.session.timeout.ms": 6000,
    "controlled.shutdown.enable": "true",
}


class ThreeBrokers:
    """A running cluster with its own data folder. A context manager that kills it at the end.

    Each broker has a second listener, which clients reach over a `Link`: `far_address`.
    """

    def __init__(self, folder: Path, **properties: object) -> None:
        """Start the cluster, and wait until all brokers are up. `properties`: of all brokers, with `_` for `.`."""
        path = streams_group_classpath()
        self.jars = [Path(jar) for jar in path.split(os.pathsep) if Path(jar).name.startswith("optassign")]
        """The project's own jars on the class path of all brokers."""
        ports = find_free_ports(4 * SIZE)
        near, controllers, far, linked = (ports[i * SIZE : (i + 1) * SIZE] for i in range(4))
        self.links = [Link(target, port) for target, port in zip(far, linked, strict=True)]
        self.address = ",".join(f"127.0.0.1:{port}" for port in near)
        self.far_address = ",".join(f"127.0.0.1:{port}" for port in linked)
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(controllers))
        more = {name.replace("_", "."): value for name, value in properties.items()}
        self.brokers = [
            Broker(
                folder / f"broker-{n}",
                jars=path,
                properties={
                    **BROKER_PROPERTIES,
                    **_REPLICATED,
                    "node.id": n,
                    "controller.quorum.voters": voters,
                    "advertised.listeners": f"PLAINTEXT://127.0.0.1:{near[n]},{_FAR}://127.0.0.1:{linked[n]}",
                    **more,
                },
                listeners={_FAR: ("PLAINTEXT", far[n])},
                ports=(near[n], controllers[n]),
                waits=False,
            )
            for n in range(SIZE)
        ]
        for broker in self.brokers:
            broker.await_started()

    @property
    def far(self) -> Brokers:
        """Return the cluster as clients reach it over the links."""
        return _Far(self)

    @property
    def log(self) -> Path:
        """Return the file with the first broker's output."""
        return self.brokers[0].log

    def read_logs(self) -> str:
        """Return the output of all brokers, one after the other."""
        return "".join(broker.log.read_text(encoding="utf-8", errors="replace") for broker in self.brokers)

    def create_topics(self, names: Iterable[str], partitions: int) -> None:
        """Create topics with a replica on each broker; KafkaException if one of them exists."""
        create_topics(self.address, names, partitions)

    def find_coordinator(self, group: str) -> int:
        """Return the index of the broker that coordinates a group."""
        found: list[int] = []

        def is_known() -> bool:
            leader = find_leader(self.address, _OFFSETS, partition_of(group))
            found[:] = [] if leader is None else [leader]
            return bool(found)

        await_condition(f"coordinator of {group}", is_known, logs=lambda: [self.log])
        return found[0]

    def await_in_sync(self) -> None:
        """Wait until all replicas are in sync, as operators do before the next restart."""
        await_condition("all replicas in sync", lambda: are_replicas_in_sync(self.address), logs=lambda: [self.log])

    def roll(self, jars: str | None = None) -> None:
        """Restart all brokers one by one, as operators do. `jars`: another class path for them."""
        for number, broker in enumerate(self.brokers):
            if jars is not None:
                broker.use_jars(jars)
            self.restart(number)

    def restart(self, number: int, *, assignors: str | None = None) -> None:
        """Restart a broker, and wait until all replicas are in sync. `assignors`: its new `group.streams.assignors`."""
        broker = self.brokers[number]
        broker.process.stop()
        if assignors is not None:
            broker.configure(ASSIGNORS, assignors)
        broker.start()
        self.await_in_sync()

    def coordinate_without(self, group: str) -> int:
        """Move a group's coordination to a broker that knows only `sticky`, and return the broker's index."""
        number = find_preferred_leader(self.address, _OFFSETS, partition_of(group))
        self.restart(number, assignors=STICKY)
        while (other := self.find_coordinator(group)) != number:
            self.restart(other)
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for broker in self.brokers:
            broker.process.kill()
        for link in self.links:
            link.close()


class _Far:
    """The cluster as clients reach it over the links."""

    def __init__(self, cluster: ThreeBrokers) -> None:
        self.address = cluster.far_address
        self.log = cluster.log
        self.create_topics = cluster.create_topics


def partition_of(group: str) -> int:
    """Return a group's partition of `__consumer_offsets`; the leader of this partition coordinates the group."""
    number = 0
    for character in group:
        number = (31 * number + ord(character)) & 0xFFFFFFFF
    number = number - (1 << 32) if number >= 1 << 31 else number
    return 0 if number == -(1 << 31) else abs(number) % _PARTITIONS


def name_cocoordinated_groups(*names: str) -> list[str]:
    """Return a group name for each prefix in `names`, such that one broker coordinates all these groups."""
    return [next(f"{name}-{i}" for i in range(100) if partition_of(f"{name}-{i}") == 0) for name in names]
