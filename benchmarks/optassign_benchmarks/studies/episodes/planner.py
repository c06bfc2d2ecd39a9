"""The planner in the JVM, compared with Kafka's default and with cp-sat's bounds of the same groups: whole convergences.

The study fails if a rule is broken, or a group does not settle and rest. In nine of ten groups that were settled before,
restored offsets and moves have to stay near the least. The judge is Python's, which shares no code with the planner.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from itertools import product

from optassign.assignor import create
from optassign.formats.assignment import restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES
from optassign.simulation.convergence import find_planned_moves
from optassign_benchmarks.cells import count, total
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.jvm_planner import JvmPlanner
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow
from optassign_benchmarks.studies.episodes.convergences import SETTLED, SIZES, list_small

PLANNER, THEIRS = JvmPlanner.name, "high-availability"
"""Kafka's default is equal to Kafka's own class, copy by copy (tests/java/test_parity.py)."""
_MOST_RESTORED, _MOST_MOVED = 1.05, 1.2
"""Times the least, in nine of ten groups."""
_THREADS: tuple[tuple[int | tuple[int, int], int], ...] = ((1, 1), ((1, 4), 2))
"""Threads of a client, and seed."""


def find_least(state: ApplicationState, assignor: str) -> dict[str, int | None]:
    """The least that is restored and moved, as cp-sat's first answer proves it."""
    answer = create("cp-sat").assign(state)
    return {"least_restored": restore_work_bound(answer), "least_moved": find_planned_moves(answer)[1]}


def _list_planner(quick: bool) -> Iterator[StudyCase]:
    for spec in list_small(quick):
        yield StudyCase(spec, {"groups": "random groups", "shape": spec.shape})
    for tasks, clients, warmups in SIZES[: 1 if quick else None]:
        for shape, standbys, (threads, seed) in product(SHAPES, (0, 1, 2), _THREADS):
            spec = Spec(shape, tasks, clients, standbys, warmups, threads=threads, seed=seed)
            yield StudyCase(spec, {"groups": f"{tasks:,} × {clients}", "shape": shape})


def _pair(rows: Iterable[StudyRow], found: str, least: str) -> list[tuple[int, int]]:
    return [(row[found], row[least]) for row in rows if row.shape in SETTLED and row[least] is not None]


def find_ninth(pairs: Iterable[tuple[int, int]]) -> float:
    """The ratio that nine of ten do not exceed; of something to nothing it is infinite."""
    ratios = sorted(1.0 if found == least else found / least if least else math.inf for found, least in pairs)
    return ratios[math.ceil(0.9 * len(ratios)) - 1] if ratios else 1.0


def _format_ninth(pairs: list[tuple[int, int]]) -> str:
    ninth = find_ninth(pairs)
    return "∞" if math.isinf(ninth) else f"{ninth:.2f}"


def _format_sums(pairs: list[tuple[int, int]]) -> str:
    return f"{sum(found for found, _ in pairs) / max(1, sum(least for _, least in pairs)):.2f}"


def _list_broken(row: StudyRow) -> dict[str, int]:
    """Violations of R1 to R6."""
    judged = ("format", *(f"R{n}" for n in range(1, 7)))
    return {rule: number for rule, number in row.converged_violations.items() if rule in judged}


_RESTORED, _MOVED = ("converged_restored_offsets", "least_restored"), ("converged_moved_active", "least_moved")


def _find_bad_plans(rows: list[StudyRow]) -> Iterator[str]:
    """Groups in which the planner breaks a rule, does not settle or rest, and figures that are missed."""
    mine = [row for row in rows if row.assignor == PLANNER]
    for row in mine:
        if _list_broken(row) or not row.converged_stable:
            yield f"{row}: {_list_broken(row)}, settled: {row.converged_settled}, rests: {row.converged_rests}"
    for groups in dict.fromkeys(row.groups for row in mine):
        some = [row for row in mine if row.groups == groups]
        for what, columns, most in (("restored", _RESTORED, _MOST_RESTORED), ("moves", _MOVED, _MOST_MOVED)):
            ninth = find_ninth(_pair(some, *columns))
            if ninth > most:
                yield f"{groups}: {what} in nine of ten up to {ninth:.2f} × the least; wanted: {most}"


JVM_PLANNER = Study(
    cases=_list_planner,
    assignors=(PLANNER, THEIRS),
    parts=("convergence", find_least),
    layouts=(
        Layout(
            {"groups": "groups", "assignor": "assignor"},
            {
                "number": len,
                "R1 to R6 broken": lambda rows: sum(sum(_list_broken(row).values()) for row in rows),
                "not settled": count(lambda row: not row.converged_settled),
                "not at rest": count(lambda row: row.converged_settled and not row.converged_rests),
                "restored ÷ least, in nine of ten": lambda rows: _format_ninth(_pair(rows, *_RESTORED)),
                "restored ÷ least, all together": lambda rows: _format_sums(_pair(rows, *_RESTORED)),
                "moves ÷ fewest, in nine of ten": lambda rows: _format_ninth(_pair(rows, *_MOVED)),
                "moves ÷ fewest, all together": lambda rows: _format_sums(_pair(rows, *_MOVED)),
                "rebalances": total("converged_rebalances"),
                "median of slowest answers, ms": lambda rows: (
                    f"{statistics.median(row.converged_most_seconds for row in rows) * 1000:.1f}"
                ),
                "slowest, ms": lambda rows: f"{max(row.converged_most_seconds for row in rows) * 1000:.0f}",
            },
        ),
    ),
    demands=_find_bad_plans,
    jobs=1,
)
