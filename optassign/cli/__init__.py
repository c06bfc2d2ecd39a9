"""The command line: `optassign COMMAND …`.

Answering `--help` and refusing bad usage loads nothing but argparse; what a command needs is imported when it runs.
"""

import errno
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from optassign.cli.closed_output import ClosedOutput
from optassign.cli.errors import BROKEN, USAGE, UsageError
from optassign.cli.parser import COMMANDS, make_parser

__all__ = ["main"]

_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Of other files a command says itself what is wrong; these are left for standard output."""
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + the signal's number, as shells say it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0 done, 1 a rule is broken or a group does not settle, 2 bad usage or input.

    argv: the arguments, by default those of the process. SystemExit, as argparse raises it, for --help and bad usage.
    """
    if sys.stdout is None:  # closed before we were started
        sys.stdout = ClosedOutput()
    try:
        try:
            code = _run_command(make_parser().parse_args(argv))
        finally:
            sys.stdout.flush()  # after --help, too, which ends by SystemExit
        return code
    except BrokenPipeError:  # whoever read our output has had enough
        _leave_output()
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _leave_output()
        found = f"that it cannot be written ({error.strerror})"
        print(f"optassign: error: standard output: found {found}; allowed: one that takes the result", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED


def _leave_output() -> None:
    """Have what is still to be written go nowhere: Python would complain when it flushes at its end."""
    if not isinstance(sys.stdout, ClosedOutput):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(arguments: Namespace) -> int:
    """Run the command and return its exit code; what is wrong with its input becomes one line on standard error."""
    import logging

    from optassign.assignor import AssignorError
    from optassign.formats.parsing.input_errors import InputError

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
