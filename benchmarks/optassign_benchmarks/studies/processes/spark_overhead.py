"""Spark's cost of each solve, against a plain loop, and the speed of two cores compared with one."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.assignor import assign
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.spark.presets import Sweep
from optassign_benchmarks.spark.runs import Run
from optassign_benchmarks.spark.session import open_session
from optassign_benchmarks.spark.solving.answer_columns import answer_columns
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.sweep import run_sweep
from optassign_benchmarks.tables import Table, make_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run"]

_SWEEPS = (
    Sweep(
        name="100x10",
        shapes=("scale-out", "scale-in"),
        sizes=((100, 10),),
        seeds=tuple(range(200)),
        assignors=("greedy",),
        converge_up_to=0,
    ),
    Sweep(
        name="1000x100",
        shapes=("scale-out",),
        sizes=((1_000, 100),),
        seeds=tuple(range(200)),
        assignors=("cp-sat",),
        converge_up_to=0,
    ),
    Sweep(name="4000x400", shapes=("scale-out",), sizes=((4_000, 400),), seeds=tuple(range(60)), assignors=("cp-sat",)),
)
_WARM = Sweep(
    name="warm", shapes=("cold",), sizes=((20, 4),), seeds=tuple(range(8)), assignors=("cp-sat", "greedy"), converge_up_to=0
)
_HEAD = (
    "instances, assignor",
    "rows",
    "plain loop s",
    "two plain loops s",
    "local[1] s",
    "local[2] s",
    "plain loop ms a row",
    "Spark's overhead ms a row",
    "speed-up of two plain loops",
    "speed-up, local[1] to local[2]",
)


def run() -> tuple[list[Table], list[str]]:
    """The table; none of its figures counts as wrong."""
    rows: list[tuple[object, ...]] = []
    for sweep in _SWEEPS:
        todo = sweep.rows(sweep.list_assignors())
        number = len(todo)
        loop, loops = _time_loops(todo, 1), _time_loops(todo, 2)
        one, two = _time_spark(sweep, 1), _time_spark(sweep, 2)
        each, overhead = 1000 * loop / number, 1000 * (one - loop) / number
        (tasks, clients), (assignor,) = sweep.sizes[0], sweep.list_assignors()
        what = f"{tasks:,} × {clients:,}, {assignor}"
        rows.append((what, number, loop, loops, one, two, each, overhead, loop / loops, one / two))
    return [make_table(_HEAD, rows)], []


def _time_loops(todo: list[tuple[Spec, str]], processes: int) -> float:
    """Seconds to generate, solve and measure all rows in plain loops, one in each of `processes` processes at once."""
    with ProcessPoolExecutor(processes, get_context("spawn"), _warm_up, (todo[0][1],)) as pool:
        list(pool.map(time.sleep, [1.0] * processes))  # until all have been started and warmed
        start = time.perf_counter()
        list(pool.map(_solve_rows, (todo[i::processes] for i in range(processes))))
        return time.perf_counter() - start


def _warm_up(assignor: str) -> None:
    assign(_WARM.specs()[0].generate(), assignor)


def _solve_rows(todo: list[tuple[Spec, str]]) -> None:
    for spec, assignor in todo:
        state = spec.generate()
        answer_columns(state, assign(state, assignor))


def _time_spark(sweep: Sweep, cores: int) -> float:
    """Seconds of the same rows as a Spark job, from its start to the last file in its place; Python workers run already."""
    with tempfile.TemporaryDirectory() as folder, open_session(f"local[{cores}]") as spark:
        _time_sweep(spark, folder, _WARM)
        return _time_sweep(spark, folder, sweep)


def _time_sweep(spark: SparkSession, folder: str, sweep: Sweep) -> float:
    asked = Run("sweep", sweep.name, sweep.list_assignors(), sweep.limits.limits(), sweep)
    start = time.perf_counter()
    run_sweep(spark, Storage(spark, str(Path(folder))), asked)
    return time.perf_counter() - start
