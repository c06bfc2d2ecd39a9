"""Tests that a flood of one kind of event is limited and counted, and leaves room for other events; the clock is the test's."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from optassign.service.logs import LogWriter

BURST, PER_SECOND = 500, 50


class Log:
    """A log writer on a file, with a clock that the test sets; `lines` closes the writer and returns the lines."""

    def __init__(self, file: Path) -> None:
        self._file, self.seconds = file, 0.0
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
        self.writer = LogWriter(self._descriptor, json.dumps, lambda: self.seconds)

    def send(self, kind: str, count: int) -> None:
        for _ in range(count):
            self.writer.emit(logging.LogRecord(kind, logging.INFO, "", 0, kind, None, None))

    def lines(self) -> list[str]:
        self.writer.close()
        return self._file.read_text(encoding="utf-8").splitlines()

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    started = Log(tmp_path / "log")
    yield started
    started.close()


def count_dropped(lines: list[str], kind: str) -> int:
    return sum(json.loads(line).get(kind, 0) for line in lines if line.startswith("{"))


def test_a_flood_of_one_kind_is_limited_and_counted(log: Log) -> None:
    log.send("flood", BURST + 100)
    log.send("another", 1)
    lines = log.lines()
    assert (lines.count("flood"), lines.count("another")) == (BURST, 1)
    assert count_dropped(lines, "flood") == 100


def test_room_comes_back_with_time(log: Log) -> None:
    log.send("flood", BURST + 1)
    log.seconds = 2.0
    log.send("flood", 2 * PER_SECOND + 1)
    log.seconds = 1000.0
    log.send("flood", BURST + 1)
    lines = log.lines()
    assert lines.count("flood") == 2 * BURST + 2 * PER_SECOND
    assert count_dropped(lines, "flood") == 3
