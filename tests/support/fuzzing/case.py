"""A case of the fuzzer, and what a kind of cases has to do."""

from dataclasses import dataclass
from random import Random
from typing import Protocol


@dataclass(frozen=True)
class Case:
    """Bytes, and what goes with them."""

    content: bytes
    arguments: tuple[str, ...] = ()


class Kind(Protocol):
    """A kind of cases."""

    def make(self, random: Random) -> Case:
        """A case."""
        ...

    def check(self, case: Case) -> str | None:
        """What is wrong with how it is taken; None: nothing."""
        ...
