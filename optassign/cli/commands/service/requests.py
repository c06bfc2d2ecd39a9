"""`optassign pause`, `resume`, `drain`, `replan` and `forget`: requests to a running service about one application."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optassign.cli.arguments import accept_durations, add_output
from optassign.cli.commands.service.service_client import add_service, ask_service
from optassign.cli.common import write_result
from optassign.cli.output import DONE, FAILED

DRAIN_S = 3600.0
"""Default of `drain --wait`, so that no script waits without end."""
DRAIN_EVERY_S = 2.0
"""Time between two requests for a drain's state: a script continues soon after the end of the drain."""


_UNKNOWN = "this service has answered no rebalance of it; check the name"
"""Printed for an application that the service has never answered: the request takes effect at its first rebalance."""


@dataclass(frozen=True)
class _Request:
    """A command that sends a request to /v1/applications/APPLICATION/`page`."""

    ABOUT: str
    EXAMPLE: str
    method: str
    page: str
    more: str = ""
    """Further sentences of the help."""
    takes_client: bool = False
    cancel: str | None = None
    """Effect of --cancel; None if there is no such option."""
    takes_after: bool = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments of the command."""
        parser.description = f"{parser.description}{self.more}"
        about = "the application: its application.id, or optassign.application where that is set"
        parser.add_argument("application", metavar="APPLICATION", help=about)
        if self.takes_client:
            named = "the client: its process id, client id, group.instance.id or host"
            parser.add_argument("client", metavar="CLIENT", help=named)
            _add_wait(parser)
        if self.takes_after:
            parser.add_argument(
                "--after", type=accept_durations(), metavar="TIME", help="expect the end after this time (default: now)"
            )
        if self.cancel is not None:
            parser.add_argument("--cancel", action="store_true", help=self.cancel)
        parser.add_argument("--by", metavar="NAME", help="name of the requester in log and status (default: the user's name)")
        add_service(parser)
        add_output(parser)

    def run(self, arguments: Namespace) -> int:
        """Send the request, and show the requests in force. FAILED if the client may not stop by the end of --wait;
        UnreachableError or RefusedError if the request fails.
        """
        from urllib.parse import quote

        from optassign.cli.output import format_json

        parts = [arguments.application, self.page, *([arguments.client] if self.takes_client else [])]
        path = "/".join(["/v1/applications", *(quote(part, safe="") for part in parts)])
        method = "DELETE" if self.cancel is not None and arguments.cancel else self.method
        if self.takes_after and method == "POST" and arguments.after is not None:
            path += f"?after={arguments.after:.3f}"
        found = ask_service(arguments, method, path, {"by": arguments.by or _find_user()})
        waits = method == "POST" and getattr(arguments, "wait", None) is not None
        if found["last_rebalance"] is None:
            print(f"{arguments.application}: {_UNKNOWN}", file=sys.stderr, flush=True)
        elif not waits and not self.takes_after:  # `await_drain` reports the same
            print(f"the request takes effect {found['takes_effect']}", file=sys.stderr, flush=True)

        may_stop = True
        if waits:
            found, may_stop = await_drain(
                arguments,
                lambda: ask_service(arguments, "GET", f"/v1/applications/{quote(arguments.application, safe='')}"),
                lambda line: print(line, file=sys.stderr, flush=True),
                time.sleep,
            )

        def make_tables(width: int) -> list[object]:
            from optassign.cli.show.status_tables import render_requests

            return [*render_requests([found])]

        write_result(arguments, lambda: format_json(found), make_tables)  # type: ignore[arg-type]
        return DONE if may_stop else FAILED


REQUESTS: Mapping[str, _Request] = {
    "pause": _Request(
        "Pause an application",
        "pause orders --by ann",
        "POST",
        "pause",
        " Only tasks move whose client has left, drains or has fallen behind.",
    ),
    "resume": _Request("Resume a paused application", "resume orders", "DELETE", "pause"),
    "drain": _Request(
        "Drain a client, so that it can be stopped",
        "drain orders orders-7 --wait\ndrain orders orders-7 --cancel",
        "POST",
        "drains",
        " It gives its tasks away as other clients catch up; `optassign status` shows when it may stop.",
        takes_client=True,
        cancel="cancel the drain: the client takes tasks again",
    ),
    "replan": _Request(
        "Make a new target assignment at the next rebalance",
        "replan orders",
        "POST",
        "forget-plan",
        cancel="cancel the request: the target assignment is kept",
    ),
    "forget": _Request(
        "Forget an application that has ended, or is to end",
        "forget orders\nforget orders --after 3600",
        "POST",
        "end",
        " Its metrics go and its silence is no alert; recordings stay. A rebalance long after the end brings it back.",
        cancel="cancel the request: the application goes on",
        takes_after=True,
    ),
}


def _find_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without users
        return "unknown"


def _add_wait(parser: ArgumentParser) -> None:
    """Add --wait; `await_drain` uses it."""
    parser.add_argument(
        "--wait",
        nargs="?",
        type=accept_durations(),
        const=DRAIN_S,
        metavar="TIME",
        help=f"wait until the client may stop, for so long at most (without TIME: {DRAIN_S:g} s); exit code 1 if it may not",
    )


def await_drain(
    arguments: Namespace, ask: Callable[[], Any], tell: Callable[[str], None], sleep: Callable[[float], None]
) -> tuple[Any, bool]:
    """Return the service's last state of the application, and whether the client may stop or the drain is over.

    Args:
        arguments: with `client` and `wait`, the seconds to wait.
        ask: returns the JSON of GET /v1/applications/APPLICATION.
        tell: takes a line about the next step, whenever it changes.
        sleep: waits that many seconds.
    """
    waited, last_line = 0.0, ""
    while True:
        found = ask()
        state = next((row["state"] for row in found["drains"] if row["client"] == arguments.client), "over")
        last = next((action for action in found["history"] if action["client"] == arguments.client), None)
        if state == "over" and last is not None and last["what"] == "undrain":
            tell(f"{last['by']} cancelled the drain: {arguments.client} may not stop")
            return found, False
        if state in ("may_stop", "over", "stays"):
            return found, state != "stays"
        line = _describe(state, found)
        if line != last_line:
            tell(line)
            last_line = line
        if waited >= arguments.wait:
            tell(f"{arguments.client} may not stop yet: {waited:g} s are over")
            return found, False
        sleep(DRAIN_EVERY_S)
        waited += DRAIN_EVERY_S


def _describe(state: str, found: Any) -> str:
    """Describe the next step of the drain. found: the JSON of GET /v1/applications/APPLICATION."""
    what = "the drain takes effect" if state == "waiting" else "tasks move as other clients catch up, the next ones"
    return f"{what} {found['takes_effect']}"
