"""A consumer group that only commits, and how long each commit takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, TopicPartition


def commit_for(seconds: float, address: str, topic: str, *, between: Callable[[], None]) -> list[float]:
    """Commit one after the other, and call `between` before each; milliseconds that each commit took."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic, "enable.auto.commit": False})
    latencies: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        between()
        begun = time.perf_counter()
        consumer.commit(offsets=[TopicPartition(topic, 0, len(latencies))], asynchronous=False)
        latencies.append((time.perf_counter() - begun) * 1000)
    consumer.close()
    return latencies[1:]  # the first finds the coordinator
