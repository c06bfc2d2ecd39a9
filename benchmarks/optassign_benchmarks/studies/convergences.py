"""Whole convergences of all assignors and of the JVM's planner: rules, stability, restored offsets with their bound, and
moves."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product

from optassign.assignor import assign, create, list_names
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape
from optassign.measuring.ranks import Ranks
from optassign.simulation.convergence import find_planned_moves
from optassign_benchmarks.grid import Spec, small_specs
from optassign_benchmarks.jvm_planner import JvmPlanner
from optassign_benchmarks.runner import (
    Layout,
    Study,
    StudyCase,
    StudyRow,
    by_case,
    count,
    count_violations,
    describe_rebalances,
    format_ratio,
    median,
    of,
    ratio,
    total,
)

OURS = ("cp-sat", "greedy")
"""Assignors of optassign."""
SIZES = ((100, 10, 2), (1_000, 100, 20))
"""Tasks, clients, warm-ups."""
SETTLED: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart")
"""Shapes whose group was stable before the event; the limits on restored offsets and moves hold for these only."""
SMALL = 2_000
"""Least number of specs of small snapshots, all shapes together; specs without a stable group give no rows."""


def _is_broken(row: StudyRow) -> bool:
    return bool(row.converged_violations) or not row.converged_stable


def list_small(quick: bool) -> Iterator[Spec]:
    """Yield specs of small snapshots of all shapes; a tenth of them if `quick`."""
    for shape in SHAPES:
        yield from small_specs(shape, math.ceil(SMALL / (10 if quick else 1) / len(SHAPES)))


RULES = Study(
    cases=lambda quick: (
        StudyCase(spec, {"shape": shape}, {"keep_state": spec.seed % 2 == 1})
        for shape in SHAPES
        for spec in small_specs(shape, 100 if quick else 1_000)
    ),
    assignors=OURS,
    parts=("convergence",),
    layouts=(
        Layout(
            {"shape": "shape", "assignor": "assignor"},
            {
                "snapshots": len,
                "answers": total("converged_answers"),
                "rules broken": count_violations,
                "not settled": count(lambda row: not row.converged_settled),
                "not at rest": count(lambda row: row.converged_settled and not row.converged_rests),
                "not balanced": count(lambda row: not row.converged_balanced),
            },
        ),
    ),
    demands=lambda rows: (
        f"{row}: {row.converged_violations}, stable: {row.converged_stable}, balanced: {row.converged_balanced}"
        for row in rows
        if _is_broken(row) or not row.converged_balanced
    ),
)


def count_allowed_rebalances(state: ApplicationState, first: TaskAssignment) -> int:
    """Return the number of rebalances that a convergence may take, from its first answer.

    2 + ⌈copies not caught up of the first plan that are not standbys in the first answer ÷ max_warmup_replicas⌉.
    """
    if first.plan is None:
        return 2
    rank = Ranks(state)
    standby = {(task, client.process_id) for client in first.clients for task in client.standby}
    logged = {task.id for task in state.tasks if task.logged}
    cold = sum(
        (task, client.process_id) not in standby and rank.of(task, client.process_id) > 0
        for client in first.plan
        for task in (*client.active, *client.standby)
        if task in logged
    )
    return 2 + math.ceil(cold / state.configs.max_warmup_replicas)


def find_allowed(state: ApplicationState, assignor: str) -> dict[str, int]:
    """Return the number of rebalances that cp-sat may take; empty for other assignors."""
    return {"allowed": count_allowed_rebalances(state, assign(state))} if assignor == "cp-sat" else {}


def _find_long(rows: list[StudyRow]) -> Iterator[str]:
    """Yield convergences that restored too much, needed too many rebalances, broke a rule or did not become stable."""
    for pair in by_case(rows):
        ours, greedy = pair["cp-sat"], pair["greedy"]
        is_long = ratio(ours) > 1.01 or ours.converged_rebalances > ours.allowed or ratio(greedy) > 1.3
        if _is_broken(ours) or _is_broken(greedy) or (ours.shape in SETTLED and is_long):
            yield (
                f"{ours.case}: cp-sat {ratio(ours):.3f} in {ours.converged_rebalances} of {ours.allowed}, greedy"
                f" {ratio(greedy):.3f} in {greedy.converged_rebalances}; stable: {ours.converged_stable},"
                f" {greedy.converged_stable}"
            )


CONVERGENCE = Study(
    cases=lambda quick: (
        StudyCase(
            Spec(shape, tasks, clients, standbys, warmups, threads=threads, seed=seed),
            {"size": f"{tasks:,} × {clients}", "shape": shape, "dropped": "kept" if kept else "deleted"},
            {"keep_state": kept},
        )
        for tasks, clients, warmups in SIZES[: 1 if quick else None]
        for shape in SHAPES
        for standbys in (0, 1, 2, 3)
        for threads, seed in ((1, 1), ((1, 4), 2))
        for kept in (False, True)
    ),
    assignors=OURS,
    parts=("convergence", find_allowed),
    layouts=(
        Layout(
            {"tasks × clients": "size", "shape": "shape", "dropped state": "dropped"},
            {
                "convergences": of("cp-sat", len),
                "cp-sat ÷ bound, most": of("cp-sat", lambda rows: max(map(ratio, rows))),
                "rebalances, most": of("cp-sat", lambda rows: max(row.converged_rebalances for row in rows)),
                "fewer than allowed by, least": of(
                    "cp-sat", lambda rows: min(row.allowed - row.converged_rebalances for row in rows)
                ),
                "greedy ÷ bound, most": of("greedy", lambda rows: max(map(ratio, rows))),
                "greedy rebalances, most": of("greedy", lambda rows: max(row.converged_rebalances for row in rows)),
                "cp-sat s a rebalance, median": of("cp-sat", median("converged_seconds")),
            },
        ),
    ),
    demands=_find_long,
    jobs=1,
)


_OTHERS = sorted({*list_names(), "gap-sticky:previous-tasks"} - set(OURS), key=lambda name: (name.startswith("kafka-"), name))
"""The baselines, Kafka's own classes last."""


