"""Seeds of random tests: a few for every run, the others before a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

_Value = TypeVar("_Value")


def take_few(values: Iterable[_Value], first: int) -> list[_Value | ParameterSet]:
    """Return the `first` values unchanged, and all others as parameters of the long tests (`make test-long`)."""
    listed = list(values)
    return [*listed[:first], *(pytest.param(value, marks=pytest.mark.long) for value in listed[first:])]
