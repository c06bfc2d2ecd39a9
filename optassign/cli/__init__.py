"""The command line: `optassign COMMAND …`.

Answering `--help` and refusing bad usage loads nothing but argparse; what a command needs is imported when it runs.
"""

import errno
import io
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from optassign.cli.output import DONE, FAILED, USAGE, CommandError
from optassign.cli.parser import COMMANDS, make_parser

__all__ = ["main"]

_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Commands report errors of other files themselves; these are left for standard output."""
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + the signal's number, as shells say it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, or show the help where there is none. The exit code: one of `optassign.cli.output`.

    argv: the arguments, by default those of the process. SystemExit, as argparse raises it, for --help and bad usage.
    """
    if sys.stdout is None:  # closed before we were started
        sys.stdout = _ClosedOutput()
    try:
        try:
            code = _parse_and_run(argv)
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
        return FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED


def _leave_output() -> None:
    """Have what is still to be written go nowhere: Python would complain when it flushes at its end."""
    if not isinstance(sys.stdout, _ClosedOutput):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse_and_run(argv: Sequence[str] | None) -> int:
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next: see the command `completion`
        import argcomplete

        argcomplete.autocomplete(parser)
    arguments = parser.parse_args(argv)
    if arguments.command is None or getattr(arguments, "action", "") is None:
        (parser if arguments.command is None else arguments.parser).print_help()
        return DONE
    return _run_command(arguments)


def _run_command(arguments: Namespace) -> int:
    """Run the command and return its exit code; what is wrong with its input becomes one line on standard error."""
    import logging

    from optassign.assignor import AssignorError
    from optassign.formats.input_errors import InputError

    logging.basicConfig(level=logging.WARNING, format="optassign: %(message)s", stream=sys.stderr)
    try:
        return COMMANDS[arguments.command].run(arguments)
    except InputError as error:
        return _report_error(arguments, error, USAGE)
    except CommandError as error:
        return _report_error(arguments, error, error.code)
    except AssignorError as error:
        return _report_error(arguments, error, FAILED)


def _report_error(arguments: Namespace, error: Exception, code: int) -> int:
    print(f"optassign {arguments.command}: error: {error}", file=sys.stderr)
    return code


class _ClosedOutput(io.TextIOBase):
    """Every write is an error, at once or, if the writer ignores that, when it is flushed."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._written = False

    def write(self, text: str) -> int:
        """Refuse it. OSError."""
        self._written = True
        raise OSError(errno.EBADF, "it is closed")

    def flush(self) -> None:
        """Refuse it, if anything has been written since. OSError."""
        if self._written:
            self._written = False
            raise OSError(errno.EBADF, "it is closed")
