"""No rule broken, and every convergence settles, rests and ends balanced: many small snapshots of every shape."""

from __future__ import annotations

from dataclasses import dataclass, field

from optassign.generate import SHAPES
from optassign.generate.dealing import NotBalancedError
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import small_specs
from optassign_benchmarks.tables import Table, make_table

ASSIGNORS = ("cp-sat", "greedy")


@dataclass
class Tally:
    """The counts over all snapshots of one shape under one assignor."""

    snapshots: int = 0
    answers: int = 0
    violations: int = 0
    unsettled: int = 0
    restless: int = 0
    unbalanced: int = 0
    bad: list[str] = field(default_factory=list)


def run(number: int = 1000) -> tuple[list[Table], list[str]]:
    """The table, and each convergence that was not as it should be."""
    tallies: dict[tuple[str, str], Tally] = {}
    for shape in SHAPES:
        for spec in small_specs(shape, number):
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
    return [make_table(head, rows)], [line for t in tallies.values() for line in t.bad]
