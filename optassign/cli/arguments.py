"""Arguments that several commands share, and the types of their values.

It imports only argparse: `optassign --help` imports this module for all commands and must be fast.
"""

import argparse
import math
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from optassign.cli.output import UsageError
from optassign_models.policy.constants import TIME_LIMIT

__all__ = [
    "accept_durations",
    "accept_integers",
    "accept_numbers",
    "accept_output",
    "accept_weights",
    "add_assignor",
    "add_command",
    "add_output",
    "add_output_file",
    "add_play",
    "add_recordings",
    "add_register",
    "add_snapshot",
    "add_solver",
    "add_time_limit",
    "register_assignors",
    "register_listed_assignors",
]


def add_command(commands: "argparse._SubParsersAction[Any]", name: str, about: str, example: str) -> ArgumentParser:
    """Add a command or an action, and return its parser. `about`: a sentence without its full stop.

    `example`: command lines without `optassign`, one per line.
    """
    shown = "\n".join(f"  optassign {line}" for line in example.splitlines())
    parser: ArgumentParser = commands.add_parser(
        name, help=about, description=f"{about}.", epilog=f"{'Examples' if chr(10) in example else 'Example'}:\n{shown}"
    )
    parser.set_defaults(parser=parser)
    return parser


def add_snapshot(parser: ArgumentParser) -> None:
    """Add SNAPSHOT, --recordings and --options; `load_rebalance` reads them."""
    parser.add_argument(
        "snapshot",
        metavar="SNAPSHOT",
        help="a snapshot or a recording: a file, - for standard input, a recording's id, or an application: its latest one",
    )
    add_recordings(parser)
    parser.add_argument("--options", metavar="FILE", help="use goals and weights of this TOML file, not the snapshot's own")


def add_recordings(parser: ArgumentParser) -> None:
    """Add --recordings; `optassign.cli.common` finds the folder."""
    parser.add_argument(
        "--recordings",
        metavar="DIR",
        help="the service's folder of recordings (default: $OPTASSIGN_RECORDINGS, or recordings)",
    )


def add_not_applied(group: "argparse._MutuallyExclusiveGroup") -> None:
    """Add `--not-applied` to the options that name the answer."""
    group.add_argument(
        "--not-applied", action="store_true", help="use the service's own assignment, where another one was applied"
    )


def add_assignor(parser: ArgumentParser) -> None:
    """Add --assignor, --register and --time-limit; `ask_assignor` uses them."""
    parser.add_argument("--assignor", default="cp-sat", metavar="NAME", help="ask this assignor (default: cp-sat)")
    add_register(parser)
    add_time_limit(parser)


def add_time_limit(parser: ArgumentParser) -> None:
    """Add --time-limit, seconds."""
    parser.add_argument(
        "--time-limit",
        type=accept_durations(),
        default=TIME_LIMIT,
        metavar="TIME",
        help=f"solve each rebalance for at most this long (default: {TIME_LIMIT:g})",
    )


def add_solver(parser: ArgumentParser) -> None:
    """Add --solver; `choose_solver` writes it into the snapshot's options."""
    parser.add_argument(
        "--solver",
        choices=("auto", "cp-sat", "highs"),  # of `formats.configs.SolverName`, which is slow to import
        help="solve the target with this solver (default: the snapshot's options; auto there)",
    )


def add_play(parser: ArgumentParser) -> None:
    """Add --max-rebalances and --keep-state, for `optassign.simulation.convergence.converge`."""
    parser.add_argument(
        "--max-rebalances",
        type=accept_integers(1),
        metavar="N",
        help="give up after this many (default: by the number of tasks)",
    )
    parser.add_argument(
        "--keep-state", action="store_true", help="leave dropped state on its disk, where it grows old (default: delete it)"
    )


def add_output(parser: ArgumentParser, *more_formats: str) -> None:
    """Add --output, --format and --json for `write_result`. `more_formats`: in addition to json and table."""
    add_output_file(parser)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format", choices=("table", "json", *more_formats), help="how to print (default: table; json to a file)"
    )
    formats.add_argument("--json", action="store_const", dest="format", const="json", help="print JSON, as --format json does")


def add_output_file(parser: ArgumentParser) -> None:
    """Add --output, for a command that writes one format only."""
    parser.add_argument(
        "--output", type=accept_output, metavar="FILE", help="write to this file (default, and with -: standard output)"
    )


