"""The table of best-known values of the instances (docs/how-to/instances.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from optassign.errors import OptassignError
from optassign.formats.base import Frozen, NotEmpty
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Value
from optassign_benchmarks.instances.catalogue import digest_snapshot

__all__ = ["FILE", "BestKnown", "KnownValue", "OtherGeneratorError", "check_snapshot", "read_best_known"]

FILE = Path(__file__).parent / "best_known.json"


class KnownValue(Frozen):
    """The best-known value of one goal, given the values of the goals before it."""

    name: NotEmpty
    value: int | float
    bound: int | float | None = Field(default=None, description="no target as good in the goals before it is below; null: none")
    proven: bool = Field(default=False, description="value and bound are equal; a load is within the tolerance of its bound")
    checked: bool = Field(default=False, description="HiGHS found the same optimum in the exported model")


class BestKnown(Frozen):
    """An instance with its best-known target."""

    instance: NotEmpty
    generator: int
    digest: NotEmpty = Field(description="of the snapshot")
    values: Annotated[tuple[KnownValue, ...], Field(strict=False)]
    solver: NotEmpty = Field(description="solver that found the target, and the one that proved it")
    seconds: float = Field(description="of the whole answer")

    @property
    def best(self) -> dict[str, Value]:
        """Return value name → best-known value, most important first."""
        return {known.name: known.value for known in self.values}


class OtherGeneratorError(OptassignError, RuntimeError):
    """Raised if the generated snapshot differs from the snapshot of the table."""


def read_best_known(file: Path = FILE) -> dict[str, BestKnown]:
    """Return the table: instance → row."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {row.instance: row for row in map(BestKnown.model_validate, rows)}


def check_snapshot(state: ApplicationState, known: BestKnown) -> None:
    """Raise OtherGeneratorError unless the snapshot has the digest of the table's row."""
    if digest_snapshot(state) != known.digest:
        import numpy

        found = f"another snapshot than generator {known.generator} made (numpy {numpy.__version__})"
        raise OtherGeneratorError(f"{known.instance}: found {found}; allowed: the digest {known.digest}")
