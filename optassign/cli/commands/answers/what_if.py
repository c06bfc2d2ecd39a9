"""`optassign what-if`: compare an application with a change of its settings or clients."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from optassign.cli.arguments import (
    add_assignor,
    add_output,
    add_snapshot,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import blame_assignor, check_assignor, describe_size, find_snapshot, load_rebalance, write_result
from optassign.cli.output import DONE, UsageError
from optassign_models.policy.constants import TIME_LIMIT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.service.views.what_if import WhatIfView

ABOUT = "Show what a change of settings or clients would cost"
EXAMPLE = "what-if snapshot.json --add 2\nwhat-if orders --warmups 8 --drain orders-7"
_MORE = (
    " SNAPSHOT may also be an application of a running service. Times are by the rates at which clients have restored, where"
    " a recording has them."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `what-if`: an option for each change of `optassign.service.views.what_if`."""
    from optassign.cli.commands.service.service_client import add_service

    parser.description = f"{parser.description}{_MORE}"
    add_snapshot(parser)
    add = parser.add_argument_group("changes").add_argument
    add("--standbys", metavar="N", help="set num.standby.replicas")
    add("--warmups", metavar="N", help="set max.warmup.replicas")
    add("--threads", metavar="N", help="set the threads of every client")
    add("--weights", metavar="ID:W,…", help="set weights of subtopologies or tasks, such as 0:2.5,1_3:4")
    add("--add", metavar="N", help="add N clients like the present ones")
    add("--drain", metavar="CLIENT", action="append", help="drain this client, by any of its names (repeatable)")
    add("--lose", metavar="CLIENT", action="append", help="lose this client at once (repeatable)")
    add("--zone", metavar="KEY=VALUE", help="lose all clients with this tag")
    add_assignor(parser)
    parser.set_defaults(assignor=None, time_limit=None)  # None: not stated, and a service answers by itself
    add_service(parser)
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the comparison. UsageError for impossible changes."""
    given = _read_changes(arguments)
    view = _ask_service(arguments, given) if _is_of_service(arguments) else _compute(arguments, given)

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.simulation_tables import render_what_if

        return render_what_if(view, width)

    write_result(arguments, lambda: view.model_dump_json() + "\n", make_tables)
    return DONE


def _read_changes(arguments: Namespace) -> dict[str, str]:
    """Return field of the service's form → value, for each stated change. UsageError without a change."""
    names = ("standbys", "warmups", "threads", "weights", "add", "drain", "lose", "zone")
    stated = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if not stated:
        raise UsageError(f"found no change; allowed: at least one of {', '.join(f'--{name}' for name in names)}")
    return {name: ",".join(value) if isinstance(value, list) else value for name, value in stated.items()}


def _is_of_service(arguments: Namespace) -> bool:
    """Return whether SNAPSHOT is an application of a service: --url is stated, or no file or recording has this name."""
    name = arguments.snapshot
    if arguments.url is not None:
        return True
    if (
        name == "-"
        or arguments.recordings is not None
        or arguments.options is not None
        or "/" in name
        or name.endswith(".json")
    ):
        return False
    return not os.path.exists(find_snapshot(arguments))


def _ask_service(arguments: Namespace, given: dict[str, str]) -> "WhatIfView":
    from urllib.parse import quote, urlencode

    from optassign.cli.commands.service.service_client import ask_service
    from optassign.cli.show.progress import ProgressLine
    from optassign.service.views.what_if import WhatIfView

    for name in ("assignor", "time_limit", "register", "options", "recordings"):
        if getattr(arguments, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: found it for an application of a service; allowed: with a snapshot or a recording")
    path = f"/v1/history/{quote(arguments.snapshot, safe='')}/what-if?{urlencode(given)}"
    with ProgressLine(f"asking the service about {arguments.snapshot}"):
        found: Any = ask_service(arguments, "GET", path)
    return WhatIfView.model_validate(found, strict=False)  # JSON has lists for tuples


def _compute(arguments: Namespace, given: dict[str, str]) -> "WhatIfView":
    from optassign.cli.show.progress import ProgressLine
    from optassign.service.http.refusals import RequestRefusedError
    from optassign.service.views.what_if import compare_with_change, view_what_if

    name = arguments.assignor or "cp-sat"
    seconds = TIME_LIMIT if arguments.time_limit is None else arguments.time_limit
    check_registered_are_chosen(register_listed_assignors(arguments), [name], "--assignor")
    check_assignor(name)
    state, recording = load_rebalance(arguments)
    with ProgressLine(f"asking {name} twice: {describe_size(state)}"), blame_assignor(name):
        try:
            if recording is None:
                return compare_with_change(state, {}, given, name, seconds)
            return view_what_if(recording.model_copy(update={"snapshot": state}), given, name, seconds)
        except RequestRefusedError as error:
            refusal = error.refusal
            raise UsageError(f"--{refusal.where}: found {refusal.found}; allowed: {refusal.allowed}") from None
