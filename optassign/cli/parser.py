"""What can be said on the command line. Argparse only: importing this must cost next to nothing."""

import argparse
import math
from typing import Any, NoReturn

from optassign.cli.commands.benchmark import add_benchmark_commands
from optassign.cli.commands.service import add_service_commands

SHAPES = ("cold", "steady", "scale-out", "scale-in", "restart", "partial")
"""As in `optassign.generate`, which is not imported for the sake of a help text."""

_EPILOG = """\
SNAPSHOT is one rebalance as JSON; - is standard input, and standard output for --output. To a terminal a command prints a
table, elsewhere and with --output JSON. Exit codes: 0 done; 1 a rule is broken, or a group does not settle; 2 bad usage or
input.
"""


class _Parser(argparse.ArgumentParser):
    """Errors are one line; no abbreviated options, so that new ones can be added."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; the chosen one is in `command`."""
    main = _Parser(prog="optassign", description="Kafka Streams task assignment as an optimisation problem.", epilog=_EPILOG)
    main.add_argument("-V", "--version", action=_Version, nargs=0, dest=argparse.SUPPRESS, help="show the version and leave")
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)

    assign = _command(commands, "assign", "answer one rebalance")
    _snapshot(assign)
    _assignor(assign)
    _output(assign)

    compare = _command(commands, "compare", "the same rebalance under several assignors, side by side")
    _snapshot(compare)
    compare.add_argument("--assignors", metavar="A,B,…", help="names of assignors (default: all that need no JDK)")
    compare.add_argument("--kafka", action="store_true", help="Kafka's own classes too, where there is a JDK")
    compare.add_argument("--converge", action="store_true", help="let each play on until it asks for no follow-up")
    _play(compare)
    _time_limit(compare)
    _output(compare, "markdown")
    compare.add_argument("--picture", metavar="FILE", help="loads per client before and after, as PNG, SVG or PDF")

    converge = _command(commands, "converge", "rebalance after rebalance, until the group is at rest")
    _snapshot(converge)
    _assignor(converge)
    _play(converge)
    _output(converge)

    explain = _command(commands, "explain", "why: what changes, where a task is, what a client gets")
    _snapshot(explain)
    explain.add_argument("--task", action="append", default=[], metavar="ID", help="explain this task (repeatable)")
    explain.add_argument(
        "--client", action="append", default=[], metavar="ID", help="explain this client; a unique prefix will do (repeatable)"
    )
    explain.add_argument("--assignment", metavar="FILE", help="explain this answer (default: what --assignor answers)")
    _assignor(explain)
    _output(explain)

    validate = _command(commands, "validate", "check an answer against the rules")
    _snapshot(validate)
    validate.add_argument("assignment", metavar="ASSIGNMENT", help="the answer as JSON, - for standard input")
    _output(validate)

    _generate(_command(commands, "generate", "a seeded snapshot of any size and shape"))

    anonymise = _command(commands, "anonymise", "the same problem without names, for a bug report")
    _snapshot(anonymise)
    _file(anonymise)

    add_service_commands(_command, commands)
    add_benchmark_commands(_command, commands)
    return main


def _command(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    return command


def _snapshot(command: argparse.ArgumentParser) -> None:
    command.add_argument("snapshot", metavar="SNAPSHOT", help="the snapshot as JSON, - for standard input")
    command.add_argument("--options", metavar="FILE", help="goals and weights as TOML, in place of the snapshot's own options")


def _assignor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--assignor", default="cp-sat", metavar="NAME", help="default: %(default)s")
    _time_limit(command)


def _time_limit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--time-limit", type=_seconds, default=10.0, metavar="SECONDS", help="of solving, for each answer (default: 10)"
    )


def _play(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--max-rebalances", type=_at_least(1), metavar="N", help="give up after so many (default: by the snapshot's size)"
    )
    command.add_argument(
        "--keep-state", action="store_true", help="state that is dropped stays on its disk and grows old (default: deleted)"
    )


def _output(command: argparse.ArgumentParser, *formats: str) -> None:
    _file(command)
    command.add_argument("--format", choices=("json", "table", *formats), help="default: table to a terminal, else json")


def _file(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", metavar="FILE", help="where to write (default: standard output)")


def _generate(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--shape", choices=SHAPES, default="steady", help="what has happened (default: %(default)s)")
    add("--tasks", type=_at_least(0), default=100, metavar="N", help="default: %(default)s")
    add("--clients", type=_at_least(1), default=10, metavar="N", help="default: %(default)s")
    add("--standbys", type=_at_least(0), default=1, metavar="N", help="num_standby_replicas (default: %(default)s)")
    add("--warmups", type=_at_least(1), default=2, metavar="N", help="max_warmup_replicas (default: %(default)s)")
    add("--threads", type=_whole_range, default=1, metavar="N[-M]", help="per client, N or N to M (default: %(default)s)")
    add("--seed", type=_at_least(0), default=0, metavar="N", help="default: %(default)s")
    add("--stateless", type=float, default=0.2, metavar="SHARE", help="of the tasks (default: %(default)s)")
    add("--unlogged", type=float, default=0.0, metavar="SHARE", help="stateful without a changelog (default: 0)")
    add("--subtopologies", type=_at_least(1), metavar="N", help="default: by the number of tasks")
    add(
        "--tiny",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the logged tasks, changelog within the acceptable lag (default: 0)",
    )
    add("--unknown", type=float, default=0.0, metavar="SHARE", help="of the lags, not known (default: 0)")
    add("--acceptable-recovery-lag", type=_at_least(0), default=10_000, metavar="N", help="offsets (default: %(default)s)")
    add("--capacity", type=_range, default=1.0, metavar="X[-Y]", help="of one thread, X or X to Y (default: 1)")
    add("--weights", type=float, default=0.0, metavar="SIGMA", help="spread of the tasks' weights (default: 0)")
    add("--racks", type=_at_least(0), default=0, metavar="N", help="number of racks (default: none)")
    add("--memory", action="store_true", help="the snapshot remembers the last answer")
    add("--dense", action="store_true", help="lags of all clients for all tasks, as Kafka reports them")
    add("--consumers", action="store_true", help="previous active tasks per consumer, too")
    _file(command)


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"found {value}; allowed: {least} or more")
        return value

    number.__name__ = "integer"  # argparse says: invalid integer value
    return number


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"found {text}; allowed: seconds, 0 or more")
    return value


def _whole_range(text: str) -> int | tuple[int, int]:
    low, dash, high = text.partition("-")
    return (int(low), int(high)) if dash else int(low)


def _range(text: str) -> float | tuple[float, float]:
    low, dash, high = text.partition("-")
    return (float(low), float(high)) if dash else float(low)


_seconds.__name__, _whole_range.__name__, _range.__name__ = "number", "integer or N-M", "number or X-Y"


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from optassign import __version__

        print(f"optassign {__version__}")
        parser.exit()
