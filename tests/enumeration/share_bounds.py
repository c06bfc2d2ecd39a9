"""Shares, their bounds, and the imbalance of counts, as docs/reference/rules.md defines them under "Balanced"."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from group_facts import Group

Bounds = tuple[tuple[int, int], ...]
"""The lower and upper bound of each client's count."""


def pour(total: int, most: int, units: dict[int, int]) -> dict[int, Fraction]:
    """Return shares of `total` in proportion to `units`, none above `most` (water filling)."""
    shares: dict[int, Fraction] = {}
    rest = dict(units)
    left = Fraction(total)
    while rest:
        whole = sum(rest.values())
        full = [c for c, unit in rest.items() if left * unit / whole > most]
        if not full:
            return shares | {c: left * unit / whole for c, unit in rest.items()}
        for c in full:
            shares[c] = Fraction(most)
            left -= most
            del rest[c]
    return shares


def find_shares(group: Group, n: int, k: int) -> list[Fraction]:
    """Return each client's exact share of `n` tasks with `k` copies each."""
    staying = group.staying
    room = min(n * k, n * len(staying))
    draining = [c for c in range(len(group.clients)) if c not in staying]
    units = [client.unit for client in group.clients]
    shares = pour(room, n, {c: units[c] for c in staying}) | pour(n * k - room, n, {c: units[c] for c in draining})
    return [shares[c] for c in range(len(group.clients))]


def _narrow(shares: Sequence[Fraction], n: int) -> Bounds:
    """Return the bounds of the counts nearest to the shares; each list of counts within them must sum to `n`."""
    up = n - sum(floor(share) for share in shares)
    fractions = sorted((share - floor(share) for share in shares), reverse=True)
    bounds = []
    for share in shares:
        fraction = share - floor(share)
        greater = sum(other > fraction for other in fractions)
        equal = sum(other == fraction for other in fractions)
        if greater + equal <= up:
            bounds.append((ceil(share), ceil(share)))
        elif greater >= up:
            bounds.append((floor(share), floor(share)))
        else:
            bounds.append((floor(share), ceil(share)))
    return tuple(bounds)


def find_bounds(group: Group) -> list[Bounds]:
    """Return the bounds of each row of counts, in the order of `list_rows`."""
    factor = group.options.get("balance_factor", 1) - 1
    below, above = factor // 2, -(-factor // 2)
    bounds = []
    for family, subtopology in list_rows(group):
        members = [t for t in group.tasks if counts_in(family, subtopology, t.stateful, t.logged, t.subtopology)]
        copies = group.standbys + 1 if family in {"copies", "subtopology_copies"} else 1
        shares = find_shares(group, len(members), copies)
        row: Bounds = tuple((floor(share), ceil(share)) for share in shares)
        if family == "active":
            row = _narrow(shares, len(members))
        if subtopology is None:
            row = tuple((max(0, low - below), high + above) for low, high in row)
        bounds.append(row)
    return bounds


FAMILIES = ("active", "stateful_active", "copies", "subtopology_active", "subtopology_copies")
"""The families of counts, most important first."""


def list_rows(group: Group) -> list[tuple[str, str | None]]:
    """Return the rows of counts as (family, subtopology), the families in their order; a row has a count for each client."""
    subtopologies = sorted({task.subtopology for task in group.tasks})
    logged = sorted({task.subtopology for task in group.tasks if task.logged})
    return [
        *((family, None) for family in FAMILIES[:3]),
        *(("subtopology_active", name) for name in subtopologies),
        *(("subtopology_copies", name) for name in logged),
    ]


def counts_in(family: str, subtopology: str | None, stateful: bool, logged: bool, own: str) -> bool:
    """Return whether a task with these traits, of subtopology `own`, counts in the row."""
    if family == "active":
        return True
    if family == "stateful_active":
        return stateful
    if family == "copies":
        return logged
    return own == subtopology and (logged or family == "subtopology_active")


def imbalance(counts: Sequence[int], bounds: Bounds) -> int:
    """Return the imbalance of a row: the sum of e (e + 1) / 2 over the distances e outside the bounds."""
    total = 0
    for count, (low, high) in zip(counts, bounds, strict=True):
        e = max(low - count, count - high, 0)
        total += e * (e + 1) // 2
    return total
