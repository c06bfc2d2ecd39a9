"""Tables of results, and the machine that they were taken on."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """One table of a study."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    """The common facts of all rows, such as their size; empty if the title of the study has them."""

    def to_markdown(self) -> str:
        """Return the caption, if there is one, and the rows."""
        text = to_markdown(self.columns, self.rows)
        return f"{self.caption}\n\n{text}" if self.caption else text


def make_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> Table:
    """Return a table whose cells are numbers or text; truth values become "yes" and "no"."""
    return Table(tuple(head), tuple(tuple(_to_cell(cell) for cell in row) for row in rows), caption)


def to_markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; floats have three digits after the point, integers thousands separators."""
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines.extend(" | ".join(format_cell(cell) for cell in row) for row in rows)
    return "\n".join(f"| {line} |" for line in lines)


def format_cell(cell: object) -> str:
    """Return the text of one cell, as pages and terminals show it."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def describe_machine() -> str:
    """Versions, system, cores, and the load average of the last minute.

    Call it before a study starts: then the load is the machine's other load, not the study's own.
    """
    return (
        f"Python {platform.python_version()}, ortools {version('ortools')}, numpy {version('numpy')}, "
        f"{platform.system()} {platform.machine()}, {_describe_cores()}, {_describe_load()}"
    )


def _describe_cores() -> str:
    """The cores that this process may use, and of how many, where that is fewer than all."""
    present = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present  # Linux only
    counted = f"{usable}" if usable == present else f"{usable} of {present}"
    return f"{counted} core{'' if present == 1 else 's'}"


def _describe_load() -> str:
    try:
        return f"load {os.getloadavg()[0]:.1f} at the start"
    except OSError:  # the system does not tell
        return "load not known"


def replace_table(name: str, text: str, document: Path) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`; ValueError if the marks are missing."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{document}: no place marked {name!r}")
    document.write_text(pattern.sub(lambda m: f"{m[1]}{text}\n{m[2]}", old), encoding="utf-8")


def _to_cell(cell: object) -> Cell:
    if isinstance(cell, bool):
        return format_cell(cell)
    if isinstance(cell, int):
        return int(cell)
    return round(float(cell), 3) if isinstance(cell, float) else str(cell)
