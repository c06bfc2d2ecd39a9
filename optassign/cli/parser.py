"""The parser of the command line, put together from the commands. Importing it loads nothing but argparse."""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from typing import Any, NoReturn, Protocol

from optassign.cli.arguments import add_command
from optassign.cli.commands.answers import anonymise, assign, compare, converge, explain, generate, validate
from optassign.cli.commands.runs import benchmark, replay, simulate
from optassign.cli.commands.service import record, serve, top, watch
from optassign.cli.commands.service.holding import HOLDING_COMMANDS
from optassign.cli.errors import USAGE
from optassign.printable import escape_unprintable

__all__ = ["COMMANDS", "Command", "make_parser"]


class Command(Protocol):
    """What each command's module in optassign/cli/commands offers."""

    ABOUT: str
    """Its line in the list of commands."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Tell the parser what the command takes."""

    def run(self, arguments: Namespace) -> int:
        """Run the command and return its exit code."""
        ...


COMMANDS: dict[str, Command] = {
    "assign": assign,
    "compare": compare,
    "converge": converge,
    "simulate": simulate,
    "explain": explain,
    "validate": validate,
    "generate": generate,
    "anonymise": anonymise,
    "serve": serve,
    "top": top,
    "watch": watch,
    "record": record,
    "benchmark": benchmark,
    "replay": replay,
    **HOLDING_COMMANDS,
}
"""All commands by name, in the order in which `--help` lists them."""

_EPILOG = """\
SNAPSHOT is one rebalance as JSON; - is standard input, and standard output for --output. To a terminal a command prints a
table, elsewhere and with --output JSON. Exit codes: 0 done; 1 a rule is broken, or a group does not settle; 2 bad usage or
input.
"""


def make_parser() -> ArgumentParser:
    """The parser of all commands; what it parses names the chosen one in `command`."""
    parser = _Parser(prog="optassign", description="Kafka Streams task assignment as an optimisation problem.", epilog=_EPILOG)
    parser.add_argument(
        "-V", "--version", action=_ShowVersion, nargs=0, dest=argparse.SUPPRESS, help="show the version and leave"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.add_arguments(add_command(commands, name, command.ABOUT))
    return parser


class _Parser(ArgumentParser):
    """Errors are one line; options cannot be abbreviated, so that adding one never makes an old command line ambiguous."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {escape_unprintable(message)} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Argparse passes by what cannot be written, and would end with 0; on standard output that is an error."""
        if file is None or file is sys.stderr:
            super()._print_message(message, file)
        else:
            file.write(message)


class _Formatter(argparse.HelpFormatter):
    """Help texts begin further to the right than argparse's do, so that fewer options need a line of their own."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


class _ShowVersion(argparse.Action):
    """`action="version"` wants the text before it is asked for, and to look the version up takes a while."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from optassign import __version__

        print(f"optassign {__version__}")
        parser.exit()