def accept_integers(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the type of an argument that is an integer from `least` to `most`, both included."""

    def parse(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"found {value}; allowed: {allowed}")
        return value

    parse.__name__ = "integer"  # argparse's message: invalid integer value
    return parse


def accept_numbers(what: str) -> Callable[[str], float]:
    """Return the type of an argument that is a finite number, 0 or more. `what`: its name in the error message."""

    def parse(text: str) -> float:
        value = float(text)
        if not 0 <= value < math.inf:
            raise argparse.ArgumentTypeError(f"found {text}; allowed: {what}, 0 or more")
        return value

    parse.__name__ = "number"  # argparse's message: invalid number value
    return parse


def accept_durations(allowed: str = "", fits: Callable[[float], bool] = lambda seconds: True) -> Callable[[str], float]:
    """Return the type of an argument that is a duration: seconds, or text such as `15min`.

    `fits`: whether the seconds are allowed. `allowed`: the allowed seconds in the error message.
    """

    def parse(text: str) -> float:
        from optassign.formats.durations import parse_duration

        try:
            seconds = parse_duration(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if not fits(seconds):
            raise argparse.ArgumentTypeError(f"found {text}; allowed: {allowed}")
        return seconds

    return parse


def accept_output(text: str) -> str:
    """Return a file to write. argparse.ArgumentTypeError if it is a folder or has none: an hour of work would be lost."""
    if text in ("", "-"):
        return text
    try:
        is_folder, has_folder = Path(text).is_dir(), Path(text).absolute().parent.is_dir()
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise argparse.ArgumentTypeError(f"found {text[:60]!r} ({reason}); allowed: a file to write, or -") from None
    if is_folder or not has_folder:
        found = "a folder" if is_folder else "a file in a folder that does not exist"
        raise argparse.ArgumentTypeError(f"found {text!r}, {found}; allowed: a file to write, or -")
    return text


def accept_weights(text: str) -> tuple[float, float, float]:
    """Return the weights in --weights: three finite numbers, 0 or more, separated by commas."""
    try:
        instance, subtopology, stickiness = (float(part) for part in text.split(","))
    except ValueError:  # not a number, or not three
        instance = subtopology = stickiness = math.nan
    if not all(0 <= weight < math.inf for weight in (instance, subtopology, stickiness)):
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: INSTANCE,SUBTOPOLOGY,STICKINESS, each a number, 0 or more")
    return instance, subtopology, stickiness


_ALLOWED = "[NAME=]MODULE:CLASS"


def add_register(parser: ArgumentParser, where: str = "") -> None:
    """Add --register. `where`: text of the help about places of a module other than this folder and PYTHONPATH."""
    parser.add_argument(
        "--register",
        action="append",
        default=[],
        metavar=_ALLOWED,
        help=f"add an assignor of your own (repeatable), from a module in this folder or on PYTHONPATH{where}; "
        "without NAME it goes by its attribute `name`, or by its class",
    )


def register_listed_assignors(arguments: Namespace, *, elsewhere: bool = False) -> tuple[tuple[str, str], ...]:
    """Register the assignors of --register; return their (name, "module:class"). UsageError for a bad name or class.

    `elsewhere`: they run in other processes, so a module with a NAME need not be importable here.
    """
    pairs = [_parse(text, elsewhere) for text in arguments.register]
    register_assignors(pairs)
    return tuple(pairs)


def check_registered_are_chosen(registered: Collection[tuple[str, str]], chosen: Collection[str], option: str) -> None:
    """Raise a UsageError if the stated `option` leaves out all registered assignors, with a variant or without."""
    if registered and not {name for name, _ in registered} & {name.partition(":")[0] for name in chosen}:
        first = next(iter(registered))[0]
        raise UsageError(f"--register: found {first!r}, which {option} leaves out; allowed: an assignor that {option} names")


def register_assignors(pairs: Iterable[tuple[str, str]]) -> None:
    """Register each (name, "module:class"). UsageError for a name that is taken."""
    from optassign.assignor import list_names, register

    for name, target in pairs:
        if name in list_names():
            raise UsageError(f"--register: found {name!r}, which is taken; allowed: a new name")
        register(name, target)


def _parse(text: str, elsewhere: bool) -> tuple[str, str]:
    """Return name and "module:class" of an assignor; its class is loaded, unless it has a name and runs elsewhere."""
    from optassign.assignor import AssignorError, load_factory

    name, equals, target = text.rpartition("=")
    module, _, attribute = target.partition(":")
    if not module or not attribute or ":" in attribute or ":" in name or (equals and not name):
        raise UsageError(f"--register: found {text!r}; allowed: {_ALLOWED}")
    if module.endswith(".py"):
        raise UsageError(f"--register: found the file {module!r}; allowed: its module, as {Path(module).stem}:{attribute}")
    if name and elsewhere:
        return name, target
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # last: a file here must not take the place of a library
    try:
        factory = load_factory(target)
    except AssignorError as error:
        allowed = "" if "; allowed: " in str(error) else f"; allowed: {_ALLOWED}"
        raise UsageError(f"--register: found that {error}{allowed}") from None
    called = name or getattr(factory, "name", None) or getattr(factory, "__name__", attribute)
    if not isinstance(called, str) or ":" in called:
        raise UsageError(f"--register: found {text!r}, whose attribute `name` is {called!r}; allowed: a name without a colon")
    return called, target
