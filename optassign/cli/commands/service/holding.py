"""`optassign hold`, `resume`, `drain`, `undrain`, `forget` and `holds`: what operators ask of a running service."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any

from optassign.cli.arguments import add_output
from optassign.cli.commands.service.service_client import add_service, ask_service
from optassign.cli.common import write_result

__all__ = ["HOLDING_COMMANDS"]


@dataclass(frozen=True)
class _Ask:
    """One command: a request to /v1/applications/APPLICATION/`page`."""

    ABOUT: str
    method: str
    page: str = ""
    takes_client: bool = False
    takes_all: bool = False
    """APPLICATION may be left out: then of all."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Tell the parser what the command takes."""
        number = {"nargs": "?"} if self.takes_all else {}
        about = "application.id, or optassign.application where that is set"
        parser.add_argument("application", metavar="APPLICATION", help=about, **number)  # type: ignore[arg-type]
        if self.takes_client:
            parser.add_argument("client", metavar="CLIENT", help="its process id, or a client id or host that no other has")
        if self.method != "GET":
            parser.add_argument("--by", metavar="NAME", help="who asks, for log and list (default: the user's name)")
        add_service(parser)
        add_output(parser)

    def run(self, arguments: Namespace) -> int:
        """Ask, and show what holds then."""
        from urllib.parse import quote

        parts = [arguments.application, self.page, arguments.client if self.takes_client else None]
        path = "/".join(["/v1/applications", *(quote(part, safe="") for part in parts if part)])
        body = None if self.method == "GET" else {"by": arguments.by or _find_user()}
        found = ask_service(arguments, self.method, path, body)
        write_result(arguments, lambda: _to_json(found), lambda width: _make_tables(found))
        return 0


HOLDING_COMMANDS: dict[str, Any] = {
    "drain": _Ask("have a client give its work away, so that it can be stopped", "POST", "drains", takes_client=True),
    "undrain": _Ask("have it drain no more", "DELETE", "drains", takes_client=True),
    "hold": _Ask("pause an application: nothing moves but what has to", "POST", "pause"),
    "resume": _Ask("end that", "DELETE", "pause"),
    "forget": _Ask("forget an application's plan: its next rebalance makes a new one", "POST", "forget-plan"),
    "holds": _Ask("list what holds, for one application or all", "GET", takes_all=True),
}


def _find_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without users
        return "unknown"


def _to_json(found: Any) -> str:
    import json

    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _make_tables(found: Any) -> list[Any]:
    from rich.table import Table

    table = Table("application", "what", "by", "since", title="What holds")
    for one in found.get("applications", [found]):
        rows: list[tuple[str, str, str]] = []
        for field, text in (("paused", "paused"), ("forget_plan", "forgets its plan at the next rebalance")):
            if one[field] is not None:
                rows.append((text, one[field]["by"], one[field]["at"]))
        if one["quiet"] is not None:
            now = f"until {one['quiet']['ends_at']}" if one["quiet"]["now"] else "not now"
            rows.append((f"quiet hours {', '.join(one['quiet']['hours'])} {one['quiet']['time_zone']}: {now}", "", ""))
        rows += [(f"drains {row['client']}: {row['state'].replace('_', ' ')}", row["by"], row["at"]) for row in one["drains"]]
        rows += [(f"limit {limit.get('name') or limit['kind']}", "", "") for limit in one["limits"]]
        for row in rows or [("nothing", "", "")]:
            table.add_row(one["application"], *row)
    return [table]
