"""The command line: `optassign COMMAND …`.

`--help` and errors of usage load only argparse; a command imports what it needs when it runs.
"""

import errno
import io
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from optassign.cli.output import DONE, FAILED, USAGE, CommandError
from optassign.cli.parser import COMMANDS, make_parser
from optassign.printable import escape_unprintable

_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Errors of standard output: commands report errors of other files themselves."""
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + the signal's number, as in shells


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, or show the help without one; return the exit code (`optassign.cli.output`).

    argv: the arguments, by default those of the process. SystemExit, as raised by argparse, for --help and bad usage.
    """
    if sys.stdout is None:  # closed before the process started
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:  # progress and errors then go nowhere; exit codes stay
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if not os.environ.get("COLUMNS", "0").isdecimal():  # rich takes ² for a number
        del os.environ["COLUMNS"]
    try:
        try:
            code = _parse_and_run(argv)
        finally:
            sys.stdout.flush()  # in `finally`, as --help ends with SystemExit
        return code
    except BrokenPipeError:  # the reader of the output has ended
        _discard_output()
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _discard_output()
        found = f"that it cannot be written ({error.strerror})"
        print(f"optassign: error: standard output: found {found}; allowed: one that takes the result", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED


def _discard_output() -> None:
    """Discard unwritten output: Python would report an error when it flushes at exit."""
    if not isinstance(sys.stdout, _ClosedOutput):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse_and_run(argv: Sequence[str] | None) -> int:
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions: see the command `completion`
        import argcomplete

        argcomplete.autocomplete(parser)
    arguments = parser.parse_args(argv)
    if arguments.command is None or getattr(arguments, "action", "") is None:
        (parser if arguments.command is None else arguments.parser).print_help()
        return DONE
    return _run_command(arguments)


def _run_command(arguments: Namespace) -> int:
    """Run the command and return its exit code; an error of its input is one line on standard error."""
    import logging

    from optassign.assignor import AssignorError
    from optassign.errors import ArgumentError
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
    except ArgumentError as error:
        return _report_error(arguments, error, USAGE)
    except OSError as error:
        if error.filename is None:  # of a pipe or of standard output
            raise
        found = f"a file that cannot be read or written ({error.strerror})"
        return _report_error(arguments, f"{error.filename}: found {found}; allowed: a file that can", USAGE)


def _report_error(arguments: Namespace, error: Exception | str, code: int) -> int:
    print(f"optassign {arguments.command}: error: {escape_unprintable(str(error))}", file=sys.stderr)
    return code


class _ClosedOutput(io.TextIOBase):
    """A closed standard output: `write` raises OSError, as does the next `flush`, since writers may ignore the first error."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._written = False

    def write(self, text: str) -> int:
        """Raise OSError."""
        self._written = True
        raise OSError(errno.EBADF, "it is closed")

    def flush(self) -> None:
        """Raise OSError if anything was written since the last flush."""
        if self._written:
            self._written = False
            raise OSError(errno.EBADF, "it is closed")