def _list_cases(quick: bool) -> Iterator[StudyCase]:
    for tasks, clients, warmups in SIZES[: 1 if quick else None]:
        for shape in SETTLED:
            for standbys in (0, 1, 2):
                for dropped in ("deleted", "kept"):
                    facts = {"size": f"{tasks:,} × {clients}", "shape": shape, "standbys": standbys, "dropped": dropped}
                    how = {"keep_state": dropped == "kept", "max_rebalances": 300}
                    yield StudyCase(Spec(shape, tasks, clients, standbys, warmups, seed=1), facts, how)


def _of_all(rows: list[StudyRow], name: str) -> str:
    """Return a cell with the median of a measure and, in brackets, its greatest value."""
    return f"{statistics.median(row[name] for row in rows):.0f} ({max(row[name] for row in rows)})"


def _describe_ratios(rows: list[StudyRow]) -> str:
    ratios = [ratio(row) for row in rows if row.minimum or (row.minimum == 0 and not row.converged_restored_offsets)]
    return f"{statistics.median(ratios):.2f} ({max(ratios):.2f})" if ratios else "–"


def _describe_violations(rows: list[StudyRow]) -> str:
    broken = sum((Counter(row.converged_violations) for row in rows), Counter[str]())
    return ", ".join(f"{rule} ×{number:,}" for rule, number in sorted(broken.items())) or "none"


def _both(cell: Callable[[StudyRow], str]) -> Callable[[list[StudyRow]], str]:
    """Return a cell with the figures for deleted and kept state, or with a single figure if they agree."""
    return lambda rows: " / ".join(dict.fromkeys(map(cell, rows)))


def _layout(size: tuple[int, int, int]) -> Layout:
    named = f"{size[0]:,} × {size[1]}"
    return Layout(
        {"shape": "shape", "standbys": "standbys", "assignor": "assignor"},
        {
            "rebalances": _both(describe_rebalances),
            "moves": _both(lambda row: f"{row.converged_moved_active:,}"),
            "tasks moved more than once": _both(lambda row: f"{row.converged_moved_more_than_once:,}"),
            "restored ÷ minimum": _both(lambda row: format_ratio(row.converged_restored_offsets, row.minimum)),
            "spread": _both(lambda row: f"{row.converged_final_spread:.3g}"),
            "imbalance": _both(lambda row: f"{row.converged_final_imbalance:,}"),
            "rules broken": _both(lambda row: _describe_violations([row])),
            "seconds": _both(lambda row: f"{row.converged_seconds:.3f}"),
        },
        named,
        keep=lambda row: row.size == named,
    )


