"""The parser of the command line, made of the commands. Importing it loads only argparse."""

import argparse
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, Protocol

from optassign.cli.arguments import add_command
from optassign.cli.commands import completion, demo, inspect_group, plan_capacity, simulate
from optassign.cli.commands.answers import (
    anonymise,
    assign,
    compare,
    converge,
    explain,
    generate,
    model,
    pareto,
    validate,
    what_if,
)
from optassign.cli.commands.benchmarks import benchmark, replay
from optassign.cli.commands.service import record, serve, status, watch
from optassign.cli.commands.service.requests import REQUESTS
from optassign.cli.output import NARROW, USAGE
from optassign.printable import escape_unprintable

_ABOUT = "optassign assigns the tasks of Kafka Streams applications and proves how good each assignment is."
_EPILOG = """\
SNAPSHOT is a file with one rebalance as JSON, a recording (its file or its id), or the name of an application: its
latest recording. A dash stands for standard input. TIME is in seconds, or with a unit: 90s, 15min, 2h.
Commands print tables; --json prints JSON instead.
Exit codes: 0 done; 1 failed, a rule is broken, or a group does not converge; 2 bad usage or input; 3 no service
reached; 4 refused by the service.
"""


class Command(Protocol):
    """The interface of each command's module in optassign/cli/commands."""

    @property
    def ABOUT(self) -> str:  # noqa: N802 - a constant of each module
        """The command's effect, in a sentence without its full stop."""
        ...

    @property
    def EXAMPLE(self) -> str:  # noqa: N802 - a constant of each module
        """Examples of command lines, one per line, without `optassign`."""
        ...

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments of the command."""

    def run(self, arguments: Namespace) -> int:
        """Run the command and return its exit code."""
        ...


GROUPS: dict[str, dict[str, Command]] = {
    "Start here": {"demo": demo, "inspect": inspect_group},
    "One rebalance": {
        "assign": assign,
        "explain": explain,
        "compare": compare,
        "validate": validate,
        "what-if": what_if,
        "model": model,
        "pareto": pareto,
    },
    "Many rebalances": {
        "converge": converge,
        "simulate": simulate,
        "plan-capacity": plan_capacity,
        "replay": replay,
        "benchmark": benchmark,
    },
    "The service": {"serve": serve, "status": status, **REQUESTS, "watch": watch},
    "Recordings and snapshots": {"record": record, "generate": generate, "anonymise": anonymise},
    "The shell": {"completion": completion},
}
"""Title → commands by name, in the order of `--help`."""
COMMANDS: dict[str, Command] = {name: command for group in GROUPS.values() for name, command in group.items()}


def make_parser() -> ArgumentParser:
    """Return the parser of all commands; `command` in its result is the chosen one, or None."""
    parser = _TopParser(prog="optassign", usage="optassign COMMAND [OPTION]…")
    parser.add_argument(
        "-V", "--version", action=_ShowVersion, nargs=0, dest=argparse.SUPPRESS, help="show the version and leave"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="optassign", parser_class=_Parser)
    for name, command in COMMANDS.items():
        command.add_arguments(add_command(commands, name, command.ABOUT, command.EXAMPLE))
    return parser


class _Parser(ArgumentParser):
    """A parser with errors of one line and without abbreviated options, so that a new option makes no old command line
    ambiguous.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **settings})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; for unknown ones, exit with an error of the command that received them."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._describe_unknown(unknown))
        return found, unknown

    def _describe_unknown(self, unknown: Sequence[str]) -> str:
        options = [option for action in self._actions for option in action.option_strings]
        if unknown[0].startswith("-"):
            stated = unknown[0].partition("=")[0]
            return f"unknown option {stated}{_suggest(stated, options)}"
        return f"unexpected {' '.join(unknown)!r}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise argparse.ArgumentError, with a suggestion, for a value that is not among the choices."""
        if action.choices is not None and value not in action.choices:
            allowed = [str(choice) for choice in action.choices]
            suggested = _suggest(str(value), allowed)
            raise argparse.ArgumentError(action, f"found {value!r}{suggested}; allowed: {', '.join(allowed)}")

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {escape_unprintable(message)} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print the message; raise errors of standard output, which argparse would ignore and then end with 0."""
        if file is None or file is sys.stderr:
            super()._print_message(message, file)
        else:
            file.write(message)


class _TopParser(_Parser):
    """The parser without a command; its help lists the commands by group."""

    def format_help(self) -> str:
        """Return usage, the groups of commands, options, and notes on all commands."""
        width = min(NARROW, self._get_formatter()._width)
        wide = max(map(len, COMMANDS)) + 4
        lines = [f"usage: {self.usage}", "", *textwrap.wrap(_ABOUT, width)]
        for title, commands in GROUPS.items():
            lines += ["", f"{title}:"]
            for name, command in commands.items():
                about = textwrap.wrap(command.ABOUT, width - wide) or [""]
                lines += [f"  {name:<{wide - 2}}{about[0]}", *(" " * wide + line for line in about[1:])]
        lines += [
            "",
            "Options:",
            f"  {'-h, --help':<{wide + 2}}show this help",
            f"  {'-V, --version':<{wide + 2}}show the version",
        ]
        lines += ["", "`optassign COMMAND --help` has an example of each command.", *textwrap.wrap(_EPILOG, width)]
        return "\n".join(lines) + "\n"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that keeps the lines of examples, and indents help texts further, so that fewer options need two lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def add_text(self, text: str | None) -> None:
        """Add a text: a paragraph is wrapped to the width, an example stays unchanged."""
        if text and "\n" not in text:
            text = "\n".join(textwrap.wrap(text, self._width - self._current_indent))
        super().add_text(text)


class _ShowVersion(argparse.Action):
    """An action that prints the version: unlike `action="version"`, it looks the version up only on demand, as this is slow."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from optassign import __version__

        print(f"optassign {__version__}")
        parser.exit()


def _suggest(stated: str, known: Sequence[str]) -> str:
    close = get_close_matches(stated, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
