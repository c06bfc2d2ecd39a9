"""What the tests of the command line share: assignors of known oddness by name, and snapshots in files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Cold, Keep, Slow, Twice, written

from optassign import assignor as assignors
from optassign.generate import generate


@pytest.fixture(autouse=True)
def known_assignors() -> Iterator[None]:
    before = dict(assignors._entries)
    for name, factory in {"keep": Keep, "twice": Twice, "cold": Cold, "slow": Slow}.items():
        assignors.register(name, factory, replace=True)
    yield
    assignors._entries.clear()
    assignors._entries.update(before)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A steady group, in a file."""
    return written(tmp_path / "steady.json", generate("steady", 20, 4, seed=1))


@pytest.fixture
def scale_out(tmp_path: Path) -> str:
    return written(tmp_path / "scale-out.json", generate("scale-out", 20, 4, seed=1))
