"""Tables of results as Markdown, and their places in docs/benchmarks.md."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

DOCUMENT = Path("docs/benchmarks.md")


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; floats with three digits, integers with thousands separators."""
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines.extend(" | ".join(_shown(cell) for cell in row) for row in rows)
    return "\n".join(f"| {line} |" for line in lines)


def circumstances() -> str:
    """What the figures were taken on."""
    return (
        f"Python {platform.python_version()}, ortools {version('ortools')}, numpy {version('numpy')}, "
        f"{platform.system()} {platform.machine()}, 2 shared cores"
    )


def put(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`; ValueError if the marks are missing."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{document}: no place marked {name!r}")
    document.write_text(pattern.sub(lambda m: f"{m[1]}{text}\n{m[2]}", old), encoding="utf-8")


def _shown(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
