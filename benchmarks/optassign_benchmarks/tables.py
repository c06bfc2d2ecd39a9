"""Tables of results as Markdown, the machine that they were taken on, and their places in docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

DOCUMENT = Path("docs/benchmarks.md")


def to_markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; floats with three digits, integers with thousands separators."""
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines.extend(" | ".join(_format_cell(cell) for cell in row) for row in rows)
    return "\n".join(f"| {line} |" for line in lines)


def describe_machine() -> str:
    """Versions, system, cores, and the load average of the last minute.

    Call it before a study starts: then the load is that of whatever else the machine does, not the study's own.
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


def replace_table(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`; ValueError if the marks are missing."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{document}: no place marked {name!r}")
    document.write_text(pattern.sub(lambda m: f"{m[1]}{text}\n{m[2]}", old), encoding="utf-8")


def _format_cell(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
