"""What several methods return in the same form, so that one can stand in for another."""

from __future__ import annotations

from dataclasses import dataclass

from .problem import IntArray


@dataclass(frozen=True, eq=False)
class Actives:
    """Chosen actives: `active` (T,) clients; `bounds` per goal of the call. `active` is None where the pool's places could
    not be given out (the bounds hold all the same); `bounds` is empty where nothing was proven."""

    active: IntArray | None
    bounds: list[int]
