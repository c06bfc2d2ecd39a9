"""`optassign status`: the applications of a running service, or one of them."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import accept_durations, add_output
from optassign.cli.commands.service.service_client import add_service, ask_service
from optassign.cli.common import write_result
from optassign.cli.output import DONE, RefusedError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

STATUS_S = 5.0
"""Default time between two renewals of --watch."""


ABOUT = "Show the applications of a running service"
EXAMPLE = "status\nstatus orders\nstatus --watch"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `status`."""
    parser.add_argument("application", metavar="APPLICATION", nargs="?", help="show this application only (default: all)")
    parser.add_argument("--watch", action="store_true", help="renew the tables in the terminal until Ctrl-C")
    parser.add_argument(
        "--every",
        type=accept_durations(),
        default=STATUS_S,
        metavar="TIME",
        help="with --watch: renew them this often (default: %(default)g)",
    )
    add_service(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Show the status once, or until Ctrl-C. UnreachableError or RefusedError if the service does not answer."""
    from optassign.cli.output import format_json
    from optassign.cli.show.status_tables import render_status

    if arguments.watch:
        if arguments.format == "json" or arguments.output is not None or not sys.stdout.isatty():
            raise UsageError("--watch: found an output that is no terminal; allowed: tables to a terminal")
        return _watch(arguments)
    found = _ask(arguments)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        return render_status(found, width)

    write_result(arguments, lambda: format_json(found), make_tables)
    return DONE


def _watch(arguments: Namespace) -> int:
    from rich.console import Console, Group
    from rich.live import Live

    from optassign.cli.show.status_tables import render_status

    console = Console(highlight=False, emoji=False, markup=False)

    def draw() -> Group:
        return Group(*render_status(_ask(arguments), console.width))

    with Live(draw(), console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                time.sleep(max(1.0, arguments.every))
                live.update(draw(), refresh=True)
        except KeyboardInterrupt:
            return DONE


def _ask(arguments: Namespace) -> dict[str, Any]:
    """Return the time, whether the service records, the number of applications that it does not list, and the applications.

    Each has `state` (from recordings) and `requests`; the one that is asked for also has `copies`, the copies that its
    follow-up waits for. RefusedError for an application unknown to the service.
    """
    from urllib.parse import quote

    asked = arguments.application
    name = quote(asked or "", safe="")
    view = ask_service(arguments, "GET", f"/v1/history?find={name}")
    states = {row["application"] or "": row for row in view["applications"]}
    requests = {each["application"]: each for each in ask_service(arguments, "GET", "/v1/applications")["applications"]}
    if asked is None:
        applications = [_join(each, states, requests) for each in sorted({*states, *requests})]
        return {"now": view["now"], "recording": view["recording"], "applications": applications, "more": view["more"]}
    if asked not in requests:
        requests[asked] = ask_service(arguments, "GET", f"/v1/applications/{name}")
        if asked not in states and requests[asked]["last_rebalance"] is None:
            raise RefusedError(f"the service knows no application {asked!r}; it appears with its first rebalance")
    page = ask_service(arguments, "GET", f"/v1/history/{name}") if asked and asked in states else {}
    copies = {"copies": page.get("copies", []), "more_copies": page.get("more_copies", 0)}
    applications = [{**_join(asked, states, requests), **copies}]
    return {"now": view["now"], "recording": view["recording"], "applications": applications, "more": 0}


def _join(name: str, states: Mapping[str, Any], requests: Mapping[str, Any]) -> dict[str, Any]:
    return {"application": name, "state": states.get(name), "requests": requests.get(name)}
