"""`optassign top`: the applications of a running service, in a terminal."""

import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import accept_numbers
from optassign.cli.commands.service.service_client import add_service, ask_service
from optassign.cli.errors import DONE

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["ABOUT", "add_arguments", "run"]

ABOUT = "the applications of a running service, as its first page shows them"
_COLOURS = {"at rest": "green", "stalled": "bold red", "fallback": "bold red", "paused": "dim"}
"""Of the status words; the others are yellow."""
_COLUMNS = ("application", "status", "since", "follow-up", "waits", "done", "load", "standbys")
_SECONDS = 5.0


def add_arguments(parser: ArgumentParser) -> None:
    """Tell the parser what `top` takes."""
    parser.add_argument("--once", action="store_true", help="show it once, and end")
    parser.add_argument(
        "--every",
        type=accept_numbers("seconds"),
        default=_SECONDS,
        metavar="SECONDS",
        help="between two looks (default: %(default)g)",
    )
    add_service(parser)


def run(arguments: Namespace) -> int:
    """Show the applications until Ctrl-C, or once. UsageError where there is no service or it refuses."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    if arguments.once or not console.is_terminal:
        console.print(_make_table(ask_service(arguments, "GET", "/v1/history")))
        return DONE
    with Live(_make_table(ask_service(arguments, "GET", "/v1/history")), console=console, screen=True) as live:
        try:
            while True:
                time.sleep(max(1.0, arguments.every))
                live.update(_make_table(ask_service(arguments, "GET", "/v1/history")))
        except KeyboardInterrupt:
            return DONE


def _make_table(view: dict[str, Any]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    now = datetime.fromisoformat(view["now"])
    about = None if view["recording"] else "nothing is recorded: optassign serve --recordings DIR"
    table = Table(title=f"{now:%Y-%m-%d %H:%M:%S} UTC", caption=about, header_style="bold", box=None, padding=(0, 1, 0, 0))
    for name in _COLUMNS:
        table.add_column(
            name,
            no_wrap=True,
            min_width=11 if name == "application" else None,
            justify="right" if name in ("waits", "load", "standbys") else "left",
        )
    for row in view["applications"]:
        word = row["status"]["word"]
        colour = _COLOURS.get(word, "yellow")
        table.add_row(
            escape(_show_name(row["application"])),
            f"[{colour}]{word}[/]",
            _say_ago(row["status"]["since"], now),
            _say_ago(row["next_followup"], now) + (" [red]late[/]" if row["overdue"] else ""),
            f"{row['waiting']:,}",
            _say_ago(row["expected_end"], now),
            "–" if row["load_least"] is None else f"{row['load_least']:.3g}–{row['load_most']:.3g}",
            "–" if row["standbys_wanted"] is None else f"{row['standbys_caught_up']:,}/{row['standbys_wanted']:,}",
        )
    return table


def _show_name(name: str | None) -> str:
    """A name of an application, without what could steer a terminal."""
    if name is None:
        return "(no name)"
    return "".join(character if character.isprintable() else "?" for character in name)[:60]


def _say_ago(text: str | None, now: datetime) -> str:
    if text is None:
        return "–"
    seconds = (now - datetime.fromisoformat(text)).total_seconds()
    span = next(
        (
            f"{abs(seconds) / size:.0f} {unit}"
            for size, unit in ((86400, "d"), (3600, "h"), (60, "min"))
            if abs(seconds) >= 2 * size
        ),
        f"{abs(seconds):.0f} s",
    )
    return f"{span} ago" if seconds >= 0 else f"in {span}"
