"""What models give back, for methods with a solver and without one alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from optassign.models.problem import IntArray, Placement


@dataclass(frozen=True, eq=False)
class Actives:
    """`active` (T,) clients, or None where none could be given out; `bounds` per goal of the call, which hold all the same."""

    active: IntArray | None
    bounds: list[int]


@dataclass(frozen=True, eq=False)
class Found:
    """`placement` is None where nothing was found; `impossible`: proven that there is nothing.

    `bounds` by goal; `proved`: goals whose value is proven by more than a bound of their own (a later goal, given those
    before). `face`: keys of the pairs outside of which no plan reaches the bounds of restore work and cold copies.
    """

    placement: Placement | None
    impossible: bool = False
    bounds: dict[str, int] = field(default_factory=dict)
    face: IntArray | None = None
    proved: frozenset[str] = frozenset()
    found_by: str = "flow"
    limited: bool = False
    weighted: tuple[float, float | None] | None = None
    """Preset `weighted`: value and bound of the one sum."""


@dataclass(frozen=True, eq=False)
class Rebalanced:
    """The answer, and the optimum of each goal (the first is a greatest number, the others are least)."""

    answer: Placement
    bounds: dict[str, int]
