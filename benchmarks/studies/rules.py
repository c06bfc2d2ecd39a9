"""No rule broken, and every convergence settles, rests and ends balanced: many small snapshots of every shape."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from optassign.benchmarks.grid import Spec
from optassign.benchmarks.tables import markdown
from optassign.generate import SHAPES, Shape
from optassign.generate.dealing import NotBalancedError
from optassign.simulation.convergence import converge

ASSIGNORS = ("cp-sat", "greedy")


@dataclass
class Tally:
    """Of one shape and assignor."""

    snapshots: int = 0
    answers: int = 0
    violations: int = 0
    unsettled: int = 0
    restless: int = 0
    unbalanced: int = 0
    bad: list[str] = field(default_factory=list)


def specs(shape: Shape, number: int) -> Iterator[Spec]:
    """Small snapshots of a shape, of all kinds, fixed by their numbers."""
    threads: tuple[int | tuple[int, int], ...] = (1, 1, 2, (1, 4), (1, 2), (2, 5))
    for n in range(number):
        rng = random.Random(f"{shape} {n}")
        clients = rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 16])
        yield Spec(
            shape,
            tasks=rng.randint(1, 12) * rng.choice([1, 2, 4, 8]),
            clients=clients,
            standbys=rng.choice([0, 1, 1, 2, 3]),
            warmups=rng.choice([1, 2, 2, 5, 20]),
            threads=rng.choice(threads),
            seed=n,
            stateless=rng.choice([0.0, 0.2, 0.5]),
            unlogged=rng.choice([0.0, 0.0, 0.3]),
            tiny=rng.choice([0.0, 0.0, 0.2]),
            unknown=rng.choice([0.0, 0.0, 0.0, 0.2, 1.0]),
            memory=rng.random() < 0.5,
            dense=rng.random() < 0.2,
        )


def run(number: int = 1000) -> tuple[str, list[str]]:
    """The table, and what was not as it should be."""
    tallies: dict[tuple[str, str], Tally] = {}
    for shape in SHAPES:
        for spec in specs(shape, number):
            try:
                state = spec.generate()
            except NotBalancedError:
                continue  # there is no settled group of this kind to begin with
            for assignor in ASSIGNORS:
                tally = tallies.setdefault((shape, assignor), Tally())
                tally.snapshots += 1
                result = converge(state, assignor, keep_state=spec.seed % 2 == 1)
                tally.answers += result.rebalances + 1
                tally.violations += sum(result.violations.values())
                tally.unsettled += not result.settled
                tally.restless += result.settled and not result.rests
                balanced = result.history[-1].measures.balanced
                tally.unbalanced += not balanced
                if result.violations or not result.stable or not balanced:
                    tally.bad.append(f"{assignor} {spec.name}: {dict(result.violations)} stable={result.stable} {balanced=}")
    head = ("shape", "assignor", "snapshots", "answers", "rules broken", "not settled", "not at rest", "not balanced")
    rows = [
        (shape, assignor, t.snapshots, t.answers, t.violations, t.unsettled, t.restless, t.unbalanced)
        for (shape, assignor), t in tallies.items()
    ]
    return markdown(head, rows), [line for t in tallies.values() for line in t.bad]
