"""How tables and lines look, and how numbers are written, for all commands.

What is not as it should be is marked with an exclamation mark, not by its colour alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

__all__ = ["MOST_ROWS", "NARROW", "headline", "marked", "rules", "table_of", "text_lines"]

NARROW = 100
"""Below so many columns less is said."""
MOST_ROWS = 50


def text_lines(lines: Iterable[str]) -> Iterator[RenderableType]:
    """Plain lines, an exclamation in colour."""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        yield Text(line, style="" if indent else "bold")


def headline(what: str, *verdicts: tuple[str, bool]) -> Text:
    """A bold line, with (verdict, whether it is good) behind it."""
    line = Text(what, style="bold")
    for verdict, good in verdicts:
        line.append(" · ", style="not bold")
        line.append(verdict, style="not bold green" if good else "bold red")
    return line


def rules(violations: Mapping[Any, int]) -> str:
    """Rule -> number of violations, in a few characters: `R3, R5 ×2`."""
    return ", ".join(rule if number == 1 else f"{rule} ×{number:,}" for rule, number in sorted(violations.items()))


def table_of(*names: str, left: int) -> Table:
    """A table without lines around it, with its first `left` columns aligned to the left."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), caption_justify="left")
    for name in names[:left]:
        table.add_column(name.strip(), overflow="fold")
    return table


def marked(text: str, wrong: bool) -> str | Text:
    """`text`, marked if it is wrong."""
    return Text(f"{text}!", style="bold red") if wrong else text
