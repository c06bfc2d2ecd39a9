"""What the pictures share: colours, texts and frame of an SVG.

Drawn by hand, so that it is small, sharp and the same in every run. Each picture is written
twice into docs/pictures, for light and dark pages; texts stay texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "SCHEMES", "Colours", "svg", "text", "write_all"]

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Colours:
    """Of one scheme."""

    text: str
    faint: str
    grid: str
    ours: str
    theirs: str
    other: str
    """Of a third assignor."""
    paper: str
    """Of texts on the colours of lines and bars."""


SCHEMES = {
    "light": Colours("#1f2328", "#59636e", "#d1d9e0", "#00796b", "#bc4c00", "#6e5494", "#ffffff"),
    "dark": Colours("#e6edf3", "#9198a1", "#3d444d", "#4dd0b5", "#f0883e", "#b392f0", "#0d1117"),
}


def write_all(drawn: Mapping[str, Callable[[Colours], str]]) -> None:
    """Draw every picture in both schemes, and say where it is."""
    FOLDER.mkdir(exist_ok=True)
    for scheme, colours in SCHEMES.items():
        for name, draw in drawn.items():
            path = FOLDER / f"{name}-{scheme}.svg"
            path.write_text(draw(colours), encoding="utf-8")
            print(path)


def svg(width: int, height: int, parts: Sequence[str], made_by: str = "pictures.py") -> str:
    """The whole file."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">'
    return "\n".join([head, f"<!-- Made by: python docs/site/{made_by} -->", *parts, "</svg>", ""])


def text(x: float, y: float, words: str, colour: str, *, size: int = 12, weight: int = 400, anchor: str = "start") -> str:
    """A line of text."""
    look = f'font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{words}</text>'
