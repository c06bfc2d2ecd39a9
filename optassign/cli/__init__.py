"""The command line: `optassign COMMAND …`.

Answering `--help` and refusing bad usage loads nothing but argparse; what a command needs is imported when it runs.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from optassign.cli.errors import BROKEN, USAGE, UsageError
from optassign.cli.parser import COMMANDS, make_parser

__all__ = ["main"]

_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + the signal's number, as shells say it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0 done, 1 a rule is broken or a group does not settle, 2 bad usage or input.

    argv: the arguments, by default those of the process. SystemExit, as argparse raises it, for --help and bad usage.
    """
    arguments = make_parser().parse_args(argv)
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run_command(arguments: Namespace) -> int:
    """Run the command and return its exit code; what is wrong with its input becomes one line on standard error."""
    import logging

    from optassign.assignor import AssignorError
    from optassign.formats.input_errors import InputError

    logging.basicConfig(level=logging.WARNING, format="optassign: %(message)s", stream=sys.stderr)
    try:
        return COMMANDS[arguments.command].run(arguments)
    except (InputError, UsageError) as error:
        return _report_error(arguments, error, USAGE)
    except AssignorError as error:
        return _report_error(arguments, error, BROKEN)


def _report_error(arguments: Namespace, error: Exception, code: int) -> int:
    print(f"optassign {arguments.command}: error: {error}", file=sys.stderr)
    return code
