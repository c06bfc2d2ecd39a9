"""The command line: `optassign COMMAND …`.

Answering `--help` and refusing bad usage loads nothing but argparse; what a command needs is imported when it runs.
"""

import os
import sys
from collections.abc import Sequence

from optassign.cli.parser import parser

__all__ = ["main"]

_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + the signal's number, as shells say it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0 done, 1 a rule is broken or a group does not settle, 2 bad usage or input.

    argv: the arguments, by default those of the process. SystemExit, as argparse raises it, for --help and bad usage.
    """
    arguments = parser().parse_args(argv)
    try:
        from optassign.cli.commands.run import run

        code = run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
