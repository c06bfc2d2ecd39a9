"""How a command ends: its exit code, and the errors that become one line on standard error."""

__all__ = [
    "DONE",
    "FAILED",
    "REFUSED",
    "UNREACHABLE",
    "USAGE",
    "CommandError",
    "FailedError",
    "RefusedError",
    "UnreachableError",
    "UsageError",
]

DONE, FAILED, USAGE, UNREACHABLE, REFUSED = range(5)
"""Exit codes: done; the command failed, a rule is broken, or a group does not converge; bad usage or input; no service can be
reached; the service refuses."""


class CommandError(ValueError):
    """An error that ends a command with one line on standard error. `code`: its exit code."""

    code = FAILED


class FailedError(CommandError):
    """The command cannot finish, for no fault of its arguments or its input."""


class UsageError(CommandError):
    """Something wrong on the command line that argparse cannot see."""

    code = USAGE


class UnreachableError(CommandError):
    """No service answers at the URL."""

    code = UNREACHABLE


class RefusedError(CommandError):
    """The service refuses the request."""

    code = REFUSED
