"""Numbered records for an application's input topics, and the check that each was processed and counted exactly once."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from optassign_benchmarks.kafka.processes import await_condition

KINDS = ("logged", "unlogged", "stateless")
"""The application's subtopologies, in the order of their numbers; CountingTopology.java describes them."""
PARTITIONS = 12
"""Partitions of every topic, and so tasks of every subtopology."""
KEYS_PER_PARTITION = 4
_TICK = 0.05
CRITICAL = 2
"""Log level of librdkafka, as in syslog, without messages about connections to a broker that was ended on purpose."""
_SHOWN_FAULTS = 20


class Load:
    """A writer of numbered records to an application's input topics, and a checker of its output topics.

    Values of a key are numbered from 1. Results must come out as 1, 2, 3 …, counted results as 1:1, 2:2, 3:3 … A gap is a lost
    record, and a repetition a doubled record. A count that differs from its number shows state that was lost or counted twice.
    Outputs are read as committed: records of an aborted transaction do not count.
    """

    def __init__(
        self,
        broker: str,
        application: str,
        kinds: Sequence[str] = KINDS,
        counted: Sequence[str] = KINDS[:1],
        keys: int = KEYS_PER_PARTITION,
    ) -> None:
        """Start reading results. `kinds`: the subtopologies; `counted`: kinds with counts in results; `keys`: per partition."""
        self.faults: list[str] = []
        self.lost = 0
        """Number of records that are missing in the results or in a count."""
        self.doubled = 0
        """Number of results that were repeated, or whose count is above their number."""
        self.worst_latency = 0.0
        """Greatest time in seconds from producing a record until its result was read, since `begin_pauses`."""
        self._application = application
        self._kinds, self._counted, self._keys = tuple(kinds), frozenset(counted), keys
        common = {"bootstrap.servers": broker, "log_level": CRITICAL}
        self._producer = Producer({**common, "enable.idempotence": True, "linger.ms": 5})
        self._consumer = Consumer(
            {
                **common,
                "group.id": f"{application}-account",  # the client requires an id, though it never joins a group
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._written: dict[str, dict[str, int]] = {kind: defaultdict(int) for kind in self._kinds}
        self._read: dict[str, dict[str, int]] = {kind: defaultdict(int) for kind in self._kinds}
        self._last: dict[tuple[str, int], float] = {}
        self._pauses: dict[tuple[str, int], float] = {}
        self._turn = 0
        self._rate = 0.0
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._consumer.assign(
            [TopicPartition(f"{application}-{kind}-out", p, OFFSET_BEGINNING) for kind in kinds for p in range(PARTITIONS)]
        )
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._check_outputs, self._write_at_rate)]
        for thread in self._threads:
            thread.start()

    @property
    def written(self) -> int:
        """Return the number of records written so far."""
        return sum(sum(keys.values()) for keys in self._written.values())

    @property
    def read(self) -> int:
        """Return the number of results read so far."""
        return sum(sum(keys.values()) for keys in self._read.values())

    def continue_from(self, counts: int) -> None:
        """Number further records of each key from `counts` + 1, for an application whose state has that count already."""
        for numbers in (*self._written.values(), *self._read.values()):
            numbers.update({self._name_key(p, key): counts for p in range(PARTITIONS) for key in range(self._keys)})

    def write(
        self,
        records_per_partition: int,
        kinds: Sequence[str] | None = None,
        partitions: Sequence[int] = range(PARTITIONS),
    ) -> None:
        """Write to these partitions of these input topics, evenly over their keys, and wait until the broker has all records.

        `kinds`: None for all kinds of the application.
        """
        for _ in range(records_per_partition):
            for partition in partitions:
                self._write_one(partition, kinds or self._kinds)
        self._producer.flush()

    def run(self, records_per_second: float) -> None:
        """Write in the background at this rate over all input topics together; 0 stops at once."""
        with self._lock:
            self._rate = records_per_second

    def begin_pauses(self) -> None:
        """Start measuring pauses and latency; records must be written all the time."""
        now = time.monotonic()
        self.worst_latency = 0.0
        parts = [(f"{self._application}-{kind}-out", p) for kind in self._kinds for p in range(PARTITIONS)]
        self._pauses = dict.fromkeys(parts, 0.0)
        self._last = dict.fromkeys(parts, now)

    def find_longest_pause(self) -> float:
        """Return the longest time in seconds since `begin_pauses` without a result of one partition of one output topic."""
        now = time.monotonic()
        return max(max(self._pauses[part], now - last) for part, last in self._last.items())

    def await_accounted(self) -> None:
        """Stop writing, and wait until every record has come out. AssertionError if a record was lost or counted twice."""
        self.run(0)
        self._producer.flush()
        await_condition(
            f"{self._application}: every record comes out",
            lambda: self.faults or self.read >= self.written,
            found=lambda: f"{self.read} of {self.written} records",
        )
        self.check()
        assert self._read == self._written

    def check(self) -> None:
        """Raise AssertionError if a record has been lost or counted twice so far."""
        shown = "\n".join(self.faults[:_SHOWN_FAULTS])
        assert not self.faults, f"{self._application}: {self.lost} records lost, {self.doubled} doubled; first faults:\n{shown}"

    def close(self) -> None:
        """Stop writing and checking."""
        self._closed.set()
        for thread in self._threads:
            thread.join()
        self._producer.close()
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @staticmethod
    def _name_key(partition: int, number: int) -> str:
        return f"{partition}-{number}"

    def _write_one(self, partition: int, kinds: Sequence[str]) -> None:
        """Write one record to this partition of each of these input topics."""
        with self._lock:
            self._turn += 1
            key = self._name_key(partition, self._turn // PARTITIONS % self._keys)
            for kind in kinds:
                self._written[kind][key] += 1
                value = str(self._written[kind][key])
                while True:
                    try:
                        self._producer.produce(
                            f"{self._application}-{kind}-in", value, key, partition, on_delivery=self._note_failure
                        )
                        break
                    except BufferError:  # the client's queue is full: let it send
                        self._producer.poll(0.1)
        self._producer.poll(0)

    def _note_failure(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.faults.append(f"not written: {message.topic()} {message.key()!r} {message.value()!r}: {error}")

    def _write_at_rate(self) -> None:
        """Write at the rate given to `run`, until `close`."""
        due = 0.0
        while not self._closed.wait(_TICK):
            with self._lock:  # for a whole tick: otherwise `run` would return before the tick's records are written
                due = due + self._rate * _TICK / len(self._kinds) if self._rate else 0.0
                while due >= 1:
                    self._write_one(self._turn % PARTITIONS, self._kinds)
                    due -= 1

    def _check_outputs(self) -> None:
        """Read the output topics and compare each record with the next expected one, until `close`."""
        while not self._closed.is_set():
            for message in self._consumer.consume(1000, timeout=0.1):
                error = message.error()
                if error is not None:
                    if error.fatal():
                        self.faults.append(f"cannot read the outputs: {error}")
                    continue
                self._note_arrival(str(message.topic()), message.partition() or 0)
                self._note_latency(message)
                self._check_record(str(message.topic()), _to_text(message.key()), _to_text(message.value()))

    def _note_arrival(self, topic: str, partition: int) -> None:
        """Note that a record has arrived now, for the longest pause of the partition."""
        now, part = time.monotonic(), (topic, partition)
        if part in self._pauses:
            self._pauses[part] = max(self._pauses[part], now - self._last[part])
            self._last[part] = now

    def _note_latency(self, message: Message) -> None:
        """Update the worst latency. Kafka Streams gives a result the timestamp of its record, which this producer sets."""
        _, produced_ms = message.timestamp()
        self.worst_latency = max(self.worst_latency, time.time() - produced_ms / 1000)

    def _check_record(self, topic: str, key: str, value: str) -> None:
        kind = topic.removeprefix(f"{self._application}-").removesuffix("-out")
        number = self._read[kind][key] + 1
        expected = f"{number}:{number}" if kind in self._counted else str(number)
        if value != expected:
            moment = time.strftime("%H:%M:%S")
            self.faults.append(f"{moment} {topic} key {key}: found {value}, expected {expected}")
            lost, doubled = count_faults(value, number)
            self.lost += lost
            self.doubled += doubled
            number = int(value.partition(":")[0])  # so that a gap counts as one fault
        self._read[kind][key] = number


def count_faults(value: str, number: int) -> tuple[int, int]:
    """Return the numbers of lost and doubled records if `value`, `NUMBER` or `NUMBER:COUNT`, came out instead of `number`."""
    found, _, count = value.partition(":")
    if found != str(number):
        return max(0, int(found) - number), int(int(found) < number)
    return int(int(count) < number), int(int(count) > number)


def _to_text(data: bytes | str | None) -> str:
    return data.decode() if isinstance(data, bytes) else str(data)
