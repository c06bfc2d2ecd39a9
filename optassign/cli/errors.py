"""How a command can end: its exit code, and the error that says what is wrong on the command line."""

__all__ = ["BROKEN", "DONE", "USAGE", "UsageError"]

DONE, BROKEN, USAGE = 0, 1, 2
"""Exit codes: done; a rule is broken or a group does not settle; bad usage or input."""


class UsageError(ValueError):
    """Something wrong on the command line that argparse cannot see; the command ends with `USAGE`."""
