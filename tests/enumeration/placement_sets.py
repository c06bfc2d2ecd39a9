"""All placements of a tiny group, as sums of vectors: a task has one vector for each choice of its copies.

A vector holds the measures that add up over tasks: counts of clients, offsets, moves. Two placements with equal sums are equal
in all measures of the rules, so a set of sums stands for all placements. The maximum of loads does not add up. Therefore the
vectors of groups with goal `load` also carry the active tasks of each client as bits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from operator import add

from group_facts import Group
from share_bounds import Bounds, counts_in, find_bounds, imbalance, list_rows

Vector = tuple[int, ...]
Copies = tuple[int, frozenset[int]]
"""The client of the active copy, and the clients of the standbys."""
Placement = tuple[Copies, ...]
"""The copies of each task."""

GOALS = (
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "active_moves",
    "standby_migrations",
    "rack_traffic",
    "hundredths",
    "free_moves",
)
"""The sums that lead each vector. `hundredths` is the restore work of preset weighted, `free_moves` the moves that R3 does not
force."""


@dataclass(frozen=True)
class Space:
    """The choices of copies for each task of a group, and the layout of their vectors."""

    group: Group
    with_masks: bool
    """Whether vectors carry the active tasks of each client, which goal `load` needs."""

    @cached_property
    def bounds(self) -> list[Bounds]:
        """The bounds of each row of counts."""
        return find_bounds(self.group)

    @cached_property
    def rows(self) -> list[tuple[str, str | None]]:
        """The rows of counts, as (family, subtopology)."""
        return list_rows(self.group)

    @property
    def tags(self) -> list[str]:
        """The configured tags, most important first."""
        return list(self.group.configs.get("rack_aware_assignment_tags", []))

    @property
    def counts_at(self) -> int:
        """The index of the first row of counts in a vector."""
        return len(GOALS) + len(self.tags)

    @property
    def totals_at(self) -> int:
        """The index in a vector of the number of copies on each client; the state on each client follows."""
        return self.counts_at + len(self.rows) * len(self.group.clients)

    def copies_of(self, t: int) -> list[Copies]:
        """Return the choices of copies for a task that R1, R2 and R4 allow."""
        clients = range(len(self.group.clients))
        s = self.group.standbys if self.group.tasks[t].logged else 0
        return [(a, frozenset(rest)) for a in clients for rest in combinations([c for c in clients if c != a], s)]

    def keeps_ranks(self, t: int, copies: Copies) -> bool:
        """Return whether the copies keep R3 and R5."""
        if not self.group.tasks[t].logged:
            return True
        ranks = self.group.ranks[t]
        active, standbys = copies
        without = [rank for c, rank in enumerate(ranks) if c != active and c not in standbys]
        return ranks[active] == min(ranks) and max((ranks[c] for c in standbys), default=-1) <= min(without, default=max(ranks))

    def vector(self, t: int, copies: Copies) -> Vector:
        """Return the vector of these copies."""
        active, standbys = copies
        return (*self._goals(t, copies), *self._tags(t, copies), *self._counts(t, copies), *self._totals(t, active, standbys))

    def sum_up(self, placement: Placement) -> Vector:
        """Return the sums of a placement."""
        vectors = [self.vector(t, copies) for t, copies in enumerate(placement)]
        return tuple(map(sum, zip(*vectors, strict=True)))

    def _goals(self, t: int, copies: Copies) -> list[int]:
        group = self.group
        active, standbys = copies
        owners = group.owners[t]
        counted = self._counted(t, {active, *standbys})
        moved = bool(owners) and active not in owners
        cold = group.ranks[t][active] > 0
        return [
            sum(group.cost(t, c) for c in counted),
            sum(group.ranks[t][c] > 0 for c in counted),
            int(cold),
            int(moved or (not owners and cold)),
            int(moved),
            0 if group.is_new(t) else len(standbys - group.listed[t]),
            self._crossings(t, copies),
            sum(self._hundredths(t, c) for c in counted),
            int(moved and bool(owners & group.leaders(t))),
        ]

    def _counted(self, t: int, placed: set[int]) -> set[int]:
        """Return the clients whose copies count as restore work: those of the target and those that R3 to R5 force."""
        if not self.group.tasks[t].logged:
            return set()
        ranks = self.group.ranks[t]
        r = sorted(ranks)[self.group.standbys]
        forced = {c for c, rank in enumerate(ranks) if rank < r}
        tied = sorted((c for c, rank in enumerate(ranks) if rank == r), key=lambda c: c not in placed)
        places = self.group.standbys + 1 - len(forced)
        return placed | forced | set(tied[:places])

    def _hundredths(self, t: int, c: int) -> int:
        group = self.group
        logged = [u for u, task in enumerate(group.tasks) if task.logged]
        mean = Fraction(sum(group.whole(u) for u in logged), len(logged))
        return -(-100 * group.cost(t, c) // mean) if mean else 0

    def _crossings(self, t: int, copies: Copies) -> int:
        active, standbys = copies
        task = self.group.tasks[t]
        clients = self.group.clients
        return sum(clients[active].rack not in racks for racks in task.sources) + sum(
            clients[c].rack not in racks for c in standbys for racks in task.changelogs
        )

    def _tags(self, t: int, copies: Copies) -> list[int]:
        if not self.group.tasks[t].logged:
            return [0] * len(self.tags)
        placed = [self.group.clients[c] for c in (copies[0], *copies[1])]
        return [len({client.tags[tag] for client in placed if tag in client.tags}) for tag in self.tags]

    def _counts(self, t: int, copies: Copies) -> list[int]:
        active, standbys = copies
        task = self.group.tasks[t]
        counts = []
        for family, subtopology in self.rows:
            counted = counts_in(family, subtopology, task.stateful, task.logged, task.subtopology)
            takes_standbys = family in {"copies", "subtopology_copies"}
            for c in range(len(self.group.clients)):
                counts.append(int(counted and (c == active or (takes_standbys and c in standbys))))
        return counts

    def _totals(self, t: int, active: int, standbys: frozenset[int]) -> list[int]:
        clients = range(len(self.group.clients))
        placed = {active, *standbys}
        whole = self.group.whole(t) if self.group.tasks[t].logged else 0
        totals = [int(c in placed) for c in clients] + [whole * (c in placed) for c in clients]
        if self.with_masks:
            totals += [(c == active) << t for c in clients]
        return totals

    def state_on(self, vector: Vector) -> Vector:
        """Return the state on each client, in offsets."""
        width = len(self.group.clients)
        return vector[self.totals_at + width : self.totals_at + 2 * width]

    def actives_on(self, vector: Vector) -> Vector:
        """Return the active tasks of each client, as bits."""
        start = self.totals_at + 2 * len(self.group.clients)
        return vector[start : start + len(self.group.clients)]

    def fills_draining(self, vector: Vector) -> bool:
        """Return whether a draining client has a copy although the others have room for all copies of a task."""
        staying = self.group.staying
        draining = [c for c in range(len(self.group.clients)) if c not in staying]
        return len(staying) > self.group.standbys and any(vector[self.totals_at + c] for c in draining)

    def imbalances(self, vector: Vector, bounds: Sequence[Bounds]) -> tuple[int, ...]:
        """Return the imbalance of each family."""
        return self._imbalances(vector[self.counts_at : self.totals_at], bounds)

    def _imbalances(self, counts: Vector, bounds: Sequence[Bounds]) -> tuple[int, ...]:
        width = len(self.group.clients)
        sums = dict.fromkeys(("active", "stateful_active", "copies", "subtopology_active", "subtopology_copies"), 0)
        for number, ((family, _), row) in enumerate(zip(self.rows, bounds, strict=True)):
            sums[family] += imbalance(counts[number * width : (number + 1) * width], row)
        return tuple(sums.values())

    def measure_imbalances(self, vectors: Iterable[Vector], bounds: Sequence[Bounds]) -> dict[Vector, tuple[int, ...]]:
        """Return the imbalances of the families, by the counts of a vector; vectors with equal counts share an entry."""
        counts = {vector[self.counts_at : self.totals_at] for vector in vectors}
        return {row: self._imbalances(row, bounds) for row in counts}


def enumerate_sums(vectors: Sequence[Sequence[Vector]], most: dict[int, int]) -> list[Vector]:
    """Return the distinct sums of one vector of each task.

    `most` maps indices of a vector to upper bounds. No number falls when a task is added, so sums beyond a bound are dropped
    after each task.
    """
    sums = {(0,) * len(vectors[0][0])} if vectors[0] else set()
    for options in vectors:
        sums = {tuple(map(add, total, option)) for total in sums for option in options}
        sums = {total for total in sums if all(total[place] <= end for place, end in most.items())}
    return sorted(sums)
