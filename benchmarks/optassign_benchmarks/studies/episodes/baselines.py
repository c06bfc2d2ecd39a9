"""All assignors, the heuristics and Kafka's own classes among them, played to the end on the same snapshots.

`optassign benchmark run --preset paper --kafka` runs such a grid on Spark, where an interrupted run goes on.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator

from optassign.assignor import names
from optassign.generate import Shape
from optassign_benchmarks.cells import count, describe_rebalances, format_ratio, median, ratio, total
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow

SIZES = ((100, 10, 2), (1_000, 100, 20))
"""Tasks, clients, warm-ups."""
SHAPES: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart")
OURS = ("cp-sat", "greedy")
_OTHERS = sorted({*names(), "gap-sticky:previous-tasks"} - set(OURS), key=lambda name: (name.startswith("kafka-"), name))
"""The baselines, Kafka's own classes last."""


def _list_cases(quick: bool) -> Iterator[StudyCase]:
    for tasks, clients, warmups in SIZES[: 1 if quick else None]:
        for shape in SHAPES:
            for standbys in (0, 1, 2):
                for dropped in ("deleted", "kept"):
                    facts = {"size": f"{tasks:,} × {clients}", "shape": shape, "standbys": standbys, "dropped": dropped}
                    how = {"keep_state": dropped == "kept", "max_rebalances": 300}
                    yield StudyCase(Spec(shape, tasks, clients, standbys, warmups, seed=1), facts, how)


def _of_all(rows: list[StudyRow], name: str) -> str:
    """The median, and the most."""
    return f"{statistics.median(row[name] for row in rows):.0f} ({max(row[name] for row in rows)})"


def _describe_ratios(rows: list[StudyRow]) -> str:
    ratios = [ratio(row) for row in rows if row.minimum or (row.minimum == 0 and not row.converged_restored_offsets)]
    return f"{statistics.median(ratios):.2f} ({max(ratios):.2f})" if ratios else "–"


def _describe_violations(rows: list[StudyRow]) -> str:
    broken = sum((Counter(row.converged_violations) for row in rows), Counter[str]())
    return ", ".join(f"{rule} ×{number:,}" for rule, number in sorted(broken.items())) or "none"


def _both(cell: Callable[[StudyRow], str]) -> Callable[[list[StudyRow]], str]:
    """The figures with dropped state deleted and kept; only one where they agree."""
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
