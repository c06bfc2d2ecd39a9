"""Fixtures of the command line's tests: unusual assignors by name, and snapshots in files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ColdAssignor, DoublingAssignor, KeepingAssignor, SlowAssignor, write_snapshot

from optassign import assignor as assignors
from optassign.generating import generate


@pytest.fixture(autouse=True)
def registered_assignors() -> Iterator[None]:
    before = dict(assignors._entries)
    for name, factory in {
        "keep": KeepingAssignor,
        "twice": DoublingAssignor,
        "cold": ColdAssignor,
        "slow": SlowAssignor,
    }.items():
        assignors.register(name, factory, replace=True)
    yield
    assignors._entries.clear()
    assignors._entries.update(before)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delay progress lines, which a busy machine would cause; a test of progress sets its own delay."""
    monkeypatch.setattr("optassign.cli.show.progress.SILENT_START_S", 60.0)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Return the path of a snapshot of a steady group."""
    return write_snapshot(tmp_path / "steady.json", generate("steady", 20, 4, seed=1))


@pytest.fixture
def scale_out(tmp_path: Path) -> str:
    return write_snapshot(tmp_path / "scale-out.json", generate("scale-out", 20, 4, seed=1))
