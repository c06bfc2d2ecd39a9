"""A client on the page of a rebalance: its tasks by subtopology, its counts or its load."""

from optassign.formats.base import Frozen

__all__ = ["CountRow", "HeatMap", "HeatRow", "LoadRow"]


class HeatRow(Frozen):
    """Active tasks of a client by subtopology, in the order of `HeatMap.subtopologies`."""

    client: str
    short: str
    """The one name that tells it from the others best."""
    process_id: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    planned: tuple[int, ...]


class HeatMap(Frozen):
    """Clients × subtopologies."""

    subtopologies: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    most: int
    """The greatest number in it."""
    clients: int
    """In all; `rows` has some of them."""
    first: int
    """The number of the first row among all clients, from 0."""
    left_out: int
    """Subtopologies that are not shown."""


class LoadRow(Frozen):
    """A client's load, in even spreads."""

    before: float
    after: float
    planned: float
    allowed: float
    """Up to which a load is balanced."""


class CountRow(Frozen):
    """A client's counts and shares or, if load is balanced, its load."""

    client: str
    process_id: str
    threads: int
    draining: bool
    before: int
    after: int
    planned: int
    low: int | None
    high: int | None
    """The share; None where load is what is balanced, and shares demand nothing."""
    load: LoadRow | None
    """None where shares are kept."""
    standbys: int
    warmups: int
    gained: int
    lost: int
