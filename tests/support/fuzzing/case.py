"""Cases of the fuzzer, and the interface of a kind of cases."""

from dataclasses import dataclass
from random import Random
from typing import Protocol


@dataclass(frozen=True)
class Case:
    """The bytes and arguments of a case."""

    content: bytes
    arguments: tuple[str, ...] = ()


class Kind(Protocol):
    """A generator of random cases, and the check of each case."""

    def make(self, random: Random) -> Case:
        """Return a random case."""
        ...

    def check(self, case: Case) -> str | None:
        """Return the fault that a case shows, or None."""
        ...
