"""How tables and lines look in all commands.

What is not as it should be is marked with an exclamation mark, not by its colour alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

__all__ = ["MOST_ROWS", "NARROW", "format_rules", "make_headline", "make_table", "mark_wrong", "style_lines"]

NARROW = 100
"""A width in columns; tables that are narrower leave out columns."""
MOST_ROWS = 50
"""Longer tables leave out rows, and say how many."""


def style_lines(lines: Iterable[str]) -> Iterator[RenderableType]:
    """Lines of text for a terminal: bold where they are not indented."""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        yield Text(line, style="" if indent else "bold")


def make_headline(what: str, *verdicts: tuple[str, bool]) -> Text:
    """A bold line, with each (verdict, whether it is good) behind it in green or red."""
    line = Text(what, style="bold")
    for verdict, good in verdicts:
        line.append(" · ", style="not bold")
        line.append(verdict, style="not bold green" if good else "bold red")
    return line


def format_rules(violations: Mapping[Any, int]) -> str:
    """The rules that are broken and how often each, in a few characters: `R3, R5 ×2`. `violations`: rule -> number."""
    return ", ".join(rule if number == 1 else f"{rule} ×{number:,}" for rule, number in sorted(violations.items()))


def make_table(*names: str) -> Table:
    """A table without lines around it, with a column for each of `names`, aligned to the left."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), caption_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def mark_wrong(text: str, wrong: bool) -> str | Text:
    """`text`, in red and with an exclamation mark behind it if it is wrong."""
    return Text(f"{text}!", style="bold red") if wrong else text
