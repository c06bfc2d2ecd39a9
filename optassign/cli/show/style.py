"""The look of tables and lines in all commands. An exclamation mark, not colour alone, marks a wrong value."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from optassign.judging.validation import name_rule

MOST_ROWS = 50
"""Most rows of a table, which states the number of further rows: longer tables are not read."""
NO_END = "no end"
"""Shown for a time out of balance that lasts beyond its limit: "never" would read as never out of balance."""
LONGEST_TEXT = 120
"""Characters of a line of text: longer lines are hard to read."""


def wrap_lines(lines: Iterable[str], width: int, *, style: str = "", has_titles: bool = False) -> Iterator[Text]:
    """Yield lines of text for a terminal, wrapped at `width` columns, at most `LONGEST_TEXT`.

    `has_titles`: lines without indentation are bold.
    """
    for line in lines:
        indent = len(line) - len(line.lstrip())
        wrapped = textwrap.wrap(
            line, min(width, LONGEST_TEXT), subsequent_indent=" " * (indent + 4), break_long_words=False, break_on_hyphens=False
        )
        yield from (Text(part, style="bold" if has_titles and not indent else style) for part in wrapped)


def make_headline(what: str, *verdicts: tuple[str, bool]) -> Text:
    """Return a bold line, followed by each (verdict, whether it is good) in green or red."""
    line = Text(what, style="bold")
    for verdict, good in verdicts:
        line.append(" · ", style="not bold")
        line.append(verdict, style="not bold green" if good else "bold red")
    return line


def format_rules(violations: Mapping[Any, int], *, names: bool = True) -> str:
    """Return the broken rules with their numbers: `R3 (active on the most caught-up), R6 (number of warm-ups) ×2`.

    `violations`: rule → number. The form with `names` false is short: `R3, R6 ×2`.
    """
    shown = {rule: name_rule(rule) if names else str(rule) for rule in violations}
    return ", ".join(
        shown[rule] if number == 1 else f"{shown[rule]} ×{number:,}" for rule, number in sorted(violations.items())
    )


def make_table(*names: str) -> Table:
    """Return a table without a frame, with a left-aligned column for each of `names`."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), caption_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def mark_wrong(text: str, wrong: bool) -> str | Text:
    """Return `text`; if it is wrong, in red with an exclamation mark."""
    return Text(f"{text}!", style="bold red") if wrong else text