BASELINES = Study(
    cases=_list_cases,
    assignors=(*OURS, *_OTHERS),
    parts=("convergence",),
    layouts=(
        Layout(
            {"assignor": "assignor", "tasks × clients": "size", "dropped state": "dropped"},
            {
                "settled and at rest": lambda rows: f"{count(lambda row: row.converged_stable)(rows)} of {len(rows)}",
                "balanced in the end": lambda rows: f"{sum(not row.converged_final_imbalance for row in rows)} of {len(rows)}",
                "rebalances, median (most)": lambda rows: _of_all(rows, "converged_rebalances"),
                "active moves, sum": total("converged_moved_active"),
                "tasks moved more than once, sum": total("converged_moved_more_than_once"),
                "restored ÷ minimum, median (most)": _describe_ratios,
                "answers that break a rule": _describe_violations,
                "seconds a call, median": median("converged_seconds"),
            },
        ),
        *map(_layout, SIZES),
    ),
)


PLANNER, KAFKAS = JvmPlanner.name, "high-availability"
"""The planner of the jars, and the model of Kafka's default, which equals Kafka's class (tests/java/test_parity.py)."""
_MOST_RESTORED, _MOST_MOVED = 1.05, 1.2
"""Limits as multiples of the least, for nine of ten groups."""
_THREADS: tuple[tuple[int | tuple[int, int], int], ...] = ((1, 1), ((1, 4), 2))
"""Threads of a client, and seed."""


def find_least(state: ApplicationState, assignor: str) -> dict[str, int | None]:
    """Return the proven least restored offsets and moves, from cp-sat's first answer."""
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


def find_ninth_decile(pairs: Iterable[tuple[int, int]]) -> float:
    """Return the ratio that nine of ten pairs do not exceed; infinite for a positive value over 0."""
    ratios = sorted(1.0 if found == least else found / least if least else math.inf for found, least in pairs)
    return ratios[math.ceil(0.9 * len(ratios)) - 1] if ratios else 1.0


def _format_ninth(pairs: list[tuple[int, int]]) -> str:
    ninth = find_ninth_decile(pairs)
    return "∞" if math.isinf(ninth) else f"{ninth:.2f}"


def _format_sums(pairs: list[tuple[int, int]]) -> str:
    return f"{sum(found for found, _ in pairs) / max(1, sum(least for _, least in pairs)):.2f}"


def _list_broken(row: StudyRow) -> dict[str, int]:
    """Return the violations of R1 to R6: rule → number."""
    judged = ("format", *(f"R{n}" for n in range(1, 7)))
    return {rule: number for rule, number in row.converged_violations.items() if rule in judged}


_RESTORED, _MOVED = ("converged_restored_offsets", "least_restored"), ("converged_moved_active", "least_moved")


def _find_bad_plans(rows: list[StudyRow]) -> Iterator[str]:
    """Yield groups in which the planner breaks a rule or does not become stable, and figures beyond their limits."""
    mine = [row for row in rows if row.assignor == PLANNER]
    for row in mine:
        if _list_broken(row) or not row.converged_stable:
            yield f"{row}: {_list_broken(row)}, settled: {row.converged_settled}, rests: {row.converged_rests}"
    for groups in dict.fromkeys(row.groups for row in mine):
        some = [row for row in mine if row.groups == groups]
        for what, columns, most in (("restored", _RESTORED, _MOST_RESTORED), ("moves", _MOVED, _MOST_MOVED)):
            ninth = find_ninth_decile(_pair(some, *columns))
            if ninth > most:
                yield f"{groups}: {what} in nine of ten up to {ninth:.2f} × the least; wanted: {most}"


JVM_PLANNER = Study(
    cases=_list_planner,
    assignors=(PLANNER, KAFKAS),
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
