"""Prepared state of an application on disks, made once and copied for each run."""

from __future__ import annotations

import hashlib
import shutil
import struct
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import JAVA
from optassign_benchmarks.kafka.load import CRITICAL, PARTITIONS

_QUEUE = 500_000
"""Size of the producer's queue, in records."""
_EVERY = 10_000
"""Number of records after which the producer serves its callbacks."""


@dataclass(frozen=True)
class StateSize:
    """The sizes of an application's changelogs: number of the subtopology → least and most offsets of a task."""

    name: str
    offsets: Mapping[int, tuple[int, int]]

    def count(self, subtopology: int, partition: int) -> int:
        """Return the offsets of a task. The tasks of a subtopology are spread evenly over its range."""
        least, most = self.offsets[subtopology]
        return least + (most - least) * (partition * 5 % PARTITIONS) // (PARTITIONS - 1)


def write_changelogs(broker: Broker, application: str, stores: Mapping[int, str], size: StateSize, keys: int) -> None:
    """Create an application's changelogs with one record for each key, whose count is 1.

    keys: number of keys per partition that the load writes to. They are spread over the whole changelog.
    RuntimeError if the broker refuses a record.
    """
    topics = {number: f"{application}-{store}-changelog" for number, store in stores.items()}
    broker.create_topics(topics.values(), PARTITIONS)
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "log_level": CRITICAL,
            "linger.ms": 20,
            "queue.buffering.max.messages": _QUEUE,
            "batch.size": 500_000,
        }
    )
    failed: list[str] = []
    value = struct.pack(">q", 1)
    for number, topic in topics.items():
        for partition in range(PARTITIONS):
            count = size.count(number, partition)
            every = count // keys
            for n in range(count):
                named = n % every == 0 and n // every < keys
                key = f"{partition}-{n // every}" if named else f"{partition}-{n}-"
                while True:
                    try:
                        producer.produce(
                            topic, value, key, partition, on_delivery=lambda e, m: failed.append(str(e)) if e else None
                        )
                        break
                    except BufferError:
                        producer.poll(0.05)
                if n % _EVERY == 0:
                    producer.poll(0)
    producer.flush()
    producer.close()
    if failed:
        raise RuntimeError(f"{len(failed)} records of changelogs were not written: {failed[0]}")


def digest_application() -> str:
    """Return a digest of the test application's sources; kept state fits only the sources that wrote it."""
    files = sorted((JAVA / "testapp" / "src").rglob("*.java"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def keep(running: Path, kept: Path, application: str) -> None:
    """Copy the data of a stopped broker and of stopped instances to the new folder `kept`.

    running: the folder with `broker` and the application's folder. An interruption leaves no folder `kept`.
    """
    part = kept.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(running / "broker" / "logs", part / "broker" / "logs")
    for state in sorted((running / application).glob("*/state")):
        shutil.copytree(state, part / application / state.parent.name / "state")
    part.rename(kept)


def bring(kept: Path, running: Path) -> None:
    """Copy the data that `keep` has kept into an empty folder."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda part: shutil.copytree(part, running / part.name), sorted(kept.iterdir())))
