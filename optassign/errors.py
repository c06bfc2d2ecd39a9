"""The errors of optassign: every error that a caller can cause or must expect is an `OptassignError`."""


class OptassignError(Exception):
    """The base of all errors of optassign.

    They are `InputError` (a file or its contents), `ArgumentError` (an argument of a function), `AssignorError` (an assignor
    failed), `ExportError` (no such model exists), `NotBalancedError` (no such group exists) and `MissingPackageError`. An
    argument of a wrong type raises Python's TypeError.
    """


class ArgumentError(OptassignError, ValueError):
    """An argument has a forbidden value. `str()` is one line."""

    def __init__(self, where: str, found: str, allowed: str) -> None:
        super().__init__(f"{where}: found {found}; allowed: {allowed}")
        self.where, self.found, self.allowed = where, found, allowed


class MissingPackageError(OptassignError, ImportError):
    """A package is missing that only this function needs. `str()` has the command to install it."""

    def __init__(self, purpose: str, package: str, install: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install {install}", name=package)
