"""The errors of optassign: every error that a caller can cause or must expect is an `OptassignError`."""


class OptassignError(Exception):
    """The base of all errors of optassign.

    They are `InputError` (a file or its contents), `ArgumentError`, `AssignorError` (an assignor failed), `ExportError` (no
    such model), `NotBalancedError` (no balanced group found) and `MissingPackageError`. An argument of a wrong type raises
    Python's TypeError.
    """


class ArgumentError(OptassignError, ValueError):
    """An error for an argument with a forbidden value. `str()` is one line: argument, found value, allowed values."""

    def __init__(self, where: str, found: str, allowed: str) -> None:
        super().__init__(f"{where}: found {found}; allowed: {allowed}")
        self.where, self.found, self.allowed = where, found, allowed


class MissingPackageError(OptassignError, ImportError):
    """An error for a missing optional package. `str()` has the purpose, and the command that installs the package."""

    def __init__(self, purpose: str, package: str, install: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install {install}", name=package)
