"""The errors of optassign: each one that a caller can cause or has to expect is an `OptassignError`."""

__all__ = ["ArgumentError", "MissingPackageError", "OptassignError"]


class OptassignError(Exception):
    """The base of all errors of optassign's own.

    They are `InputError` (a file or its contents), `ArgumentError` (an argument of a function), `AssignorError` (an assignor
    failed), `ExportError` (no such model exists), `NotBalancedError` (no such group exists) and `MissingPackageError`. An
    argument of a wrong type is Python's own TypeError.
    """


class ArgumentError(OptassignError, ValueError):
    """An argument has a value that is not allowed. `str()` is one line."""

    def __init__(self, where: str, found: str, allowed: str) -> None:
        """An error about one argument: `where` is its name."""
        super().__init__(f"{where}: found {found}; allowed: {allowed}")
        self.where, self.found, self.allowed = where, found, allowed


class MissingPackageError(OptassignError, ImportError):
    """A package is missing that only this function needs. `str()` says how to install it."""

    def __init__(self, purpose: str, package: str, install: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install {install}", name=package)
